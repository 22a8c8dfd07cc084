/* block.ts -- a whole transformer block on the six words, forward and backward.
 *
 * Attention has the weights of the attention example, the network those of the
 * feed-forward example.  Which definition feeds which is written as in gpt.c,
 * with the names of its header; the words are wiring, all numbers are C's.
 */
import type { Engine } from '../engine/types';
import type { Example, ExampleTensor } from './types';
import mlp from '../../content/inputs/feedforward.json';
import inputs from '../../content/inputs/block.json';
import { attentionHeads, attentionNumbers, attentionTokens } from './attention-inputs';
import { chain, computed, input, layernormLedger, linearDxLedger, linearLedger, operand, products, range, sum } from './arithmetic';
import {
  attentionBackward, definitions, flat, layernormBackward, linearBackward, residualBackward,
  type Definitions,
} from './definitions';
import { gapTensor, type Arrays, type Loss } from './gap';
import { geluDxLedger, geluLedger, mlpBackward, mlpForward } from './mlp';

/** The gradients of the block's parameters, as the gap tensor groups them. */
const COLUMNS: readonly (readonly [string, readonly (keyof Weights)[]])[] = [
  ['ln1', ['ln1w', 'ln1b']], ['query', ['Wq', 'bq']], ['key', ['Wk', 'bk']], ['value', ['Wv', 'bv']],
  ['output', ['Wo', 'bo']], ['ln2', ['ln2w', 'ln2b']], ['mlp', ['Wfc', 'bfc', 'Wproj', 'bproj']],
];

interface Sizes { readonly T: number; readonly C: number; readonly H: number; readonly FF: number }

const WEIGHTS = ['ln1w', 'ln1b', 'Wq', 'bq', 'Wk', 'bk', 'Wv', 'bv', 'Wo', 'bo', 'ln2w', 'ln2b', 'Wfc', 'bfc', 'Wproj', 'bproj'] as const;
type Weights = Readonly<Record<(typeof WEIGHTS)[number], Float64Array>>;

function forward(d: Definitions, x: Float64Array, w: Weights, { T, C, H, FF }: Sizes) {
  const ln1 = d.layernorm(x, w.ln1w, w.ln1b, T, C);
  const Q = d.linear(ln1.y, w.Wq, w.bq, T, C, C);
  const K = d.linear(ln1.y, w.Wk, w.bk, T, C, C);
  const V = d.linear(ln1.y, w.Wv, w.bv, T, C, C);
  const { out: O, att: A } = d.attention(Q, K, V, T, H, C / H);
  const out = d.linear(O, w.Wo, w.bo, T, C, C);
  const r1 = d.residual(x, out);
  const ln2 = d.layernorm(r1, w.ln2w, w.ln2b, T, C);
  const { f, g, p } = mlpForward(d, ln2.y, w, T, C, FF);
  return { ln1, Q, K, V, A, O, out, r1, ln2, f, g, p, r2: d.residual(r1, p) };
}

function backward(engine: Engine, dr2: Float64Array, x: Float64Array, w: Weights,
  a: ReturnType<typeof forward>, { T, C, H, FF }: Sizes) {
  const top = residualBackward(engine, dr2);
  const m = mlpBackward(engine, top.db, { n: a.ln2.y, f: a.f, g: a.g }, w, T, C, FF);
  const ln2 = (into?: Float64Array) => layernormBackward(engine, m.dn, a.r1, w.ln2w, a.ln2.mean, a.ln2.rstd, T, C, into);
  const dr1 = ln2(top.da);
  const middle = residualBackward(engine, dr1.dx);
  const o = linearBackward(engine, middle.db, a.O, w.Wo, T, C, C);
  const { dq: dQ, dk: dK, dv: dV } = attentionBackward(engine, o.dx, a.A, a.Q, a.K, a.V, T, H, C / H);
  const q = linearBackward(engine, dQ, a.ln1.y, w.Wq, T, C, C);
  const k = linearBackward(engine, dK, a.ln1.y, w.Wk, T, C, C);
  const v = linearBackward(engine, dV, a.ln1.y, w.Wv, T, C, C);
  const dXn = new Float64Array(T * C);                 /* three calls add into one gradient, as C's += does */
  for (const [dy, W] of [[dQ, w.Wq], [dK, w.Wk], [dV, w.Wv]] as const)
    engine.call('f64', 'linear_backward', dXn, new Float64Array(C * C), new Float64Array(C), dy, a.ln1.y, W, T, C, C);
  const ln1 = (into?: Float64Array) => layernormBackward(engine, dXn, x, w.ln1w, a.ln1.mean, a.ln1.rstd, T, C, into);
  const dx = ln1(middle.da);
  const grads: Weights = {
    ln1w: dx.dw, ln1b: dx.db, Wq: q.dw, bq: q.db, Wk: k.dw, bk: k.db, Wv: v.dw, bv: v.db, Wo: o.dw, bo: o.db,
    ln2w: dr1.dw, ln2b: dr1.db, Wfc: m.dWfc, bfc: m.dbfc, Wproj: m.dWproj, bproj: m.dbproj,
  };
  return { ...m, dp: top.db, dr1: dr1.dx, dr1mlp: ln2().dx, dout: middle.db, dO: o.dx, dQ, dK, dV,
    paths: [q.dx, k.dx, v.dx] as const, dXn, dx: dx.dx, dxatt: ln1().dx, grads };
}

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const x = flat(given.x, 'x'), dr2 = flat(given.dr2, 'dr2');
  const w = Object.fromEntries(WEIGHTS.map((k) => [k, flat(given[k], k)])) as Weights;
  const C = w.ln1w.length, FF = w.bfc.length, T = x.length / C;
  const H = attentionHeads, sizes: Sizes = { T, C, H, FF }, HS = C / H;
  const a = forward(definitions(engine, 'f64'), x, w, sizes);
  const b = backward(engine, dr2, x, w, a, sizes);

  const words = attentionTokens.slice(0, T);
  const narrow = { shape: [T, C], letters: '(T, C)', rows: words, rowAxis: 'position', columnAxis: 'channel' };
  const wide = { shape: [T, FF], letters: '(T, FF)', rows: words, rowAxis: 'position', columnAxis: 'hidden unit' };

  /* a sum of two paths: what went past the branch, plus what the branch says */
  const two = (name: string, first: string, A: Float64Array, second: string, B: Float64Array, Y: Float64Array): ExampleTensor['ledger'] =>
    (t, i) => {
      const u = A[t * C + i]!, v = B[t * C + i]!;
      return chain(`${name}[${t},${i}]`, [
        { head: `${first}[${t},${i}]`, operand: u, result: u },
        { head: `+ ${second}[${t},${i}]`, operand: v, result: null },
      ], Y[t * C + i]!, `${operand(u)} + ${operand(v)}`);
    };
  /* a sum hands its gradient to both of its terms, unchanged */
  const copy = (name: string, from: string, Y: Float64Array): ExampleTensor['ledger'] =>
    (t, i) => chain(`${name}[${t},${i}]`, [{ head: `${from}[${t},${i}]`, operand: Y[t * C + i]!, result: null }],
      Y[t * C + i]!, `${from}[${t},${i}]`);
  const values: ExampleTensor['ledger'] = (t, i) => {
    const h = Math.floor(i / HS);
    return products(`O[${t},${i}]`, `A(${h})[${t},u]`, `V[u,${i}]`,
      range(t + 1).map((u) => ({ head: words[u]!, a: a.A[(h * T + t) * T + u]!, b: a.V[u * C + i]! })), a.O[t * C + i]!);
  };
  /* where two paths part going forward, they meet going back */
  const meet = (name: string, branch: string, past: Float64Array, through: Float64Array, Y: Float64Array): ExampleTensor['ledger'] =>
    (t, i) => sum(`${name}[${t},${i}]`, `gradient at [${t},${i}]`, [
      { head: `past ${branch}`, value: past[t * C + i]! },
      { head: `through ${branch}`, value: through[t * C + i]! },
    ], Y[t * C + i]!);
  const paths: ExampleTensor['ledger'] = (t, i) => sum(`dXn[${t},${i}]`, `gradient at [${t},${i}]`,
    (['queries', 'keys', 'values'] as const).map((n, j) => ({ head: `through the ${n}`, value: b.paths[j]![t * C + i]! })), b.dXn[t * C + i]!);

  const loss: Loss = (d, v: Arrays) => d.dot(forward(d, v.x!, v as unknown as Weights, sizes).r2, v.dr2!);
  const gap = gapTensor(engine, { x, ...w, dr2 }, [
    { name: 'x', of: [{ hand: b.dx, by: 'x' }], loss },
    ...COLUMNS.map(([name, of]) => ({ name, of: of.map((by) => ({ hand: b.grads[by], by })), loss })),
  ]);

  return [
    input({ id: 'x', tex: 'x', title: 'What comes in', data: x, ...narrow }),
    computed({ id: 'Xn', tex: 'X_n', title: 'Layer norm before attention', data: a.ln1.y, ...narrow }, 'block.ln1',
      layernormLedger('Xn', 'x', 'ln1w', 'ln1b', x, w.ln1w, w.ln1b, a.ln1.mean, a.ln1.rstd, a.ln1.y, C)),
    computed({ id: 'O', tex: 'O', title: 'Weighted values of attention, heads side by side', data: a.O, ...narrow }, 'block.att', values),
    computed({ id: 'out', tex: '\\mathrm{out}', title: 'What attention adds', data: a.out, ...narrow }, 'attn.out',
      linearLedger('out', 'O', 'Wo', 'bo', a.O, w.Wo, w.bo, a.out, C, C)),
    computed({ id: 'r1', tex: 'r_1', title: 'After attention', data: a.r1, ...narrow }, 'block.res1', two('r1', 'x', x, 'out', a.out, a.r1)),
    computed({ id: 'n', tex: 'n', title: 'Layer norm before the network', data: a.ln2.y, ...narrow }, 'block.ln2',
      layernormLedger('n', 'r1', 'ln2w', 'ln2b', a.r1, w.ln2w, w.ln2b, a.ln2.mean, a.ln2.rstd, a.ln2.y, C)),
    computed({ id: 'f', tex: 'f', title: 'First layer of the network', data: a.f, ...wide }, 'mlp.fc',
      linearLedger('f', 'n', 'Wfc', 'bfc', a.ln2.y, w.Wfc, w.bfc, a.f, C, FF)),
    computed({ id: 'g', tex: 'g', title: 'GELU', data: a.g, ...wide }, 'mlp.gelu', geluLedger(engine, 'g', 'f', a.f, a.g, FF)),
    computed({ id: 'p', tex: 'p', title: 'What the network adds', data: a.p, ...narrow }, 'mlp.proj',
      linearLedger('p', 'g', 'Wproj', 'bproj', a.g, w.Wproj, w.bproj, a.p, FF, C)),
    computed({ id: 'r2', tex: 'r_2', title: 'What goes out', data: a.r2, ...narrow }, 'block.res2', two('r2', 'r1', a.r1, 'p', a.p, a.r2)),
    input({ id: 'dr2', tex: '\\mathrm{d}r_2', title: 'Gradient that comes back', data: dr2, ...narrow }),
    computed({ id: 'dp', tex: '\\mathrm{d}p', title: 'The same gradient, for the network', data: b.dp, ...narrow }, 'block.dres', copy('dp', 'dr2', b.dp)),
    computed({ id: 'dg', tex: '\\mathrm{d}g', title: 'Gradient after the GELU', data: b.dg, ...wide }, 'mlp.dg',
      linearDxLedger('dg', 'dp', 'Wproj', b.dp, w.Wproj, b.dg, FF, C)),
    computed({ id: 'df', tex: '\\mathrm{d}f', title: 'Gradient before the GELU', data: b.df, ...wide }, 'mlp.df',
      geluDxLedger(engine, 'df', 'dg', 'f', a.f, b.dg, b.df, FF)),
    computed({ id: 'dn', tex: '\\mathrm{d}n', title: 'Gradient on the normalised rows', data: b.dn, ...narrow }, 'mlp.dn',
      linearDxLedger('dn', 'df', 'Wfc', b.df, w.Wfc, b.dn, C, FF)),
    computed({ id: 'dr1', tex: '\\mathrm{d}r_1', title: 'Gradient after attention: two paths meet', data: b.dr1, ...narrow }, 'block.dln2',
      meet('dr1', 'the network', dr2, b.dr1mlp, b.dr1)),
    computed({ id: 'dout', tex: '\\mathrm{d}\\mathrm{out}', title: 'The same gradient, for attention', data: b.dout, ...narrow }, 'block.dres', copy('dout', 'dr1', b.dout)),
    computed({ id: 'dO', tex: '\\mathrm{d}O', title: 'Gradient on the weighted values', data: b.dO, ...narrow }, 'attn.do',
      linearDxLedger('dO', 'dout', 'Wo', b.dout, w.Wo, b.dO, C, C)),
    computed({ id: 'dXn', tex: '\\mathrm{d}X_n', title: 'Gradient on the rows that attention read', data: b.dXn, ...narrow }, 'attn.dxn', paths),
    computed({ id: 'dx', tex: '\\mathrm{d}x', title: 'Gradient of what came in: two paths meet', data: b.dx, ...narrow }, 'block.dln1',
      meet('dx', 'attention', b.dr1, b.dxatt, b.dx)),
    gap,
  ];
}

const { Wq, bq, Wk, bk, Wv, bv, Wo, bo } = attentionNumbers;
const { Wfc, bfc, Wproj, bproj } = mlp;

export const example: Example = {
  id: 'block',
  core: true,
  inputs: { ...inputs, Wq, bq, Wk, bk, Wv, bv, Wo, bo, Wfc, bfc, Wproj, bproj },
  run,
};
