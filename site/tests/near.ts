/* near.ts -- comparisons of arrays, written so that NaN fails. */
import { expect } from 'vitest';

export type Nested = number | string | Nested[];

/** The numbers of nested arrays of a golden file, in order; -inf is a string there. */
export function flat(x: Nested): number[] {
  return Array.isArray(x) ? x.flatMap(flat) : [x === '-inf' ? -Infinity : Number(x)];
}

/** Fails unless every pair differs by `bound` at most; returns how many there were. */
export function near(ours: ArrayLike<number>, theirs: ArrayLike<number>, bound: number, what: string): number {
  expect(ours.length, what).toBe(theirs.length);
  for (let i = 0; i < ours.length; i++) {
    const close = ours[i] === theirs[i] || Math.abs(ours[i]! - theirs[i]!) <= bound;
    if (!close) expect.fail(`${what}[${i}]: ${ours[i]}, expected ${theirs[i]} within ${bound}`);
  }
  return ours.length;
}
