/* cache.ts -- the attention example, one token at a time: keys and values are kept.
 *
 * Each step runs the C definitions on one row only: its query, key and value, then
 * attention with P rows in the cache.  The rows are compared with those of the whole
 * sentence at once.
 */
import type { AttentionInputs, Engine, Tensors } from '../engine/types';
import type { Example, ExampleTensor } from './types';
import { attentionNumbers, attentionTokens, toAttentionInputs } from './attention-inputs';
import { computed, counting, linearLedger, products, range } from './arithmetic';
import { definitions } from './definitions';
import { full, sci } from '../components/numbers';

interface Cached { readonly q: Float64Array; readonly k: Float64Array; readonly v: Float64Array; readonly att: Float64Array; readonly out: Float64Array }

/** Row P of the sentence, after the rows before it: the cache goes in and comes out one row longer. */
function step(engine: Engine, a: AttentionInputs, P: number, cache: { k: Float64Array; v: Float64Array }): Cached {
  const { C, H } = a, S = P + 1, d = definitions(engine, 'f64');
  const row = a.Xn.slice(P * C, S * C);
  const make = (w: Float64Array, b: Float64Array): Float64Array => d.linear(row, w, b, 1, C, C);
  const k = Float64Array.from([...cache.k, ...make(a.Wk, a.bk)]), v = Float64Array.from([...cache.v, ...make(a.Wv, a.bv)]);
  const q = make(a.Wq, a.bq), out = new Float64Array(C), att = new Float64Array(H * S), stage = () => new Float64Array(H * S);
  engine.call('f64', 'attention_forward', out, stage(), stage(), stage(), att, q, k, v, 1, 1, P, H, C / H);
  return { q, k, v, att, out };
}

function widest(a: Float64Array, b: Float64Array): { at: number; gap: number } {
  let found = { at: 0, gap: 0 };
  a.forEach((x, i) => {
    const gap = Math.abs(x - b[i]!);
    if (!(gap <= found.gap)) found = { at: i, gap };
  });
  return found;
}

function run(engine: Engine): readonly ExampleTensor[] {
  const a = toAttentionInputs(), { T, C, H } = a, HS = C / H;
  const whole: Tensors = engine.attention(a);
  const O = whole.get('O')!.data, K = whole.get('K')!.data, V = whole.get('V')!.data;
  const steps: Cached[] = [];
  range(T).forEach((P) => steps.push(step(engine, a, P, steps[P - 1] ?? { k: new Float64Array(0), v: new Float64Array(0) })));
  const last = steps[T - 1]!, P = T - 1;
  const rowOf = (x: Float64Array, t: number): Float64Array => x.slice(t * C, (t + 1) * C);
  const outs = Float64Array.from(steps.flatMap((s) => [...s.out]));
  const gaps = [
    { name: 'keys', of: steps.map((s, t) => widest(rowOf(s.k, t), rowOf(K, t))) },
    { name: 'values', of: steps.map((s, t) => widest(rowOf(s.v, t), rowOf(V, t))) },
    { name: 'outputs', of: steps.map((s, t) => widest(s.out, rowOf(O, t))) },
  ];
  const words = attentionTokens, channels = range(C).map(String);
  const grid = { shape: [T, C], letters: '(P+T, C)', rows: words, rowAxis: 'position', columns: channels, columnAxis: 'channel' };
  const stored = (letter: string, w: Float64Array, b: Float64Array, data: Float64Array) => {
    const ledger = linearLedger(letter, 'Xn', `W${letter}`, `b${letter}`, a.Xn, w, b, data, C, C);
    return (t: number, c: number) => {
      const l = ledger(t, c);
      return { ...l, sentence: `stored at step ${t}, never computed again: ${l.sentence}` };
    };
  };
  const rowsOfAll = steps.flatMap((s, t) => range(H).map((h) => range(T).map((u) => (u <= t ? s.att[h * (t + 1) + u]! : 0)))).flat();

  return [
    computed({ id: 'k', tex: 'k', title: 'Cache of keys after the last step', data: last.k, ...grid }, 'cache.store', stored('k', a.Wk, a.bk, last.k)),
    computed({ id: 'v', tex: 'v', title: 'Cache of values after the last step', data: last.v, ...grid }, 'cache.store', stored('v', a.Wv, a.bv, last.v)),
    counting(computed({ id: 'P', tex: 'P', title: 'Length of the cache before each step', shape: [T], letters: '(steps)', data: Float64Array.from(steps, (s) => s.k.length / C - 1), columns: words, columnAxis: 'step' }, 'cache.length',
      (_, t) => ({
        columns: ['rows'],
        rows: range(t).map((u) => ({ head: `"${words[u]}"`, cells: [1] })),
        total: { head: 'P', cells: [t] },
        sentence: `before "${words[t]}" the cache holds ${t} ${t === 1 ? 'row' : 'rows'} of keys and of values`,
      }))),
    computed({ id: 'q', tex: 'q', title: 'Query of the last token: the only one that is made', shape: [1, C], letters: '(T, C)', data: last.q, rows: [words[P]!], rowAxis: 'position', columns: channels, columnAxis: 'channel' }, 'attn.q',
      (_, c) => linearLedger('q', 'Xn', 'Wq', 'bq', rowOf(a.Xn, P), a.Wq, a.bq, last.q, C, C)(0, c)),
    computed({ id: 'A', tex: 'A', title: 'Attention weights of all steps, one row a head', shape: [T, H, T], letters: '(T, H, P+T)', data: Float64Array.from(rowsOfAll), scale: 'weight',
      rows: range(H).map((h) => `head ${h}`), rowAxis: 'head', columns: words, columnAxis: 'is read', masked: (r, u) => u > Math.floor(r / H) }, 'attn.softmax',
      (r, u) => {
        const t = Math.floor(r / H), h = r % H, weights = steps[t]!.att;
        return {
          columns: ['weight'],
          rows: words.map((w, j) => ({ head: w, cells: [j <= t ? weights[h * (t + 1) + j]! : null], ...(j > t ? { masked: true } : {}), ...(j === u ? { chosen: true } : {}) })),
          total: { head: `A[${t},${h},${u}]`, cells: [rowsOfAll[r * T + u]!] },
          sentence: u > t ? `"${words[u]}" is not there yet at step ${t}` : `head ${h} of "${words[t]}" reads "${words[u]}" in the cache`,
        };
      }),
    computed({ id: 'out', tex: 'O', title: 'Outputs of all steps, one row at a time', data: outs, ...grid }, 'attn.values',
      (t, c) => {
        const s = steps[t]!, h = Math.floor(c / HS);
        return products(`O[${t},${c}]`, `A[${t},j]`, `v[j,${c}]`, range(t + 1).map((j) => ({ head: words[j]!, a: s.att[h * (t + 1) + j]!, b: s.v[j * C + c]! })), s.out[c]!);
      }),
    computed({ id: 'gap', tex: '\\Delta', title: 'Largest distance from the whole sentence at once', shape: [gaps.length, T], letters: '(tensors, T)', data: Float64Array.from(gaps.flatMap((g) => g.of.map((x) => x.gap))),
      rows: gaps.map((g) => g.name), rowAxis: 'tensor', columns: words, columnAxis: 'step' }, null,
      (r, t) => {
        const { at, gap } = gaps[r]!.of[t]!, s = steps[t]!;
        const [one, all] = [[s.k[t * C + at]!, K[t * C + at]!], [s.v[t * C + at]!, V[t * C + at]!], [s.out[at]!, O[t * C + at]!]][r] as [number, number];
        return {
          columns: ['in full'],
          rows: [{ head: 'one row, cached', cells: [full(one)] }, { head: 'all rows at once', cells: [full(all)] }],
          total: { head: 'apart', cells: [gap] },
          sentence: gap === 0 ? `${gaps[r]!.name} of "${words[t]}": every channel has the same bits both ways` : `${gaps[r]!.name} of "${words[t]}": apart by ${sci(gap)} at most`,
        };
      }),
  ];
}

export const example: Example = { id: 'cache', inputs: attentionNumbers, run };
