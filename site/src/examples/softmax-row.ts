/* softmax-row.ts -- one row of scores through softmax and back, for two examples:
 * the adjoint identity, and a planted fault.
 *
 * All arithmetic is the C definitions'.  A sum of products is a linear layer with
 * one row and one output; a product alone is one with one channel.
 */
import { full } from '../components/numbers';
import type { Engine } from '../engine/types';
import file from '../../content/inputs/softmax-row.json';
import type { ExampleTensor, Ledger, Scale } from './types';

export const rowInputs = file.inputs;
export type Row = Float64Array;

/** Step of the complex step, as in the C code. */
export const STEP = 1e-30;

export function rowOf(inputs: Readonly<Record<string, readonly number[] | readonly (readonly number[])[]>>, name: string): Row {
  return Float64Array.from(((inputs[name] ?? []) as readonly (number | readonly number[])[]).flat());
}

export function softmax(engine: Engine, x: Row): Row {
  const p = new Float64Array(x.length);
  engine.call('f64', 'softmax_forward', p, x, 1, x.length);
  return p;
}

/** J^T v: the backward pass written by hand, at the probabilities p. */
export function backward(engine: Engine, v: Row, p: Row): Row {
  const dx = new Float64Array(p.length);
  engine.call('f64', 'softmax_backward', dx, v, p, 1, p.length);
  return dx;
}

/** J u: imaginary parts after a step along u, divided by the step. */
export function along(engine: Engine, x: Row, u: Row): Row {
  const moved = new Float64Array(2 * x.length), out = new Float64Array(2 * x.length);
  x.forEach((value, i) => {
    moved[2 * i] = value;
    moved[2 * i + 1] = STEP * (u[i] ?? NaN);
  });
  engine.call('c128', 'softmax_forward', out, moved, 1, x.length);
  return Float64Array.from(x, (_, i) => (out[2 * i + 1] ?? NaN) / STEP);
}

/** Sum of the products of corresponding entries. */
export function inner(engine: Engine, a: Row, b: Row): number {
  const sum = new Float64Array(1);
  engine.call('f64', 'linear_forward', sum, a, b, null, 1, a.length, 1);
  return sum[0] ?? NaN;
}

/** Products of corresponding entries. */
export function products(engine: Engine, a: Row, b: Row): Row {
  return Float64Array.from(a, (value, i) => inner(engine, Float64Array.of(value), Float64Array.of(b[i] ?? NaN)));
}

/** A row as a tensor of an example. */
export function rowTensor(t: {
  id: string; tex: string; title: string; data: Row; label: string | null; ledger: (column: number) => Ledger; scale?: Scale; letters?: string; input?: boolean;
}): ExampleTensor {
  const columns = Array.from(t.data, (_, i) => String(i));
  return {
    id: t.id, tex: t.tex, title: t.title, shape: [1, t.data.length], letters: t.letters ?? '(1, V)', data: t.data, scale: t.scale ?? 'signed',
    rows: [''], columns, rowAxis: '', columnAxis: 'entry', label: t.label, input: t.input ?? false, ledger: (_, column) => t.ledger(column),
  };
}

/** The ledger of a number that was given. */
export function given(name: string, data: Row): (column: number) => Ledger {
  return (c) => ({ columns: ['given'], rows: [], total: { head: `${name}[${c}]`, cells: [data[c] ?? null] }, sentence: `${name}[${c}] = ${full(data[c] ?? NaN)}` });
}

/** The ledger of a sum of products. */
export function sumOfProducts(a: { name: string; data: Row }, b: { name: string; data: Row }, total: number, name: string): Ledger {
  return {
    columns: [a.name, b.name, ''], operators: ['', '\u00d7', '='],
    rows: Array.from(a.data, (value, i) => ({ head: String(i), cells: [value, b.data[i] ?? null, value * (b.data[i] ?? NaN)] })),
    total: { head: 'sum', cells: [null, null, total] },
    sentence: `${name} = ${full(total)}`,
  };
}

/** The ledger of softmax's backward pass at one entry. */
export function backwardLedger(p: Row, v: Row, dx: Row, mean: number, name: string): (column: number) => Ledger {
  return (c) => ({
    columns: ['p', 'given', 'p \u00d7 given'],
    rows: [
      ...Array.from(p, (value, i) => ({ head: String(i), cells: [value, v[i] ?? null, value * (v[i] ?? NaN)], chosen: i === c })),
      { head: 'sum', cells: [null, null, mean] },
    ],
    total: { head: `${name}[${c}]`, cells: [null, null, dx[c] ?? null] },
    sentence: `${name}[${c}] = ${full(p[c] ?? NaN)} \u00d7 (${full(v[c] ?? NaN)} \u2212 ${full(mean)}) = ${full(dx[c] ?? NaN)}`,
  });
}
