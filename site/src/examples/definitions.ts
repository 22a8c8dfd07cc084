/* definitions.ts -- the C definitions, called with arrays made for their results.
 *
 * The same text runs a computation in double and in double complex: the second
 * is what the complex step needs.  Nothing here calculates: every number that
 * comes back was written by C.  A complex array is twice as long, real and
 * imaginary part by turns.
 *
 * Backward definitions add into their results.  Each call here starts them at 0,
 * except where an argument `into` says what is added to.
 */
import type { Engine } from '../engine/types';

export type Scalar = 'f64' | 'c128';

export interface Definitions {
  readonly zeros: (n: number) => Float64Array;
  /** Real numbers as scalars. */
  readonly real: (x: Float64Array) => Float64Array;
  readonly embedding: (tokens: Int32Array, wte: Float64Array, wpe: Float64Array, T: number, C: number) => Float64Array;
  readonly linear: (x: Float64Array, w: Float64Array, b: Float64Array | null, N: number, C: number, O: number) => Float64Array;
  readonly layernorm: (x: Float64Array, w: Float64Array, b: Float64Array, N: number, C: number) =>
    { y: Float64Array; mean: Float64Array; rstd: Float64Array };
  readonly gelu: (x: Float64Array) => Float64Array;
  readonly residual: (a: Float64Array, b: Float64Array) => Float64Array;
  readonly softmax: (x: Float64Array, N: number, V: number) => Float64Array;
  readonly attention: (q: Float64Array, k: Float64Array, v: Float64Array, T: number, H: number, HS: number) =>
    { out: Float64Array; att: Float64Array };
  readonly crossentropy: (logits: Float64Array, target: Int32Array, N: number, V: number) =>
    { loss: Float64Array; lse: Float64Array };
  /** sum_i a[i] b[i], by linear_forward with one row and one column. */
  readonly dot: (a: Float64Array, b: Float64Array) => Float64Array;
}

/** Calls of one scalar.  One batch row, no positions before the first. */
export function definitions(engine: Engine, scalar: Scalar): Definitions {
  const width = scalar === 'c128' ? 2 : 1;
  const zeros = (n: number) => new Float64Array(n * width);
  const count = (x: Float64Array) => x.length / width;
  const call = (name: string, ...args: Parameters<Engine['call']>[2][]) => engine.call(scalar, name, ...args);

  const linear: Definitions['linear'] = (x, w, b, N, C, O) => {
    const y = zeros(N * O);
    call('linear_forward', y, x, w, b, N, C, O);
    return y;
  };
  return {
    zeros,
    real: (x) => {
      const z = zeros(x.length);
      x.forEach((v, i) => { z[i * width] = v; });
      return z;
    },
    embedding: (tokens, wte, wpe, T, C) => {
      const x = zeros(T * C);
      call('embedding_forward', x, tokens, wte, wpe, 1, T, 0, C);
      return x;
    },
    linear,
    layernorm: (x, w, b, N, C) => {
      const y = zeros(N * C), mean = zeros(N), rstd = zeros(N);
      call('layernorm_forward', y, mean, rstd, x, w, b, N, C);
      return { y, mean, rstd };
    },
    gelu: (x) => {
      const y = zeros(count(x));
      call('gelu_forward', y, x, count(x));
      return y;
    },
    residual: (a, b) => {
      const y = zeros(count(a));
      call('residual_forward', y, a, b, count(a));
      return y;
    },
    softmax: (x, N, V) => {
      const p = zeros(N * V);
      call('softmax_forward', p, x, N, V);
      return p;
    },
    attention: (q, k, v, T, H, HS) => {
      const out = zeros(T * H * HS), att = zeros(H * T * T), stage = () => zeros(H * T * T);
      call('attention_forward', out, stage(), stage(), stage(), att, q, k, v, 1, T, 0, H, HS);
      return { out, att };
    },
    crossentropy: (logits, target, N, V) => {
      const loss = zeros(N), lse = zeros(N);
      call('crossentropy_forward', loss, lse, logits, target, 1, N, V);
      return { loss, lse };
    },
    dot: (a, b) => linear(a, b, null, 1, count(a), 1),
  };
}

/** Backward definitions, in double.  What they add into is given, or starts at 0. */
export function linearBackward(engine: Engine, dy: Float64Array, x: Float64Array, w: Float64Array,
  N: number, C: number, O: number) {
  const dx = new Float64Array(N * C), dw = new Float64Array(C * O), db = new Float64Array(O);
  engine.call('f64', 'linear_backward', dx, dw, db, dy, x, w, N, C, O);
  return { dx, dw, db };
}

export function geluBackward(engine: Engine, dy: Float64Array, x: Float64Array) {
  const dx = new Float64Array(x.length);
  engine.call('f64', 'gelu_backward', dx, dy, x, x.length);
  return dx;
}

export function layernormBackward(engine: Engine, dy: Float64Array, x: Float64Array, w: Float64Array,
  mean: Float64Array, rstd: Float64Array, N: number, C: number, into?: Float64Array) {
  const dx = into ? into.slice() : new Float64Array(N * C);
  const dw = new Float64Array(C), db = new Float64Array(C);
  engine.call('f64', 'layernorm_backward', dx, dw, db, dy, x, w, mean, rstd, N, C);
  return { dx, dw, db };
}

export function residualBackward(engine: Engine, dy: Float64Array) {
  const da = new Float64Array(dy.length), db = new Float64Array(dy.length);
  engine.call('f64', 'residual_backward', da, db, dy, dy.length);
  return { da, db };
}

export function attentionBackward(engine: Engine, dout: Float64Array, att: Float64Array, q: Float64Array,
  k: Float64Array, v: Float64Array, T: number, H: number, HS: number) {
  const dq = new Float64Array(q.length), dk = new Float64Array(k.length), dv = new Float64Array(v.length);
  engine.call('f64', 'attention_backward', dq, dk, dv, new Float64Array(att.length),
    new Float64Array(att.length), dout, att, q, k, v, 1, T, 0, H, HS);
  return { dq, dk, dv };
}

/** An input of content/inputs as the flat array that C reads. */
export function flat(x: readonly number[] | readonly (readonly number[])[] | undefined, name: string): Float64Array {
  if (x === undefined) throw new Error(`example input ${name}: missing, expected numbers`);
  return Float64Array.from((x as readonly (number | readonly number[])[]).flat() as number[]);
}
