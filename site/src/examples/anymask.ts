/* anymask.ts -- one head of attention under a mask of any shape, forward and backward.
 *
 * The definition is the one that kernels of others are checked against; one query
 * of the example sees no key at all.
 */
import type { Engine } from '../engine/types';
import file from '../../content/inputs/anymask.json';
import { fmt } from '../components/numbers';
import { computed, input, operand, products, range, type Term, wholeInput } from './arithmetic';
import { definitions, flat } from './definitions';
import type { Example, ExampleTensor, Ledger } from './types';

/** What a cell says that the mask hides. */
function hidden(name: string, i: number, j: number): Ledger {
  return {
    columns: ['mask', ''], rows: [{ head: `${i} may not read ${j}`, cells: ['0', 0], masked: true, chosen: true }],
    sentence: `${name} = 0: query ${i} may not read key ${j}, and nothing of it is looked at`,
  };
}

/** A sum over those that the mask lets through; where it lets none through, a sum over nothing. */
function seen(name: string, left: string, right: string, terms: readonly Term[], value: number): Ledger {
  if (terms.length > 0) return products(name, left, right, terms, value);
  return { columns: ['sum'], rows: [], total: { head: 'of nothing', cells: [value] }, sentence: `${name} = ${fmt(value, 4)}: a sum over nothing` };
}

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const q = flat(given['q'], 'q'), k = flat(given['k'], 'k'), v = flat(given['v'], 'v'), dout = flat(given['do'], 'do'), mask = flat(given['mask'], 'mask');
  const T = (given['q'] ?? []).length, S = (given['k'] ?? []).length, HS = q.length / T;
  const see = Int32Array.from(mask), may = (i: number, j: number): boolean => see[i * S + j] !== 0;
  const d = definitions(engine, 'f64');
  const o = d.zeros(T * HS), s = d.zeros(T * S), a = d.zeros(T * S), da = d.zeros(T * S), ds = d.zeros(T * S);
  const dq = d.zeros(T * HS), dk = d.zeros(S * HS), dv = d.zeros(S * HS);
  engine.call('f64', 'attention_masked_forward', o, s, a, q, k, v, see, 1, T, S, 1, HS);
  engine.call('f64', 'attention_masked_backward', dq, dk, dv, da, ds, dout, a, q, k, v, see, 1, T, S, 1, HS);

  const root = Math.sqrt(HS);
  const keysOf = (i: number): number[] => range(S).filter((j) => may(i, j)), queriesOf = (j: number): number[] => range(T).filter((i) => may(i, j));
  const at = (m: Float64Array, width: number, row: number, column: number): number => m[row * width + column]!;
  const meet = (x: Float64Array, y: Float64Array, i: number, j: number): Term[] => range(HS).map((c) => ({ head: `c = ${c}`, a: at(x, HS, i, c), b: at(y, HS, j, c) }));

  const scores = (i: number, j: number): Ledger => {
    if (!may(i, j)) return hidden(`s[${i},${j}]`, i, j);
    const terms = meet(q, k, i, j), value = at(s, S, i, j);
    return {
      columns: ['q', 'k', 'product'], operators: ['', '\u00d7', '='],
      rows: [...terms.map((t) => ({ head: t.head, cells: [t.a, t.b, t.a * t.b] })), { head: 'divided by', cells: [null, null, root] }],
      total: { head: `s[${i},${j}]`, cells: [null, null, value] },
      sentence: `s[${i},${j}] = (${terms.map((t) => `${operand(t.a)} \u00d7 ${operand(t.b)}`).join(' + ')}) / \u221a${HS} = ${fmt(value, 4)}`,
    };
  };
  const weights = (i: number, j: number): Ledger => {
    if (!may(i, j)) return hidden(`a[${i},${j}]`, i, j);
    const keys = keysOf(i), max = Math.max(...keys.map((w) => at(s, S, i, w))), value = at(a, S, i, j);
    const exp = keys.map((w) => engine.elementary('exp', at(s, S, i, w) - max));
    const sum = d.dot(Float64Array.from(exp), new Float64Array(exp.length).fill(1))[0]!;
    return {
      columns: ['s', '\u2212 max', 'exp', '\u00f7 \u03a3'],
      rows: keys.map((w, n) => ({ head: String(w), cells: [at(s, S, i, w), at(s, S, i, w) - max, exp[n]!, at(a, S, i, w)], chosen: w === j })),
      total: { head: '\u03a3', cells: [null, null, sum, null] },
      sentence: `a[${i},${j}] = ${fmt(exp[keys.indexOf(j)]!, 4)} / ${fmt(sum, 4)} = ${fmt(value, 4)}`,
    };
  };
  const slope = (i: number, j: number): Ledger => {
    if (!may(i, j)) return hidden(`ds[${i},${j}]`, i, j);
    const keys = keysOf(i), of = (m: Float64Array): Float64Array => Float64Array.from(keys, (w) => at(m, S, i, w));
    const mean = d.dot(of(a), of(da))[0]!, value = at(ds, S, i, j);
    return {
      columns: ['a', 'da', 'a da'], operators: ['', '\u00d7', '='],
      rows: keys.map((w) => ({ head: String(w), cells: [at(a, S, i, w), at(da, S, i, w), at(a, S, i, w) * at(da, S, i, w)], chosen: w === j })),
      total: { head: '\u03a3', cells: [null, null, mean] },
      sentence: `ds[${i},${j}] = ${fmt(at(a, S, i, j), 4)} \u00d7 (${fmt(at(da, S, i, j), 4)} \u2212 ${operand(mean)}) = ${fmt(value, 4)}`,
    };
  };

  const names = { queries: range(T).map((i) => `query ${i}`), keys: range(S).map((j) => `key ${j}`), channels: range(HS).map(String) };
  const square = { shape: [T, S], letters: '(T, S)', rows: names.queries, columns: names.keys, rowAxis: 'reads from', columnAxis: 'is read' };
  const hides = { ...square, masked: (i: number, j: number): boolean => !may(i, j) };
  const ofQueries = { shape: [T, HS], letters: '(T, d\u2095)', rows: names.queries, columns: names.channels, rowAxis: 'reads from', columnAxis: 'channel' };
  const ofKeys = { shape: [S, HS], letters: '(S, d\u2095)', rows: names.keys, columns: names.channels, rowAxis: 'is read', columnAxis: 'channel' };
  return [
    input({ id: 'q', tex: 'q', title: 'queries', data: q, ...ofQueries }),
    input({ id: 'k', tex: 'k', title: 'keys', data: k, ...ofKeys }),
    input({ id: 'v', tex: 'v', title: 'values', data: v, ...ofKeys }),
    wholeInput({ id: 'mask', tex: 'm', title: 'mask: one where a query may read', data: mask, ...square, whole: { least: 0, most: 1, what: 'entry of a mask' } }),
    computed({ id: 's', tex: 's', title: 'scores', data: s, ...hides }, 'amask.scores', scores),
    computed({ id: 'a', tex: 'a', title: 'weights', data: a, ...hides, scale: 'weight' }, 'amask.softmax', weights),
    computed({ id: 'o', tex: 'o', title: 'mixtures', data: o, ...ofQueries }, 'amask.values', (i, c) => seen(`o[${i},${c}]`, `a[${i},j]`, `v[j,${c}]`,
      keysOf(i).map((j) => ({ head: `key ${j}`, a: at(a, S, i, j), b: at(v, HS, j, c) })), at(o, HS, i, c))),
    input({ id: 'do', tex: '\\mathrm{d}o', title: 'gradient that comes back', data: dout, ...ofQueries }),
    computed({ id: 'da', tex: '\\mathrm{d}a', title: 'gradient on the weights', data: da, ...hides }, 'amask.da', (i, j) => (may(i, j)
      ? products(`da[${i},${j}]`, `do[${i},c]`, `v[${j},c]`, meet(dout, v, i, j), at(da, S, i, j)) : hidden(`da[${i},${j}]`, i, j))),
    computed({ id: 'ds', tex: '\\mathrm{d}s', title: 'gradient on the scores', data: ds, ...hides }, 'amask.ds', slope),
    computed({ id: 'dv', tex: '\\mathrm{d}v', title: 'gradient on the values', data: dv, ...ofKeys }, 'amask.dv', (j, c) => seen(`dv[${j},${c}]`, `a[i,${j}]`, `do[i,${c}]`,
      queriesOf(j).map((i) => ({ head: `query ${i}`, a: at(a, S, i, j), b: at(dout, HS, i, c) })), at(dv, HS, j, c))),
    computed({ id: 'dq', tex: '\\mathrm{d}q', title: 'gradient on the queries', data: dq, ...ofQueries }, 'amask.dq', (i, c) => seen(`dq[${i},${c}]`, `ds[${i},j]`, `k[j,${c}] / \u221a${HS}`,
      keysOf(i).map((j) => ({ head: `key ${j}`, a: at(ds, S, i, j), b: at(k, HS, j, c) / root })), at(dq, HS, i, c))),
    computed({ id: 'dk', tex: '\\mathrm{d}k', title: 'gradient on the keys', data: dk, ...ofKeys }, 'amask.dk', (j, c) => seen(`dk[${j},${c}]`, `ds[i,${j}]`, `q[i,${c}] / \u221a${HS}`,
      queriesOf(j).map((i) => ({ head: `query ${i}`, a: at(ds, S, i, j), b: at(q, HS, i, c) / root })), at(dk, HS, j, c))),
  ];
}

export const example: Example = { id: 'anymask', inputs: file.inputs, run, core: true };
