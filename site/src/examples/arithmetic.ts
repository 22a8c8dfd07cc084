/* arithmetic.ts -- ledgers of the kinds that many examples need, and axes.
 *
 * The last number of a ledger is always the one that C computed.  Products and
 * differences before it are of numbers that stand beside them; they are shown so
 * that a reader can follow, and nothing is computed further from them.
 */
import type { ExampleTensor, Ledger, LedgerRow, Whole } from './types';
import { fmt } from '../components/numbers';

/** A number as an operand in a line: a negative one in parentheses. */
export const operand = (x: number): string => (x < 0 ? `(${fmt(x, 4)})` : fmt(x, 4));

export interface Term { readonly head: string; readonly a: number; readonly b: number }

/** The sum of products of two operands, one product a row. `start` is what the sum starts from. */
export function products(name: string, left: string, right: string, terms: readonly Term[], value: number,
  start?: { head: string; value: number }): Ledger {
  const rows: LedgerRow[] = terms.map((t) => ({ head: t.head, cells: [t.a, t.b, t.a * t.b] }));
  if (start) rows.unshift({ head: start.head, cells: [null, null, start.value] });
  const parts = terms.map((t) => `${operand(t.a)} × ${operand(t.b)}`);
  if (start) parts.unshift(operand(start.value));
  return {
    columns: [left, right, 'product'],
    operators: ['', '×', '='],
    rows,
    total: { head: 'sum', cells: [null, null, value] },
    sentence: `${name} = ${parts.join(' + ')} = ${fmt(value, 4)}`,
  };
}

/** A plain sum, one term a row. */
export function sum(name: string, what: string, terms: readonly { head: string; value: number }[],
  value: number, total = 'sum'): Ledger {
  return {
    columns: [what],
    rows: terms.map((t) => ({ head: t.head, cells: [t.value] })),
    total: { head: total, cells: [value] },
    sentence: `${name} = ${terms.map((t) => operand(t.value)).join(' + ')} = ${fmt(value, 4)}`,
  };
}

/** One number on its way: each row takes an operand and leaves a result. */
export function chain(name: string, rows: readonly { head: string; operand: number | null; result: number | null }[],
  value: number, formula: string): Ledger {
  return {
    columns: ['operand', 'result'],
    operators: ['', '='],
    rows: rows.map((r) => ({ head: r.head, cells: [r.operand, r.result] })),
    total: { head: name, cells: [null, value] },
    sentence: `${name} = ${formula} = ${fmt(value, 4)}`,
  };
}

/** An input: there is no arithmetic to show. */
export function given(name: string, value: number): Ledger {
  return {
    columns: ['picked by hand'],
    rows: [{ head: name, cells: [value], chosen: true }],
    sentence: `${name} = ${fmt(value, 4)}, an input of this example`,
  };
}

type Parts = Omit<ExampleTensor, 'scale' | 'label' | 'ledger' | 'input'>;

/** A tensor that C computed. */
export function computed(t: Parts & Partial<Pick<ExampleTensor, 'scale'>>, label: string | null,
  ledger: ExampleTensor['ledger']): ExampleTensor {
  return { scale: 'signed', ...t, label, ledger };
}

/** A hand-picked input; `editable` where a visitor may change it. */
export function input(t: Parts, editable = true): ExampleTensor {
  const columns = t.shape[1];
  return {
    ...t,
    scale: 'signed',
    label: null,
    ...(editable ? { input: true } : {}),
    ledger: (row, column) => (columns === undefined
      ? given(`${t.id}[${column}]`, t.data[column]!)
      : given(`${t.id}[${row},${column}]`, t.data[row * columns + column]!)),
  };
}

/** A tensor of numbers that count or name: without colour, whole in figure and ledger. */
export const counting = (t: ExampleTensor): ExampleTensor =>
  ({ ...t, scale: 'plain', ledger: (row, column) => ({ ...t.ledger(row, column), whole: true }) });

/** Whole numbers as an input, such as the ids of tokens: what they may be is said, and others are refused. */
export const wholeInput = (t: Parts & { readonly whole: Whole }): ExampleTensor => counting(input(t));

export const range = (n: number): number[] => Array.from({ length: n }, (_, k) => k);

/* ---- the ledgers of whole definitions, for examples that use them ------- */

/** linear.y: y[n,o] = b[o] + sum_i x[n,i] W[i,o]. */
export function linearLedger(y: string, x: string, w: string, b: string, X: Float64Array, W: Float64Array,
  B: Float64Array | null, Y: Float64Array, C: number, O: number): ExampleTensor['ledger'] {
  return (n, o) => products(`${y}[${n},${o}]`, `${x}[${n},i]`, `${w}[i,${o}]`,
    range(C).map((i) => ({ head: `i = ${i}`, a: X[n * C + i]!, b: W[i * O + o]! })),
    Y[n * O + o]!, B ? { head: `${b}[${o}]`, value: B[o]! } : undefined);
}

/** linear.dx: dx[n,i] = sum_o dy[n,o] W[i,o]. */
export function linearDxLedger(dx: string, dy: string, w: string, DY: Float64Array, W: Float64Array,
  DX: Float64Array, C: number, O: number): ExampleTensor['ledger'] {
  return (n, i) => products(`${dx}[${n},${i}]`, `${dy}[${n},o]`, `${w}[${i},o]`,
    range(O).map((o) => ({ head: `o = ${o}`, a: DY[n * O + o]!, b: W[i * O + o]! })), DX[n * C + i]!);
}

/** linear.dw: dW[i,o] = sum_n x[n,i] dy[n,o]. */
export function linearDwLedger(dw: string, x: string, dy: string, X: Float64Array, DY: Float64Array,
  DW: Float64Array, names: readonly string[], C: number, O: number): ExampleTensor['ledger'] {
  return (i, o) => products(`${dw}[${i},${o}]`, `${x}[n,${i}]`, `${dy}[n,${o}]`,
    names.map((head, n) => ({ head, a: X[n * C + i]!, b: DY[n * O + o]! })), DW[i * O + o]!);
}

/** linear.db: db[o] = sum_n dy[n,o]. */
export function linearDbLedger(db: string, dy: string, DY: Float64Array, DB: Float64Array,
  names: readonly string[], O: number): ExampleTensor['ledger'] {
  return (_, o) => {
    return sum(`${db}[${o}]`, `${dy}[n,${o}]`, names.map((head, n) => ({ head, value: DY[n * O + o]! })), DB[o]!);
  };
}

/** ln.y: y[n,i] = w[i] (x[n,i] - mean[n]) rstd[n] + b[i]. */
export function layernormLedger(y: string, x: string, w: string, b: string, X: Float64Array, W: Float64Array,
  B: Float64Array, mean: Float64Array, rstd: Float64Array, Y: Float64Array, C: number): ExampleTensor['ledger'] {
  return (n, i) => {
    const [xi, m, r, wi, bi] = [X[n * C + i]!, mean[n]!, rstd[n]!, W[i]!, B[i]!];
    return chain(`${y}[${n},${i}]`, [
      { head: `${x}[${n},${i}]`, operand: xi, result: xi },
      { head: `− mean[${n}]`, operand: m, result: xi - m },
      { head: `× rstd[${n}]`, operand: r, result: (xi - m) * r },
      { head: `× ${w}[${i}]`, operand: wi, result: wi * ((xi - m) * r) },
      { head: `+ ${b}[${i}]`, operand: bi, result: null },
    ], Y[n * C + i]!, `${operand(wi)} × (${fmt(xi, 4)} − ${operand(m)}) × ${operand(r)} + ${operand(bi)}`);
  };
}
