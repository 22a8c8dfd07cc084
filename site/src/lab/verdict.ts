/* verdict.ts -- does what was computed hold?  The bars that the lab judges by.
 *
 * The backward pass and the complex step round differently, so that they may differ in
 * the last digits: by a share of the parameter's largest derivative, or, where terms
 * cancel, of those terms.  The derivative by the bias of the keys is zero in theory:
 * nothing but rounding is left of it, and only its terms say how much that may be.
 * A number that is none (NaN) never holds.
 */
import type { AttentionParameter } from '../engine/types';
import { rowOf, sum, type AttentionLayer, type LayerTensor } from '../examples/attention-layer';

/** From 1 to the next double. */
const EPS = 2 ** -52;
/** Share of the largest derivative: far above rounding, far below any fault. */
const SHARE = 1e-12;
/** Roundings of the terms, as many as follow each other. */
const ROUNDINGS = 8 * EPS;

export interface Judged {
  readonly holds: boolean;
  /** What was found, and what it may be at most. */
  readonly found: number;
  readonly most: number;
}

/** Infinite bars come from numbers that overflowed: nothing is proven by them. */
function judge(found: number, most: number): Judged {
  return { holds: found <= most && most < Infinity, found, most };
}

/** The largest magnitude; NaN where an entry is no number. */
export function largestOf(data: ArrayLike<number>): number {
  let most = 0;
  for (let k = 0; k < data.length; k++) {
    const size = Math.abs(data[k] as number);
    if (!(size <= most)) most = size;
    if (Number.isNaN(most)) return NaN;
  }
  return most;
}

/**
 * How large the terms may be, together, of which an entry of the gradient by a parameter
 * is the sum.  Weights of a row sum to one, so that the sums over what is read add nothing:
 * the magnitudes in a row of dS are together at most twice the largest of dA.
 */
export function termsOf(layer: AttentionLayer, parameter: AttentionParameter): number {
  const { T, C } = layer, size = (name: LayerTensor): number => largestOf(layer.tensor(name));
  const scores = (2 * size('dA')) / Math.sqrt(layer.HS);
  const query = (): number => scores * size('K'), key = (): number => T * scores * size('Q'), value = (): number => T * size('dO');
  switch (parameter) {
    case 'Wq': return T * size('Xn') * query();
    case 'bq': return T * query();
    case 'Wk': return size('Xn') * key();
    case 'bk': return key();
    case 'Wv': return size('Xn') * value();
    case 'bv': return value();
    case 'Wo': return T * size('O') * size('dOut');
    case 'bo': return T * size('dOut');
    case 'Xn': return C * (query() * size('Wq') + key() * size('Wk') + value() * size('Wv'));
  }
}

/** The derivative by hand against the complex step; `gradient` is all of that parameter's. */
export function judgeDerivative(hand: number, complex: number, gradient: ArrayLike<number>, terms: number): Judged {
  return judge(Math.abs(hand - complex), Math.max(SHARE * largestOf(gradient), ROUNDINGS * terms));
}

export interface Invariants {
  /** Largest distance of a row's sum from 1. */
  readonly rows: Judged;
  /** How many masked weights there are, and how many of them are exactly 0. */
  readonly masked: number;
  readonly zero: number;
  readonly maskHolds: boolean;
  /** Largest magnitude in the gradient by the bias of the keys. */
  readonly dbk: Judged;
}

/** What must hold of every attention layer. */
export function invariantsOf(layer: AttentionLayer): Invariants {
  const a = layer.tensor('A'), { T } = layer, gaps: number[] = [];
  let masked = 0, zero = 0;
  for (let row = 0; row < layer.H * T; row++) {
    const all = rowOf(a, T, row);
    gaps.push(sum(layer.engine, all) - 1);
    all.forEach((x, j) => { if (j > row % T) { masked++; zero += x === 0 ? 1 : 0; } });
  }
  return {
    rows: judge(largestOf(gaps), T * EPS),       /* T additions of numbers below 1 */
    masked, zero, maskHolds: zero === masked,
    dbk: judge(largestOf(layer.tensor('dbk')), ROUNDINGS * termsOf(layer, 'bk')),
  };
}
