/* attention-ledgers.ts -- the arithmetic of any cell of any tensor of an attention layer.
 *
 * Operands and the final value are the C code's numbers.  Sums that the kernels form
 * and do not keep are formed by its linear layer (dot), exp by its exp; what is
 * multiplied or divided here is two shown numbers, for the one column between them.
 *
 * (row, column) are those of the whole tensor; in (H, T, T) rows count on through heads.
 */
import type { Ledger, LedgerRow } from './types';
import { fmt } from '../components/numbers';
import { columnOf, dot, rowOf, sum, type AttentionLayer, type LayerTensor } from './attention-layer';

const show = (x: number): string => fmt(x, 4);
const operand = (x: number): string => (x < 0 ? `(${show(x)})` : show(x));
const ROOT = '\u221ad\u2095';

interface Products {
  readonly name: string;
  readonly a: ArrayLike<number>;
  readonly b: ArrayLike<number>;
  readonly aName: string;
  readonly bName: string;
  readonly value: number;
  readonly heads?: readonly string[] | undefined;
  /** Added first, as the kernel does: a bias. */
  readonly start?: readonly [name: string, value: number] | undefined;
  readonly masked?: ((k: number) => boolean) | undefined;
  /** Each product is divided by this. */
  readonly root?: number | undefined;
}

/* More terms than this are not written out in the sentence: the ledger has them. */
const WRITTEN = 6;

function products(p: Products): Ledger {
  const rows: LedgerRow[] = [];
  const terms: string[] = [];
  if (p.start) {
    rows.push({ head: p.start[0], cells: p.root ? [null, null, null, p.start[1]] : [null, null, p.start[1]] });
    terms.push(show(p.start[1]));
  }
  for (let k = 0; k < p.a.length; k++) {
    const head = p.heads?.[k] ?? String(k);
    if (p.masked?.(k)) {
      rows.push({ head, cells: [], masked: true });
      continue;
    }
    const a = p.a[k] as number;
    const b = p.b[k] as number;
    rows.push({ head, cells: p.root ? [a, b, p.root, (a * b) / p.root] : [a, b, a * b] });
    terms.push(`${terms.length || a >= 0 ? operand(a) : show(a)} \u00d7 ${operand(b)}${p.root ? ` / ${ROOT}` : ''}`);
  }
  const written = terms.length <= WRITTEN ? terms.join(' + ') : `${terms.slice(0, 2).join(' + ')} + \u2026 + ${terms[terms.length - 1]}`;
  return {
    columns: p.root ? [p.aName, p.bName, ROOT, ''] : [p.aName, p.bName, ''],
    operators: p.root ? ['', '\u00d7', '\u00f7', '='] : ['', '\u00d7', '='],
    rows,
    total: { head: 'sum', cells: p.root ? [null, null, null, p.value] : [null, null, p.value] },
    sentence: `${p.name} = ${written} = ${show(p.value)}`,
  };
}

type LedgerOf = (layer: AttentionLayer, row: number, column: number) => Ledger;

const at = (layer: AttentionLayer, name: LayerTensor, columns: number, row: number, column: number): number =>
  layer.tensor(name)[row * columns + column] as number;

/** M[i,x] = b[x] + sum_c X[i,c] W[c,x] */
function linear(out: LayerTensor, x: LayerTensor, w: LayerTensor, b: LayerTensor): LedgerOf {
  return (l, i, c) => products({
    name: `${out}[${i},${c}]`, aName: `${x}[${i},c]`, bName: `${w}[c,${c}]`,
    a: rowOf(l.tensor(x), l.C, i), b: columnOf(l.tensor(w), l.C, c),
    start: [`${b}[${c}]`, l.tensor(b)[c] as number], value: at(l, out, l.C, i, c),
  });
}

/** dX[i,k] = sum_x dM[i,x] W[k,x] */
function linearDx(out: LayerTensor, dm: LayerTensor, w: LayerTensor): LedgerOf {
  return (l, i, k) => products({
    name: `${out}[${i},${k}]`, aName: `${dm}[${i},x]`, bName: `${w}[${k},x]`,
    a: rowOf(l.tensor(dm), l.C, i), b: rowOf(l.tensor(w), l.C, k), value: at(l, out, l.C, i, k),
  });
}

/** dW[k,x] = sum_i X[i,k] dM[i,x] */
function linearDw(out: LayerTensor, x: LayerTensor, dm: LayerTensor): LedgerOf {
  return (l, k, c) => products({
    name: `${out}[${k},${c}]`, aName: `${x}[i,${k}]`, bName: `${dm}[i,${c}]`, heads: l.tokens,
    a: columnOf(l.tensor(x), l.C, k), b: columnOf(l.tensor(dm), l.C, c), value: at(l, out, l.C, k, c),
  });
}

/** db[x] = sum_i dM[i,x] */
function linearDb(out: LayerTensor, dm: LayerTensor): LedgerOf {
  return (l, _, c) => {
    const column = columnOf(l.tensor(dm), l.C, c);
    const value = l.tensor(out)[c] as number;
    const terms = Array.from(column, operand);
    return {
      columns: [`${dm}[i,${c}]`],
      rows: Array.from(column, (x, i) => ({ head: l.tokens[i] ?? String(i), cells: [x] })),
      total: { head: 'sum', cells: [value] },
      sentence: `${out}[${c}] = ${terms.length <= WRITTEN ? terms.join(' + ') : `${terms[0]} + \u2026 + ${terms[terms.length - 1]}`} = ${show(value)}`,
    };
  };
}

/** The head, and the row in it, of a row that counts on through heads. */
const split = (l: AttentionLayer, row: number): readonly [h: number, i: number] => [Math.floor(row / l.T), row % l.T];

/** sum over the channels of a head of two rows */
function rows(out: LayerTensor, left: LayerTensor, above: LayerTensor): LedgerOf {
  return (l, row, j) => {
    const [h, i] = split(l, row);
    return products({
      name: `${out}[${i},${j}]`, aName: `${left}[${i},c]`, bName: `${above}[${j},c]`,
      heads: Array.from({ length: l.HS }, (_, c) => String(h * l.HS + c)),
      a: rowOf(l.tensor(left), l.C, i, h * l.HS, l.HS), b: rowOf(l.tensor(above), l.C, j, h * l.HS, l.HS),
      value: at(l, out, l.T, row, j),
    });
  };
}

function scaled(l: AttentionLayer, row: number, j: number): Ledger {
  const [, i] = split(l, row);
  const raw = at(l, 'scores', l.T, row, j);
  const value = at(l, 'scaled', l.T, row, j);
  return {
    columns: [`scores[${i},${j}]`, ROOT, ''], operators: ['', '\u00f7', '='],
    rows: [{ head: l.tokens[j] ?? String(j), cells: [raw, Math.sqrt(l.HS), value], chosen: true }],
    sentence: `S[${i},${j}] = ${show(raw)} / \u221a${l.HS} = ${show(value)}`,
  };
}

function masked(l: AttentionLayer, row: number, j: number): Ledger {
  const [, i] = split(l, row);
  const value = at(l, 'masked', l.T, row, j);
  const kept = j <= i;
  return {
    columns: ['j', 'i', 'S'], operators: ['', kept ? '\u2264' : '>', '\u2192'],
    rows: [{ head: kept ? 'kept' : 'masked', cells: [String(j), String(i), value], chosen: true }],
    sentence: kept ? `${j} \u2264 ${i}: the score stays ${show(value)}` : `${j} > ${i}: the score becomes ${show(value)}`,
  };
}

/** What softmax forms on the way for row i of head h, over the keys that may be read. */
export function softmaxRow(l: AttentionLayer, h: number, i: number): { scores: Float64Array; max: number; exp: Float64Array; sum: number } {
  const scores = rowOf(l.tensor('masked'), l.T, h * l.T + i, 0, i + 1);
  const max = scores.reduce((a, b) => (b > a ? b : a));
  const exp = Float64Array.from(scores, (s) => l.engine.elementary('exp', s - max));
  return { scores, max, exp, sum: sum(l.engine, exp) };
}

function softmax(l: AttentionLayer, row: number, j: number): Ledger {
  const [h, i] = split(l, row);
  const s = softmaxRow(l, h, i);
  const a = rowOf(l.tensor('A'), l.T, row);
  const value = a[j] as number;
  return {
    columns: ['S', '\u2212 max', 'exp', '\u00f7 \u03a3'],
    rows: l.tokens.map((head, k) => (k > i ? { head, cells: [], masked: true, chosen: k === j }
      : { head, cells: [s.scores[k] as number, (s.scores[k] as number) - s.max, s.exp[k] as number, a[k] as number], chosen: k === j })),
    total: { head: '\u03a3', cells: [null, null, s.sum, sum(l.engine, a)] },
    sentence: j > i ? `A[${i},${j}] = 0: exp(\u2212\u221e) = 0`
      : `A[${i},${j}] = exp(${show(s.scores[j] as number)} \u2212 ${operand(s.max)}) / ${show(s.sum)} = ${show(s.exp[j] as number)} / ${show(s.sum)} = ${show(value)}`,
  };
}

function values(l: AttentionLayer, i: number, x: number): Ledger {
  const h = Math.floor(x / l.HS);
  return products({
    name: `O[${i},${x}]`, aName: `A[${i},j]`, bName: `V[j,${x}]`, heads: l.tokens, masked: (k) => k > i,
    a: rowOf(l.tensor('A'), l.T, h * l.T + i), b: columnOf(l.tensor('V'), l.C, x), value: at(l, 'O', l.C, i, x),
  });
}

/** sum_k A[i,k] dA[i,k] over what row i reads: taken off each gradient of the row. */
export function rowGradient(l: AttentionLayer, h: number, i: number): number {
  const row = h * l.T + i;
  return dot(l.engine, rowOf(l.tensor('A'), l.T, row, 0, i + 1), rowOf(l.tensor('dA'), l.T, row, 0, i + 1));
}

function dScores(l: AttentionLayer, row: number, j: number): Ledger {
  const [h, i] = split(l, row);
  const a = rowOf(l.tensor('A'), l.T, row);
  const da = rowOf(l.tensor('dA'), l.T, row);
  const ds = rowOf(l.tensor('dS'), l.T, row);
  const taken = rowGradient(l, h, i);
  const value = ds[j] as number;
  return {
    columns: ['A', 'dA', 'A dA', 'dA \u2212 \u03a3', 'dS'], operators: ['', '\u00d7', '=', '', ''],
    rows: l.tokens.map((head, k) => (k > i ? { head, cells: [], masked: true, chosen: k === j } : {
      head, chosen: k === j,
      cells: [a[k] as number, da[k] as number, (a[k] as number) * (da[k] as number), (da[k] as number) - taken, ds[k] as number],
    })),
    total: { head: '\u03a3', cells: [null, null, taken, null, sum(l.engine, rowOf(ds, l.T, 0, 0, i + 1))] },
    sentence: j > i ? `dS[${i},${j}] = 0: the mask passes nothing on`
      : `dS[${i},${j}] = ${show(a[j] as number)} \u00d7 (${show(da[j] as number)} \u2212 ${operand(taken)}) = ${show(value)}`,
  };
}

function dQueries(l: AttentionLayer, i: number, x: number): Ledger {
  const h = Math.floor(x / l.HS);
  return products({
    name: `dQ[${i},${x}]`, aName: `dS[${i},j]`, bName: `K[j,${x}]`, heads: l.tokens, masked: (k) => k > i, root: Math.sqrt(l.HS),
    a: rowOf(l.tensor('dS'), l.T, h * l.T + i), b: columnOf(l.tensor('K'), l.C, x), value: at(l, 'dQ', l.C, i, x),
  });
}

/** Gathered over the rows i that read j: column j of the head's (T, T) matrix. */
function gathered(out: LayerTensor, weights: LayerTensor, upstream: LayerTensor, divided: boolean): LedgerOf {
  return (l, j, x) => {
    const h = Math.floor(x / l.HS);
    const matrix = l.tensor(weights).subarray(h * l.T * l.T, (h + 1) * l.T * l.T);
    return products({
      name: `${out}[${j},${x}]`, aName: `${weights}[i,${j}]`, bName: `${upstream}[i,${x}]`, heads: l.tokens, masked: (k) => k < j,
      root: divided ? Math.sqrt(l.HS) : undefined,
      a: columnOf(matrix, l.T, j), b: columnOf(l.tensor(upstream), l.C, x), value: at(l, out, l.C, j, x),
    });
  };
}

function dInput(l: AttentionLayer, i: number, k: number): Ledger {
  const paths: readonly (readonly [string, LayerTensor, string])[] = [['through Q', 'dXq', 'dQ Wq\u1d40'], ['through K', 'dXk', 'dK Wk\u1d40'], ['through V', 'dXv', 'dV Wv\u1d40']];
  const numbers = paths.map(([, name]) => at(l, name, l.C, i, k));
  const value = at(l, 'dXn', l.C, i, k);
  return {
    columns: ['path', `[${i},${k}]`],
    rows: paths.map(([head, , text], n) => ({ head, cells: [text, numbers[n] as number] })),
    total: { head: 'sum', cells: [null, value] },
    sentence: `dXn[${i},${k}] = ${numbers.map(operand).join(' + ')} = ${show(value)}`,
  };
}

function given(name: LayerTensor): LedgerOf {
  return (l, row, column) => {
    const t = l.tensor(name);
    const width = name === 'Xn' || name === 'dOut' || name.startsWith('W') ? l.C : t.length;
    const value = t[row * width + column] as number;
    return { columns: [''], rows: [{ head: l.source === 'example' ? 'given' : 'read', cells: [value], chosen: true }], sentence: '' };
  };
}

export const LEDGERS: Readonly<Record<LayerTensor, LedgerOf>> = {
  Xn: given('Xn'), Wq: given('Wq'), bq: given('bq'), Wk: given('Wk'), bk: given('bk'), Wv: given('Wv'), bv: given('bv'),
  Wo: given('Wo'), bo: given('bo'), dOut: given('dOut'),
  Q: linear('Q', 'Xn', 'Wq', 'bq'), K: linear('K', 'Xn', 'Wk', 'bk'), V: linear('V', 'Xn', 'Wv', 'bv'),
  scores: rows('scores', 'Q', 'K'), scaled, masked, A: softmax, O: values, out: linear('out', 'O', 'Wo', 'bo'),
  dO: linearDx('dO', 'dOut', 'Wo'), dV: gathered('dV', 'A', 'dO', false), dA: rows('dA', 'dO', 'V'), dS: dScores,
  dQ: dQueries, dK: gathered('dK', 'dS', 'Q', true),
  dXq: linearDx('dXq', 'dQ', 'Wq'), dXk: linearDx('dXk', 'dK', 'Wk'), dXv: linearDx('dXv', 'dV', 'Wv'), dXn: dInput,
  dWq: linearDw('dWq', 'Xn', 'dQ'), dWk: linearDw('dWk', 'Xn', 'dK'), dWv: linearDw('dWv', 'Xn', 'dV'), dWo: linearDw('dWo', 'O', 'dOut'),
  dbq: linearDb('dbq', 'dQ'), dbk: linearDb('dbk', 'dK'), dbv: linearDb('dbv', 'dV'), dbo: linearDb('dbo', 'dOut'),
};
