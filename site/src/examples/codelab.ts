/* codelab.ts -- code lab 01: one causal head (or two) from random tokens to the loss, and back.
 *
 * Everything is drawn from a seed, as NumPy draws it, and computed by src/lab/lab_pass.c;
 * this module names the tensors and writes out the arithmetic of each cell.
 */
import type { Engine, LabOptions, LabRun } from '../engine/types';
import type { Example, ExampleTensor, Ledger } from './types';
import inputs from '../../content/inputs/codelab.json';
import { chain, computed, given, linearDwLedger, linearDxLedger, linearLedger, operand, products, range, sum } from './arithmetic';
import { fmt } from '../components/numbers';

/** Of the content's example, and what the page begins with. */
export const FIRST: LabOptions = { seed: inputs.seed[0]!, heads: inputs.heads[0]!, temperature: inputs.temperature[0]!, scalar: 'f64' };

/** What the frame of a case says beside "Code lab". */
export function drawn({ seed, heads, temperature, scalar }: LabOptions): string {
  return `seed ${seed}, ${heads === 1 ? 'one head' : 'two heads'}, temperature ${temperature}, ${scalar === 'f32' ? 'float32' : 'float64'}`;
}

/** One run with the sizes that its tensors have. */
class Lab {
  readonly T: number;
  readonly C: number;
  readonly D: number;
  readonly V: number;
  readonly H: number;
  readonly HS: number;

  constructor(readonly engine: Engine, readonly options: LabOptions, readonly run: LabRun) {
    const [T, C] = this.shape('X'), [, D] = this.shape('Wq'), [, V] = this.shape('Wo');
    this.T = T!; this.C = C!; this.D = D!; this.V = V!;
    this.H = options.heads;
    this.HS = this.D / this.H;
  }

  shape(name: string): readonly number[] {
    const t = this.run.tensors.get(name);
    if (!t) throw new Error(`code lab: the run has no tensor ${name}`);
    return t.shape;
  }

  data(name: string): Float64Array {
    this.shape(name);
    return this.run.tensors.get(name)!.data;
  }

  target(t: number): number {
    return this.data('targets')[t]!;
  }

  /** dM W^T, by the C code and in the run's own precision: the path of dX through one projection. */
  path(dm: string, w: string): Float64Array {
    const { T, C, D, engine, options } = this;
    if (options.scalar === 'f64') {
      const dx = new Float64Array(T * C);
      engine.call('f64', 'linear_backward', dx, new Float64Array(C * D), null, this.data(dm), this.data('X'), this.data(w), T, C, D);
      return dx;
    }
    const float = (name: string): Float32Array => Float32Array.from(this.data(name));
    const dx = new Float32Array(T * C);
    engine.call('f32', 'linear_backward', dx, new Float32Array(C * D), null, float(dm), float('X'), float(w), T, C, D);
    return Float64Array.from(dx);
  }
}

const names = (n: number, before: string): string[] => range(n).map((k) => `${before}${k}`);
const ROOT = '\u221ad_h';
const total = (xs: readonly number[]): number => xs.reduce((a, b) => a + b, 0);

/** What one head holds at (h, t, u). */
const inHead = (lab: Lab, name: string, h: number, t: number, u: number): number => lab.data(name)[(h * lab.T + t) * lab.T + u]!;

type RowLedger = (lab: Lab, h: number, t: number, u: number) => Ledger;

/** A cell of a head's matrix, in that head; and seen from outside, where the head must be said if there are two. */
const at = (name: string, t: number | string, u: number | string): string => `${name}[${t},${u}]`;
const headAt = (lab: Lab, name: string, h: number, t: number | string, u: number | string): string => `${name}${lab.H > 1 ? `(${h})` : ''}[${t},${u}]`;

const scores: RowLedger = (lab, h, t, u) => products(at('scores', t, u), `Q[${t},i]`, `K[${u},i]`,
  range(lab.HS).map((k) => ({ head: `i = ${h * lab.HS + k}`, a: lab.data('Q')[t * lab.D + h * lab.HS + k]!, b: lab.data('K')[u * lab.D + h * lab.HS + k]! })),
  inHead(lab, 'scores', h, t, u));

const scaled: RowLedger = (lab, h, t, u) => {
  const score = inHead(lab, 'scores', h, t, u), root = Math.sqrt(lab.HS);
  return chain(at('scaled', t, u), [
    { head: at('scores', t, u), operand: score, result: score },
    { head: `\u00f7 ${ROOT}`, operand: root, result: null },
  ], inHead(lab, 'scaled', h, t, u), `${operand(score)} / ${fmt(root, 4)}`);
};

const masked: RowLedger = (lab, h, t, u) => {
  const value = inHead(lab, 'masked', h, t, u);
  const name = at('masked', t, u);
  return {
    columns: ['value'],
    rows: [{ head: at('scaled', t, u), cells: [inHead(lab, 'scaled', h, t, u)] }, { head: u > t ? `${u} > ${t}` : `${u} \u2264 ${t}`, cells: [u > t ? 'masked' : 'seen'] }],
    total: { head: name, cells: [value] },
    sentence: u > t ? `${name} = ${fmt(value)}: token ${u} comes after token ${t}` : `${name} = ${fmt(value, 4)}: token ${t} may look at token ${u}`,
  };
};

const weights: RowLedger = (lab, h, t, u) => {
  const seen = range(t + 1), s = seen.map((w) => inHead(lab, 'masked', h, t, w)), max = Math.max(...s);
  const e = s.map((x) => lab.engine.elementary('exp', x - max)), all = total(e), value = inHead(lab, 'P', h, t, u);
  const name = at('P', t, u);
  return {
    columns: ['S', '\u2212 max', 'exp'],
    rows: [
      ...range(lab.T).map((w) => (w > t ? { head: `u = ${w}`, cells: [], masked: true, chosen: w === u }
        : { head: `u = ${w}`, cells: [s[w]!, s[w]! - max, e[w]!], chosen: w === u })),
      { head: 'sum', cells: [null, null, all] },
    ],
    total: { head: name, cells: [null, null, value] },
    sentence: u > t ? `${name} = 0: exp of minus infinity is nothing` : `${name} = ${fmt(e[u]!, 4)} / ${fmt(all, 4)} = ${fmt(value, 4)}`,
  };
};

function mixed(lab: Lab, t: number, i: number): Ledger {
  const h = Math.floor(i / lab.HS);
  return products(`O[${t},${i}]`, headAt(lab, 'P', h, t, 'u'), `V[u,${i}]`,
    range(t + 1).map((u) => ({ head: `u = ${u}`, a: inHead(lab, 'P', h, t, u), b: lab.data('V')[u * lab.D + i]! })), lab.data('O')[t * lab.D + i]!);
}

/** z[t,v] = logits[t,v] / temperature. */
const z = (lab: Lab, t: number, v: number): number => lab.data('logits')[t * lab.V + v]! / lab.options.temperature;

function logSum(lab: Lab, t: number): Ledger {
  const x = range(lab.V).map((v) => z(lab, t, v)), max = Math.max(...x), e = x.map((value) => lab.engine.elementary('exp', value - max));
  const value = lab.data('lse')[t]!;
  return {
    columns: [`z[${t},v]`, '\u2212 max', 'exp'],
    rows: [...x.map((value_, v) => ({ head: `v = ${v}`, cells: [value_, value_ - max, e[v]!] })), { head: 'sum', cells: [null, null, total(e)] }],
    total: { head: `lse[${t}]`, cells: [null, null, value] },
    sentence: `lse[${t}] = ${fmt(max, 4)} + log ${fmt(total(e), 4)} = ${fmt(value, 4)}`,
  };
}

function lossOf(lab: Lab, t: number): Ledger {
  const y = lab.target(t), lse = lab.data('lse')[t]!, value = lab.data('losses')[t]!;
  return {
    columns: ['value'],
    rows: [{ head: `lse[${t}]`, cells: [lse] }, { head: `\u2212 z[${t},${y}], the target`, cells: [-z(lab, t, y)] }],
    total: { head: `losses[${t}]`, cells: [value] },
    sentence: `losses[${t}] = ${fmt(lse, 4)} \u2212 ${operand(z(lab, t, y))} = ${fmt(value, 4)}`,
  };
}

function meanLoss(lab: Lab): Ledger {
  return {
    columns: ['value'],
    rows: [...range(lab.T).map((t) => ({ head: `losses[${t}]`, cells: [lab.data('losses')[t]!] })), { head: '\u00f7 T', cells: [lab.T] }],
    total: { head: 'loss', cells: [lab.run.loss] },
    sentence: `loss = (${range(lab.T).map((t) => fmt(lab.data('losses')[t]!, 4)).join(' + ')}) / ${lab.T} = ${fmt(lab.run.loss, 6)}`,
  };
}

function logitGradient(lab: Lab, t: number, v: number): Ledger {
  const p = lab.engine.elementary('exp', z(lab, t, v) - lab.data('lse')[t]!), y = lab.target(t), hit = v === y ? 1 : 0;
  const value = lab.data('dlogits')[t * lab.V + v]!, { temperature } = lab.options;
  return {
    columns: ['value'],
    rows: [
      { head: `p[${t},${v}] = exp(z \u2212 lse)`, cells: [p] },
      { head: hit ? `\u2212 1: ${v} is the target` : `\u2212 0: the target is ${y}`, cells: [-hit] },
      { head: '\u00f7 T', cells: [lab.T] },
      ...(temperature === 1 ? [] : [{ head: '\u00f7 temperature', cells: [temperature] }]),
    ],
    total: { head: `dlogits[${t},${v}]`, cells: [value] },
    sentence: `dlogits[${t},${v}] = (${fmt(p, 4)} \u2212 ${hit}) / ${temperature === 1 ? lab.T : `(${lab.T} \u00d7 ${temperature})`} = ${fmt(value, 4)}`,
  };
}

const weightGradient: RowLedger = (lab, h, t, u) => {
  const name = at('dP', t, u), value = inHead(lab, 'dP', h, t, u);
  if (u > t) return { columns: ['value'], rows: [{ head: 'behind the mask', cells: [value] }], sentence: `${name} = ${fmt(value, 4)}: token ${t} does not see token ${u}, so its loss does not move with it` };
  return products(name, `dO[${t},i]`, `V[${u},i]`,
    range(lab.HS).map((k) => ({ head: `i = ${h * lab.HS + k}`, a: lab.data('dO')[t * lab.D + h * lab.HS + k]!, b: lab.data('V')[u * lab.D + h * lab.HS + k]! })), value);
};

const scoreGradient: RowLedger = (lab, h, t, u) => {
  const p = (w: number): number => inHead(lab, 'P', h, t, w), dp = (w: number): number => inHead(lab, 'dP', h, t, w);
  const row = total(range(t + 1).map((w) => p(w) * dp(w))), value = inHead(lab, 'dS', h, t, u), name = at('dS', t, u);
  return {
    columns: ['P', 'dP', 'product'],
    operators: ['', '\u00d7', '='],
    rows: [
      ...range(lab.T).map((w) => (w > t ? { head: `u = ${w}`, cells: [], masked: true, chosen: w === u }
        : { head: `u = ${w}`, cells: [p(w), dp(w), p(w) * dp(w)], chosen: w === u })),
      { head: 'sum', cells: [null, null, row] },
    ],
    total: { head: name, cells: [null, null, value] },
    sentence: u > t ? `${name} = 0: a masked score moves nothing` : `${name} = ${fmt(p(u), 4)} \u00d7 (${fmt(dp(u), 4)} \u2212 ${operand(row)}) = ${fmt(value, 4)}`,
  };
};

/** dQ = dS K / sqrt(d_h) and dK = dS^T Q / sqrt(d_h): a sum over the other tokens that see or are seen. */
function projectedGradient(lab: Lab, of: 'dQ' | 'dK', t: number, i: number): Ledger {
  const h = Math.floor(i / lab.HS), root = Math.sqrt(lab.HS), query = of === 'dQ', other = query ? 'K' : 'Q';
  const others = query ? range(t + 1) : range(lab.T).filter((w) => w >= t), value = lab.data(of)[t * lab.D + i]!;
  const terms = others.map((w) => ({ w, s: query ? inHead(lab, 'dS', h, t, w) : inHead(lab, 'dS', h, w, t), m: lab.data(other)[w * lab.D + i]! }));
  return {
    columns: [query ? headAt(lab, 'dS', h, t, 'u') : headAt(lab, 'dS', h, 't', t), query ? `K[u,${i}]` : `Q[t,${i}]`, ROOT, ''],
    operators: ['', '\u00d7', '\u00f7', '='],
    rows: terms.map(({ w, s, m }) => ({ head: `${query ? 'u' : 't'} = ${w}`, cells: [s, m, root, (s * m) / root] })),
    total: { head: 'sum', cells: [null, null, null, value] },
    sentence: `${of}[${t},${i}] = (${terms.map(({ s, m }) => `${operand(s)} \u00d7 ${operand(m)}`).join(' + ')}) / ${fmt(root, 4)} = ${fmt(value, 4)}`,
  };
}

function valueGradient(lab: Lab, u: number, i: number): Ledger {
  const h = Math.floor(i / lab.HS);
  return products(`dV[${u},${i}]`, headAt(lab, 'P', h, 't', u), `dO[t,${i}]`,
    range(lab.T).filter((t) => t >= u).map((t) => ({ head: `t = ${t}`, a: inHead(lab, 'P', h, t, u), b: lab.data('dO')[t * lab.D + i]! })), lab.data('dV')[u * lab.D + i]!);
}

const PATHS = [['dXv', 'dV', 'Wv', 'values'], ['dXk', 'dK', 'Wk', 'keys'], ['dXq', 'dQ', 'Wq', 'queries']] as const;

/** Every tensor of a run, in the order of computation. */
export function labTensors(engine: Engine, options: LabOptions, run: LabRun = engine.lab(options)): readonly ExampleTensor[] {
  const lab = new Lab(engine, options, run), { T, C, D, V } = lab;
  const data = (name: string): Float64Array => lab.data(name);
  const tokens = names(T, 't = '), classes = names(V, '');
  const form = {
    TC: { shape: [T, C], letters: '(T, C)', rows: tokens, rowAxis: 'token', columnAxis: 'channel' },
    TD: { shape: [T, D], letters: '(T, D)', rows: tokens, rowAxis: 'token', columnAxis: 'column of the head' },
    TV: { shape: [T, V], letters: '(T, V)', rows: tokens, columns: classes, rowAxis: 'token', columnAxis: 'class' },
    CD: { shape: [C, D], letters: '(C, D)', rowAxis: 'channel', columnAxis: 'column of the head' },
    DV: { shape: [D, V], letters: '(D, V)', columns: classes, rowAxis: 'column of the head', columnAxis: 'class' },
    HTT: { shape: [lab.H, T, T], letters: '(H, T, T)', rows: tokens, columns: names(T, ''), rowAxis: 'reads from \u00b7 queries, t', columnAxis: 'is read \u2192 keys, u' },
    T: { shape: [T], letters: '(T)', columns: names(T, ''), columnAxis: 'token' },
  } as const;
  const behind = (row: number, column: number): boolean => column > row % T;
  const head = (ledger: RowLedger): ExampleTensor['ledger'] => (row, column) => ledger(lab, Math.floor(row / T), row % T, column);
  const drawnTensor = (id: string, tex: string, title: string, f: (typeof form)[keyof typeof form], how: string): ExampleTensor => ({
    id, tex, title, data: data(id), scale: 'signed', label: null, ...f,
    ledger: (row, column) => {
      const value = data(id)[row * f.shape[1]! + column]!, name = `${id}[${row},${column}]`;
      return { ...given(name, value), columns: ['drawn'], sentence: `${name} = ${fmt(value, 4)}, drawn: ${how}` };
    },
  });
  const half = 'a standard normal number times one half', normal = 'a standard normal number';
  const paths = PATHS.map(([id, dm, w, way]) => ({ id, dm, w, way, data: lab.path(dm, w) }));
  const path = (k: number): ExampleTensor => {
    const { id, dm, w, way, data: dx } = paths[k]!;
    return computed({ id, tex: `\\mathrm{d}${w.replace('W', '').toUpperCase()}\\, W_${w.slice(1)}^{\\top}`, title: `gradient on the tokens, through the ${way}`, data: dx, ...form.TC }, 'lab.dx',
      linearDxLedger(id, dm, w, data(dm), data(w), dx, C, D));
  };
  return [
    drawnTensor('X', 'X', 'tokens', form.TC, normal),
    drawnTensor('Wq', 'W_q', 'weights of the queries', form.CD, half),
    drawnTensor('Wk', 'W_k', 'weights of the keys', form.CD, half),
    drawnTensor('Wv', 'W_v', 'weights of the values', form.CD, half),
    drawnTensor('Wo', 'W_o', 'weights of the output projection', form.DV, half),
    computed({ id: 'Q', tex: 'Q', title: 'queries', data: data('Q'), ...form.TD }, 'lab.q', linearLedger('Q', 'X', 'Wq', '', data('X'), data('Wq'), null, data('Q'), C, D)),
    computed({ id: 'K', tex: 'K', title: 'keys', data: data('K'), ...form.TD }, 'lab.k', linearLedger('K', 'X', 'Wk', '', data('X'), data('Wk'), null, data('K'), C, D)),
    computed({ id: 'V', tex: 'V', title: 'values', data: data('V'), ...form.TD }, 'lab.v', linearLedger('V', 'X', 'Wv', '', data('X'), data('Wv'), null, data('V'), C, D)),
    computed({ id: 'scores', tex: 'Q K^{\\top}', title: 'raw scores', data: data('scores'), ...form.HTT }, 'lab.att', head(scores)),
    computed({ id: 'scaled', tex: 'Q K^{\\top} / \\sqrt{d_h}', title: 'scaled scores', data: data('scaled'), ...form.HTT }, 'lab.att', head(scaled)),
    computed({ id: 'masked', tex: 'S', title: 'masked scores', data: data('masked'), masked: behind, ...form.HTT }, 'lab.att', head(masked)),
    computed({ id: 'P', tex: 'P', title: 'attention weights', data: data('P'), scale: 'weight', masked: behind, ...form.HTT }, 'lab.att', head(weights)),
    computed({ id: 'O', tex: 'O', title: 'weighted values', data: data('O'), ...form.TD }, 'lab.att', (t, i) => mixed(lab, t, i)),
    computed({ id: 'logits', tex: '\\mathrm{logits}', title: 'scores of the classes', data: data('logits'), ...form.TV }, 'lab.logits', linearLedger('logits', 'O', 'Wo', '', data('O'), data('Wo'), null, data('logits'), D, V)),
    computed({ id: 'lse', tex: '\\mathrm{lse}', title: 'log of the sum of exponentials', data: data('lse'), ...form.T }, 'ce.lse', (_, t) => logSum(lab, t)),
    computed({ id: 'losses', tex: '\\mathrm{rows}', title: 'loss of each token', data: data('losses'), ...form.T }, 'ce.loss', (_, t) => lossOf(lab, t)),
    computed({ id: 'loss', tex: '\\mathrm{loss}', title: 'mean loss', data: Float64Array.of(run.loss), shape: [1], letters: '()', columns: ['mean'] }, 'lab.loss', () => meanLoss(lab)),
    computed({ id: 'dlogits', tex: '\\mathrm{d}\\mathrm{logits}', title: 'gradient on the scores of the classes', data: data('dlogits'), ...form.TV }, 'lab.dlogits', (t, v) => logitGradient(lab, t, v)),
    computed({ id: 'dO', tex: '\\mathrm{d}O', title: 'gradient on the weighted values', data: data('dO'), ...form.TD }, 'lab.do', linearDxLedger('dO', 'dlogits', 'Wo', data('dlogits'), data('Wo'), data('dO'), D, V)),
    computed({ id: 'dP', tex: '\\mathrm{d}P', title: 'gradient on the attention weights', data: data('dP'), masked: behind, ...form.HTT }, 'lab.datt', head(weightGradient)),
    computed({ id: 'dS', tex: '\\mathrm{d}S', title: 'gradient on the scores', data: data('dS'), masked: behind, ...form.HTT }, 'lab.datt', head(scoreGradient)),
    computed({ id: 'dQ', tex: '\\mathrm{d}Q', title: 'gradient on the queries', data: data('dQ'), ...form.TD }, 'lab.datt', (t, i) => projectedGradient(lab, 'dQ', t, i)),
    computed({ id: 'dK', tex: '\\mathrm{d}K', title: 'gradient on the keys', data: data('dK'), ...form.TD }, 'lab.datt', (t, i) => projectedGradient(lab, 'dK', t, i)),
    computed({ id: 'dV', tex: '\\mathrm{d}V', title: 'gradient on the values', data: data('dV'), ...form.TD }, 'lab.datt', (t, i) => valueGradient(lab, t, i)),
    path(2), path(1), path(0),
    computed({ id: 'dX', tex: '\\mathrm{d}X', title: 'gradient on the tokens: three paths meet', data: data('dX'), ...form.TC }, 'lab.dx',
      (t, c) => sum(`dX[${t},${c}]`, `gradient at [${t},${c}]`, [...paths].reverse().map((p) => ({ head: `through the ${p.way}`, value: p.data[t * C + c]! })), data('dX')[t * C + c]!)),
    ...(['q', 'k', 'v'] as const).map((m) => computed({ id: `dW${m}`, tex: `\\mathrm{d}W_${m}`, title: `gradient on the weights of the ${{ q: 'queries', k: 'keys', v: 'values' }[m]}`, data: data(`dW${m}`), ...form.CD }, 'lab.dw',
      linearDwLedger(`dW${m}`, 'X', `d${m.toUpperCase()}`, data('X'), data(`d${m.toUpperCase()}`), data(`dW${m}`), tokens, C, D))),
    computed({ id: 'dWo', tex: '\\mathrm{d}W_o', title: 'gradient on the weights of the output projection', data: data('dWo'), ...form.DV }, 'lab.do',
      linearDwLedger('dWo', 'O', 'dlogits', data('O'), data('dlogits'), data('dWo'), tokens, D, V)),
  ];
}

export const example: Example = {
  id: 'codelab',
  source: 'codelab',
  note: drawn(FIRST),
  inputs,
  run: (engine) => labTensors(engine, FIRST),
};
