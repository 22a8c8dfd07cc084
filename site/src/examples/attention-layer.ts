/* attention-layer.ts -- one attention layer with every tensor, whoever computed it: the
 * illustrative example, or one layer of a trained model.  Both have the names of
 * src/lab/attention_example.def, so that figures and ledgers are written once.
 */
import type { Engine } from '../engine/types';

export type LayerTensor =
  | 'Xn' | 'Wq' | 'bq' | 'Wk' | 'bk' | 'Wv' | 'bv' | 'Wo' | 'bo' | 'dOut'
  | 'Q' | 'K' | 'V' | 'scores' | 'scaled' | 'masked' | 'A' | 'O' | 'out'
  | 'dWo' | 'dbo' | 'dO' | 'dA' | 'dS' | 'dQ' | 'dK' | 'dV'
  | 'dWq' | 'dbq' | 'dWk' | 'dbk' | 'dWv' | 'dbv' | 'dXq' | 'dXk' | 'dXv' | 'dXn';

export interface AttentionLayer {
  readonly source: 'example' | 'model';
  readonly T: number;
  readonly C: number;
  readonly H: number;
  /** Channels of a head: C / H. */
  readonly HS: number;
  /** Visible text of each position. */
  readonly tokens: readonly string[];
  readonly engine: Engine;
  /** Row-major; (T, C), (C, C), (C) or (H, T, T). */
  readonly tensor: (name: LayerTensor) => Float64Array;
}

/**
 * sum_k a[k] b[k] by the library's own linear layer, in its order: for the sums that
 * the kernels form on the way and do not keep.
 */
export function dot(engine: Engine, a: ArrayLike<number>, b: ArrayLike<number>): number {
  const out = new Float64Array(1);
  engine.call('f64', 'linear_forward', out, Float64Array.from(a), Float64Array.from(b), null, 1, a.length, 1);
  return out[0] as number;
}

export function sum(engine: Engine, a: ArrayLike<number>): number {
  return dot(engine, a, new Float64Array(a.length).fill(1));
}

/** Row `row` of a matrix of `columns` columns, from `from`, `count` long. */
export function rowOf(m: Float64Array, columns: number, row: number, from = 0, count = columns): Float64Array {
  return m.subarray(row * columns + from, row * columns + from + count);
}

export function columnOf(m: Float64Array, columns: number, column: number, count = m.length / columns): Float64Array {
  return Float64Array.from({ length: count }, (_, k) => m[k * columns + column] as number);
}

/** Columns `from` to `from + count` of a matrix. */
export function columnsOf(m: Float64Array, columns: number, from: number, count: number): Float64Array {
  const rows = m.length / columns;
  const out = new Float64Array(rows * count);
  for (let r = 0; r < rows; r++) out.set(m.subarray(r * columns + from, r * columns + from + count), r * count);
  return out;
}

export function transpose(m: Float64Array, columns: number): Float64Array {
  const rows = m.length / columns;
  const out = new Float64Array(m.length);
  for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) out[c * rows + r] = m[r * columns + c] as number;
  return out;
}
