/* steps.ts -- the steps of the lab: forward as attention.c goes, then backward, where
 * others stop.  Each has its own tensor, equation and figure; the numbers are the C
 * code's, this module only lays them out. */
import type { Aside, Mark, Matrix } from '../components/HeatMap';
import { magnitude } from '../components/colour';
import { columnsOf, rowOf, sum, transpose, type AttentionLayer, type LayerTensor } from '../examples/attention-layer';
import { rowGradient, softmaxRow } from '../examples/attention-ledgers';
import { TENSORS } from '../examples/attention-tensors';
import type { Scale } from '../examples/types';

export const STEPS = ['project', 'scores', 'scaled', 'masked', 'softmax', 'values', 'output', 'dOut', 'dO', 'dV', 'dA', 'dS', 'dQ', 'dK', 'dX'] as const;
export type Step = (typeof STEPS)[number];
export const FORWARD = 7;
export type Projection = 'Q' | 'K' | 'V';
export const PROJECTIONS: readonly Projection[] = ['Q', 'K', 'V'];

export interface StepFacts {
  readonly name: string;
  readonly tensor: LayerTensor;
  /** The equation of the step. */
  readonly tex: string;
  readonly what: string;
  /** Labels of the lines that are the step's, the first of them its own. */
  readonly labels: readonly string[];
  /** The section of the Attention page. */
  readonly section: string;
}

export const FACTS: Readonly<Record<Step, StepFacts>> = {
  project: { name: 'Q, K, V', tensor: 'Q', section: 'projections', labels: ['attn.q', 'attn.k', 'attn.v', 'linear.y'],
    tex: 'Q_{ix} = b_{q,x} + \\textstyle\\sum_c X_{n,ic}\\, W_{q,cx}',
    what: 'Three linear maps of the same input: what each position asks for, what it offers, what it hands over.' },
  scores: { name: 'Scores', tensor: 'scores', section: 'scores', labels: ['attn.scores'], tex: '(QK^{\\top})_{ij} = \\textstyle\\sum_c Q_{ic}\\, K_{jc}',
    what: 'Each query is compared with each key: the dot product of the row on the left and the column above.' },
  scaled: { name: 'Scaled', tensor: 'scaled', section: 'scaling', labels: ['attn.scaled'], tex: 'S_{ij} = (QK^{\\top})_{ij} \\,/\\, \\sqrt{d_h}',
    what: 'Every score is divided by the root of the head\u2019s width, so its spread does not grow with it.' },
  masked: { name: 'Masked', tensor: 'masked', section: 'mask', labels: ['attn.masked'], tex: 'S_{ij} \\leftarrow S_{ij}\\ \\text{if } j \\le i,\\ \\text{else } -\\infty',
    what: 'A position may read itself and what came before. What comes after is set to minus infinity.' },
  softmax: { name: 'Softmax', tensor: 'A', section: 'softmax', labels: ['attn.softmax'],
    tex: 'A_{ij} = \\dfrac{\\exp(S_{ij} - m_i)}{\\sum_{k \\le i} \\exp(S_{ik} - m_i)}',
    what: 'Each row becomes weights that sum to 1: how much this position takes of itself and of every earlier one.' },
  values: { name: 'Weighted values', tensor: 'O', section: 'values', labels: ['attn.values'], tex: 'O_{ix} = \\textstyle\\sum_{j \\le i} A_{ij}\\, V_{jx}',
    what: 'The head\u2019s output: the values of the positions read, mixed in the proportions of the row.' },
  output: { name: 'Output', tensor: 'out', section: 'output', labels: ['attn.out', 'linear.y'],
    tex: '\\mathrm{out}_{ix} = b_{o,x} + \\textstyle\\sum_c O_{ic}\\, W_{o,cx}',
    what: 'The heads lie side by side in O; one more linear map mixes them into the block\u2019s width.' },
  dOut: { name: 'dOut', tensor: 'dOut', section: 'backward', labels: ['attn.loss', 'attn.do'],
    tex: '\\mathrm{d}\\mathrm{out} = \\partial L / \\partial\\, \\mathrm{out}',
    what: 'The way back begins: what the rest of the model reports about each output. In the example it is given.' },
  dO: { name: 'dO', tensor: 'dO', section: 'backward', labels: ['attn.do', 'linear.dx'], tex: '\\mathrm{d}O_{ix} = \\textstyle\\sum_k \\mathrm{d}\\mathrm{out}_{ik}\\, W_{o,xk}',
    what: 'Back through the output projection, then split by head: this head\u2019s columns.' },
  dV: { name: 'dV', tensor: 'dV', section: 'backward', labels: ['attn.dv'], tex: '\\mathrm{d}V_{jx} = \\textstyle\\sum_{i \\ge j} A_{ij}\\, \\mathrm{d}O_{ix}',
    what: 'A value was mixed into every later row, so its gradient is gathered from those rows.' },
  dA: { name: 'dA', tensor: 'dA', section: 'backward', labels: ['attn.da'], tex: '\\mathrm{d}A_{ij} = \\textstyle\\sum_c \\mathrm{d}O_{ic}\\, V_{jc}',
    what: 'How the loss would change with each weight. Marked cells have a value here, yet none of it passes the mask.' },
  dS: { name: 'dS', tensor: 'dS', section: 'backward', labels: ['attn.ds'], tex: '\\mathrm{d}S_{ij} = A_{ij} \\left(\\mathrm{d}A_{ij} - \\textstyle\\sum_k A_{ik}\\, \\mathrm{d}A_{ik}\\right)',
    what: 'Back through softmax: a weight can only grow if others in its row shrink, hence the row\u2019s own sum is taken off.' },
  dQ: { name: 'dQ', tensor: 'dQ', section: 'backward', labels: ['attn.dq'], tex: '\\mathrm{d}Q_{ix} = \\textstyle\\sum_{j \\le i} \\mathrm{d}S_{ij}\\, K_{jx} \\,/\\, \\sqrt{d_h}',
    what: 'A query\u2019s gradient: the keys it met, weighted by the gradient of each score, scaled as on the way in.' },
  dK: { name: 'dK', tensor: 'dK', section: 'backward', labels: ['attn.dk'], tex: '\\mathrm{d}K_{jx} = \\textstyle\\sum_{i \\ge j} \\mathrm{d}S_{ij}\\, Q_{ix} \\,/\\, \\sqrt{d_h}',
    what: 'A key\u2019s gradient: the queries that met it. The same numbers, read by column.' },
  dX: { name: 'dX', tensor: 'dXn', section: 'backward', labels: ['attn.dxn', 'linear.dx'],
    tex: '\\mathrm{d}X_n = \\mathrm{d}Q\\, W_q^{\\top} + \\mathrm{d}K\\, W_k^{\\top} + \\mathrm{d}V\\, W_v^{\\top}',
    what: 'The input was used three times, so three gradients are added. Leave one out and the check of this gradient fails.' },
};

const PROJECTION_TEX: Readonly<Record<Projection, string>> = {
  Q: FACTS.project.tex,
  K: 'K_{ix} = b_{k,x} + \\textstyle\\sum_c X_{n,ic}\\, W_{k,cx}',
  V: 'V_{ix} = b_{v,x} + \\textstyle\\sum_c X_{n,ic}\\, W_{v,cx}',
};

export const tensorOf = (step: Step, projection: Projection): LayerTensor => (step === 'project' ? projection : FACTS[step].tensor);
export const equationOf = (step: Step, projection: Projection): string => (step === 'project' ? PROJECTION_TEX[projection] : FACTS[step].tex);
export const labelOf = (step: Step, projection: Projection): string =>
  step === 'project' ? `attn.${projection.toLowerCase()}` : (FACTS[step].labels[0] as string);

/** Every LaTeX text that the lab can show. */
export function allTex(): string[] {
  return [...STEPS.map((s) => FACTS[s].tex), ...Object.values(PROJECTION_TEX), ...Object.values(TENSORS).map((t) => t.tex), ...Object.values(OPERAND_TEX)];
}

/** What the rows and columns of a figure are. */
export type Axis = 'reads' | 'read' | 'channel';

export interface FigureOperand extends Matrix {
  readonly tex: string;
  readonly scale: Scale;
  readonly domain: number;
  readonly mark?: (row: number, column: number) => Mark;
}
export interface StepFigure extends Matrix {
  readonly data: Float64Array;
  readonly tensor: LayerTensor;
  readonly rowAxis: 'reads' | 'read';
  readonly columnAxis: 'read' | 'channel';
  readonly scale: Scale;
  readonly domain: number;
  readonly covers: string;
  readonly mark?: ((row: number, column: number) => Mark) | undefined;
  readonly left?: FigureOperand | undefined;
  readonly above?: FigureOperand | undefined;
  readonly asides?: readonly Aside[] | undefined;
  /** Channel of the tensor in the figure's first column. */
  readonly firstChannel: number;
  readonly dims: readonly [letters: string, sizes: string];
}

const OPERAND_TEX = {
  Xn: 'X_n', Q: 'Q', Kt: 'K^{\\top}', A: 'A', V: 'V', O: 'O', Wo: 'W_o', dOut: '\\mathrm{d}\\mathrm{out}', Wot: 'W_o^{\\top}',
  At: 'A^{\\top}', dO: '\\mathrm{d}O', Vt: 'V^{\\top}', dS: '\\mathrm{d}S', dSt: '\\mathrm{d}S^{\\top}', K: 'K', Wq: 'W_q', Wk: 'W_k', Wv: 'W_v',
};

const behind = (row: number, column: number): Mark => (column > row ? 'masked' : undefined);
const before = (row: number, column: number): Mark => (column < row ? 'masked' : undefined);
const will = (row: number, column: number): Mark => (column > row ? 'will' : undefined);

/** The part of a tensor that belongs to head h: (T, HS) or (T, T). */
export function headPart(l: AttentionLayer, name: LayerTensor, h: number): Float64Array {
  const data = l.tensor(name);
  if (TENSORS[name].form === 'HTT') return data.subarray(h * l.T * l.T, (h + 1) * l.T * l.T);
  return columnsOf(data, l.C, h * l.HS, l.HS);
}

interface Sketch {
  left?: FigureOperand;
  above?: FigureOperand;
  asides?: Aside[];
  mark?: (row: number, column: number) => Mark;
  domain?: number;
}

const matrix = (tex: string, data: Float64Array, columns: number, mark?: FigureOperand['mark'], scale: Scale = 'signed'): FigureOperand =>
  ({ tex, data, columns, rows: data.length / columns, scale, domain: scale === 'weight' ? 1 : magnitude(data), mark });

function operands(l: AttentionLayer, step: Step, projection: Projection, h: number): Sketch {
  const part = (name: LayerTensor): Float64Array => headPart(l, name, h);
  const { T, C, HS } = l;
  switch (step) {
    case 'project': {
      const w = `W${projection.toLowerCase()}` as 'Wq' | 'Wk' | 'Wv';
      return { left: matrix(OPERAND_TEX.Xn, l.tensor('Xn'), C), above: matrix(OPERAND_TEX[w], part(w), HS), domain: magnitude(l.tensor('Q'), l.tensor('K'), l.tensor('V')) };
    }
    case 'scores': return { left: matrix(OPERAND_TEX.Q, part('Q'), HS), above: matrix(OPERAND_TEX.Kt, transpose(part('K'), HS), T), mark: will };
    case 'scaled': return { mark: will, domain: magnitude(l.tensor('scores')) };
    case 'masked': return { mark: behind, domain: magnitude(l.tensor('scores')) };
    case 'softmax': return { mark: behind, asides: softmaxAsides(l, h) };
    case 'values': return { left: matrix(OPERAND_TEX.A, part('A'), T, behind, 'weight'), above: matrix(OPERAND_TEX.V, part('V'), HS), domain: magnitude(l.tensor('V')) };
    case 'output': return { left: matrix(OPERAND_TEX.O, l.tensor('O'), C), above: matrix(OPERAND_TEX.Wo, l.tensor('Wo'), C) };
    case 'dOut': return {};
    case 'dO': return { left: matrix(OPERAND_TEX.dOut, l.tensor('dOut'), C),
      above: matrix(OPERAND_TEX.Wot, transpose(l.tensor('Wo').subarray(h * HS * C, (h + 1) * HS * C), C), HS) };
    case 'dV': return { left: matrix(OPERAND_TEX.At, transpose(part('A'), T), T, before, 'weight'), above: matrix(OPERAND_TEX.dO, part('dO'), HS) };
    case 'dA': return { left: matrix(OPERAND_TEX.dO, part('dO'), HS), above: matrix(OPERAND_TEX.Vt, transpose(part('V'), HS), T), mark: will };
    case 'dS': return { mark: behind, asides: gradientAsides(l, h) };
    case 'dQ': return { left: matrix(OPERAND_TEX.dS, part('dS'), T, behind), above: matrix(OPERAND_TEX.K, part('K'), HS) };
    case 'dK': return { left: matrix(OPERAND_TEX.dSt, transpose(part('dS'), T), T, before), above: matrix(OPERAND_TEX.Q, part('Q'), HS) };
    case 'dX': return {};
  }
}

const byRow = (T: number, f: (i: number) => number): Float64Array => Float64Array.from({ length: T }, (_, i) => f(i));

function softmaxAsides(l: AttentionLayer, h: number): Aside[] {
  const all = Array.from({ length: l.T }, (_, i) => softmaxRow(l, h, i));
  return [
    { name: 'max', values: byRow(l.T, (i) => all[i]?.max ?? NaN) },
    { name: '\u03a3 exp', values: byRow(l.T, (i) => all[i]?.sum ?? NaN) },
    { name: '\u03a3 A', values: byRow(l.T, (i) => sum(l.engine, rowOf(l.tensor('A'), l.T, h * l.T + i))) },
  ];
}

function gradientAsides(l: AttentionLayer, h: number): Aside[] {
  return [
    { name: '\u03a3 A dA', values: byRow(l.T, (i) => rowGradient(l, h, i)) },
    { name: '\u03a3 dS', values: byRow(l.T, (i) => sum(l.engine, rowOf(l.tensor('dS'), l.T, h * l.T + i, 0, i + 1))) },
  ];
}

/** Steps that are drawn whole, not by head. */
const WHOLE: ReadonlySet<Step> = new Set<Step>(['output', 'dOut', 'dX']);

/** The figure of a step: the same object for every chosen cell, so that choosing redraws nothing else. */
export function figureOf(l: AttentionLayer, step: Step, projection: Projection, h: number): StepFigure {
  const tensor = tensorOf(step, projection);
  const form = TENSORS[tensor].form;
  const whole = WHOLE.has(step);
  const sketch = operands(l, step, projection, h);
  const columns = form === 'HTT' ? l.T : whole ? l.C : l.HS;
  const scale: Scale = tensor === 'A' ? 'weight' : 'signed';
  return {
    ...sketch, tensor, scale, rows: l.T, columns,
    data: whole ? l.tensor(tensor) : headPart(l, tensor, h),
    rowAxis: TENSORS[tensor].row === 'read' ? 'read' : 'reads',
    columnAxis: form === 'HTT' ? 'read' : 'channel',
    domain: scale === 'weight' ? 1 : (sketch.domain ?? magnitude(l.tensor(tensor))),
    covers: whole ? 'of the tensor' : step === 'project' ? 'of Q, K and V, all heads' : step === 'values' ? 'of V, all heads' : step === 'scaled' || step === 'masked' ? 'of the raw scores, all heads' : 'of all heads',
    firstChannel: whole ? 0 : h * l.HS,
    dims: form === 'HTT' ? ['T, T', `${l.T}, ${l.T}`] : whole ? ['T, d', `${l.T}, ${l.C}`] : ['T, d\u2095', `${l.T}, ${l.HS}`],
  };
}
