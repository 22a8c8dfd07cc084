/* algebra.ts -- the mathematics of the model once more, for tests: plain rows of
 * numbers, whole matrices at a time, JavaScript's own exp and log.
 *
 * It shares no text with the C code or with the examples.  Gradients are taken by
 * central differences with five points: nobody's backward pass is asked.
 */
export type Matrix = number[][];
export type Values = Record<string, Matrix>;

export const matrix = (x: readonly number[] | readonly (readonly number[])[]): Matrix =>
  (typeof x[0] === 'number' ? [[...(x as readonly number[])]] : (x as readonly (readonly number[])[]).map((r) => [...r]));
export const columns = (m: Matrix): Matrix => (m[0] ?? []).map((_, j) => m.map((r) => r[j]!));
const inner = (a: readonly number[], b: readonly number[]): number => a.reduce((s, v, i) => s + v * b[i]!, 0);
export const times = (a: Matrix, b: Matrix): Matrix => a.map((r) => columns(b).map((c) => inner(r, c)));
/** A single row is added to every row. */
export const plus = (a: Matrix, b: Matrix): Matrix => a.map((r, i) => r.map((v, j) => v + (b.length === 1 ? b[0]![j]! : b[i]![j]!)));
export const each = (a: Matrix, f: (v: number) => number): Matrix => a.map((r) => r.map(f));
const average = (r: readonly number[]): number => inner(r, r.map(() => 1)) / r.length;

export const affine = (x: Matrix, w: Matrix, b: Matrix): Matrix => plus(times(x, w), b);

export const mean = (x: Matrix): number[] => x.map(average);
/** The textbook's other formula: mean of the squares less square of the mean. */
export const variance = (x: Matrix): number[] => x.map((r) => average(r.map((v) => v * v)) - average(r) ** 2);
export const EPS = 1e-5;

export function norm(x: Matrix, w: Matrix, b: Matrix): Matrix {
  const m = mean(x), v = variance(x);
  return x.map((r, n) => r.map((c, i) => (w[0]![i]! * (c - m[n]!)) / Math.sqrt(v[n]! + EPS) + b[0]![i]!));
}

/** (1 + tanh z) / 2 = 1 / (1 + exp(-2 z)). */
export const gelu = (x: Matrix): Matrix =>
  each(x, (v) => v / (1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3))));

/** Without taking the largest off: fine for small numbers. */
export const softmax = (x: Matrix): Matrix => x.map((r) => {
  const e = r.map(Math.exp);
  return e.map((v) => v / inner(e, e.map(() => 1)));
});

export function attention(q: Matrix, k: Matrix, v: Matrix, heads: number): Matrix {
  const hs = q[0]!.length / heads;
  return q.map((_, t) => Array.from({ length: heads }, (_unused, h) => {
    const part = (m: Matrix): Matrix => m.slice(0, t + 1).map((r) => r.slice(h * hs, (h + 1) * hs));
    const scores = each(times([part(q)[t]!], columns(part(k))), (s) => s / Math.sqrt(hs));
    return times(softmax(scores), part(v))[0]!;
  }).flat());
}

/** The sum of all products of entries: a scalar whose derivative by a is b. */
export const pairing = (a: Matrix, b: Matrix): number => a.reduce((s, r, i) => s + inner(r, b[i]!), 0);

/** The derivative of f by every entry of x[name]. */
export function derivative(f: (x: Values) => number, x: Values, name: string): Matrix {
  const h = 1e-3;
  return x[name]!.map((row, i) => row.map((_, j) => {
    const moved = (by: number): number => f({ ...x, [name]: x[name]!.map((r, k) => r.map((v, l) => (k === i && l === j ? v + by : v))) });
    return (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
  }));
}
