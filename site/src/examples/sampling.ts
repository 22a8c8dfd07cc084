/* sampling.ts -- one row of logits, and how one token is drawn from it.
 *
 * Probabilities and drawn ids are the C code's (src/sample/filters.c); so are the
 * exponentials of the weights, which that code makes of the same two numbers.
 * Logits are floats there: those of the example are sums of powers of two.
 */
import type { Engine, Filters } from '../engine/types';
import type { Example, ExampleTensor, Ledger, LedgerRow } from './types';
import file from '../../content/inputs/sampling.json';
import { computed, counting, input, operand, range } from './arithmetic';
import { definitions, flat } from './definitions';
import { fmt, MINUS } from '../components/numbers';

export const WORDS: readonly string[] = file.words;
const OFF: Filters = { temperature: 1, topK: 0, topP: 1 };

/** exp((l[v] - max l) / temperature), by the library's own exp. */
export function weightsOf(engine: Engine, logits: Float64Array, temperature: number): Float64Array {
  const max = Math.max(...logits);
  return logits.map((l) => engine.elementary('exp', (l - max) / temperature));
}

const total = (xs: readonly number[]): number => xs.reduce((a, b) => a + b, 0);

/** Sums of the first 1, 2, ... of them. */
export function running(xs: readonly number[]): number[] {
  let sum = 0;
  return xs.map((x) => (sum += x));
}

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const l = flat(given.logits, 'logits'), V = l.length, ids = range(V);
  const number = (name: string): number => flat(given[name], name)[0]!;
  const T = number('temperature'), k = number('topk'), p = number('topp');
  const temperatures = flat(given.temperatures, 'temperatures'), us = flat(given.u, 'u');
  const at = (filters: Filters): ReturnType<Engine['draw']>['next'] => engine.draw(l, filters, 0).next;

  const max = Math.max(...l), w = weightsOf(engine, l, T), sum = total([...w]);
  const { order } = at(OFF);
  const plain = at({ ...OFF, temperature: T }).drawn;
  const byTemperature = temperatures.length ? [...temperatures].map((t) => at({ ...OFF, temperature: t }).drawn) : [];
  const first = at({ ...OFF, temperature: T, topK: k }), both = at({ temperature: T, topK: k, topP: p });
  const cutTopK = first.drawn, cutBoth = both.drawn;
  const kept = [...order].filter((v) => both.cut[v] === 0);
  const drawn = Float64Array.from(us, (u) => engine.draw(l, { temperature: T, topK: k, topP: p }, u).id);

  const words = ids.map((v) => WORDS[v] ?? String(v));
  const ordered = [...order].map((v) => words[v]!);
  const row = { shape: [V], letters: '(V)', columns: words, columnAxis: 'token' };
  const sorted = { shape: [V], letters: '(V)', columns: ordered, columnAxis: 'most probable first' };
  const name = (v: number): string => `"${words[v]}"`;

  const weightLedger = (v: number, t: number, weight: number): Ledger => ({
    columns: ['operand'],
    rows: [
      { head: `l[${v}], ${name(v)}`, cells: [l[v]!] },
      { head: `${MINUS} max l`, cells: [-max] },
      { head: '/ temperature', cells: [t] },
    ],
    total: { head: `w[${v}]`, cells: [weight] },
    sentence: `w[${v}] = exp((${fmt(l[v]!, 4)} ${MINUS} ${operand(max)}) / ${fmt(t, 4)}) = ${fmt(weight, 4)}`,
  });
  /* one weight over the sum of those that are kept */
  const shareLedger = (what: string, v: number, weights: ArrayLike<number>, keep: (v: number) => boolean, value: number, why: string): Ledger => {
    const mass = total(ids.filter(keep).map((x) => weights[x]!));
    const rows: LedgerRow[] = [...order].map((x) => ({ head: words[x]!, cells: [weights[x]!, keep(x) ? weights[x]! : why], ...(x === v ? { chosen: true } : {}) }));
    return {
      columns: ['weight', 'kept'],
      rows: [...rows, { head: 'mass', cells: [null, mass] }],
      total: { head: `${what}[${v}]`, cells: [null, value] },
      sentence: keep(v) ? `${what}[${v}] = ${fmt(weights[v]!, 4)} / ${fmt(mass, 4)} = ${fmt(value, 4)}` : `${what}[${v}] = 0: ${why}`,
    };
  };

  const inOrder = Float64Array.from(order, (v) => cutTopK[v]!);
  const masses = inOrder.map((_, i) => definitions(engine, 'f64').dot(inOrder, inOrder.map((_unused, j) => (j < i ? 1 : 0)))[0]!);
  const reached = running(kept.map((v) => cutBoth[v]!));

  return [
    input({ id: 'l', tex: 'l', title: 'Logits of the next token', data: l, ...row }, false),
    computed({ id: 'w', tex: 'w', title: 'Weights at the temperature', data: w, scale: 'weight', ...row }, 'sample.temperature',
      (_, v) => weightLedger(v, T, w[v]!)),
    computed({ id: 'p', tex: 'p', title: 'Probabilities at the temperature', data: plain, scale: 'weight', ...row }, 'sample.probs',
      (_, v) => ({
        columns: ['weight'],
        rows: [...ids.map((x) => ({ head: words[x]!, cells: [w[x]!], ...(x === v ? { chosen: true } : {}) })), { head: 'sum', cells: [sum] }],
        total: { head: `p[${v}]`, cells: [plain[v]!] },
        sentence: `p[${v}] = ${fmt(w[v]!, 4)} / ${fmt(sum, 4)} = ${fmt(plain[v]!, 4)}`,
      })),
    computed({ id: 'byT', tex: 'p(\\mathrm{temperature})', title: 'Probabilities at several temperatures', shape: [byTemperature.length, V], letters: '(temperatures, V)',
      data: Float64Array.from(byTemperature.flatMap((r) => [...r])), scale: 'weight', rows: [...temperatures].map((t) => (t === 0 ? 'zero' : fmt(t, 2))), rowAxis: 'temperature', columns: words, columnAxis: 'token' },
      'sample.temperature', (r, v) => {
        const t = temperatures[r]!, value = byTemperature[r]![v]!;
        if (t === 0) return {
          columns: ['logit'],
          rows: ids.map((x) => ({ head: words[x]!, cells: [l[x]!], ...(x === v ? { chosen: true } : {}) })),
          total: { head: `p[${v}]`, cells: [value] },
          sentence: `temperature zero: the largest logit is that of ${name(order[0]!)}, and it is taken`,
        };
        const each = weightsOf(engine, l, t);
        return {
          columns: ['weight'],
          rows: [...ids.map((x) => ({ head: words[x]!, cells: [each[x]!], ...(x === v ? { chosen: true } : {}) })), { head: 'sum', cells: [total([...each])] }],
          total: { head: `p[${v}]`, cells: [value] },
          sentence: `p[${v}] = ${fmt(each[v]!, 4)} / ${fmt(total([...each]), 4)} = ${fmt(value, 4)}`,
        };
      }),
    counting(computed({ id: 'order', tex: '\\mathrm{order}', title: 'Ids, the most probable first', data: Float64Array.from(order), ...sorted, columns: range(V).map(String), columnAxis: 'place' }, 'sample.topk',
      (_, i) => ({
        columns: ['weight', 'id'],
        rows: [...order].map((v, j) => ({ head: words[v]!, cells: [w[v]!, v], ...(j === i ? { chosen: true } : {}) })),
        total: { head: `order[${i}]`, cells: [null, order[i]!] },
        sentence: `place ${i} is ${name(order[i]!)}, id ${order[i]}`,
      }))),
    computed({ id: 'topk', tex: 'p_{\\text{top-}k}', title: 'Probabilities after top-k', data: cutTopK, scale: 'weight', ...row }, 'sample.topk',
      (_, v) => shareLedger('p', v, w, (x) => first.cut[x] === 0, cutTopK[v]!, `not among the first ${k}`)),
    computed({ id: 'before', tex: '\\textstyle\\sum_{<}', title: 'Mass before each token of the order', data: masses, scale: 'weight', ...sorted }, 'sample.topp',
      (_, i) => ({
        columns: ['probability'],
        rows: i === 0 ? [{ head: 'nothing before', cells: [0] }] : range(i).map((j) => ({ head: ordered[j]!, cells: [cutTopK[order[j]!]!] })),
        total: { head: 'mass before', cells: [masses[i]!] },
        sentence: `before ${name(order[i]!)} stands a mass of ${fmt(masses[i]!, 4)}, ${masses[i]! < p ? 'below' : 'not below'} ${fmt(p, 4)}: it is ${both.cut[order[i]!] === 0 ? 'kept' : 'cut'}`,
      })),
    computed({ id: 'topp', tex: 'p_{\\text{top-}p}', title: 'Probabilities after top-k and top-p', data: cutBoth, scale: 'weight', ...row }, 'sample.topp',
      (_, v) => shareLedger('p', v, cutTopK, (x) => both.cut[x] === 0, cutBoth[v]!, both.cut[v] === 1 ? `not among the first ${k}` : `beyond the mass ${fmt(p, 2)}`)),
    counting(computed({ id: 'drawn', tex: '\\mathrm{id}(u)', title: 'Id that each u draws', shape: [us.length], letters: '(draws)', data: drawn, columns: [...us].map((u) => `u = ${fmt(u, 3)}`), columnAxis: 'u' }, 'sample.draw',
      (_, j) => {
        const u = us[j]!, id = drawn[j]!;
        return {
          columns: ['probability', 'running mass', 'id'],
          rows: kept.map((v, i) => ({ head: words[v]!, cells: [cutBoth[v]!, reached[i]!, v], ...(v === id ? { chosen: true } : {}) })),
          total: { head: `u = ${fmt(u, 4)}`, cells: [null, null, id] },
          sentence: `the first running mass above ${fmt(u, 4)} is that of ${name(id)}`,
        };
      })),
  ];
}

const { words: _words, ...numbers } = file;
export const example: Example = { id: 'sampling', inputs: numbers, run };
