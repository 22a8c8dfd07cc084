/* numbers.ts -- how a number is written on a page: one module, so that every page does it alike.
 *
 * Minus is U+2212.  A small number is never shown as 0 (3e-18 is), zero is "0".
 */
export const MINUS = '\u2212';
export const INFINITY_SIGN = '\u221e';

const minus = (text: string): string => text.replace(/-/g, MINUS);

/** The root of ten, to more digits than a double holds. */
const ROOT = '3.16227766016837933199889';

/**
 * 10^-k for whole and half k from 0: read from its digits, which every engine does alike.
 * 10 ** -k may differ in the last bit from one engine to the next, and a difference by such a step with it.
 */
export function stepOf(k: number): number {
  return Number(Number.isInteger(k) ? `1e-${k}` : `${ROOT}e-${k + 0.5}`);
}

/** Scientific: "3e-18", with `digits` after the point. */
export function sci(x: number, digits = 1): string {
  if (x === 0) return '0';
  if (!Number.isFinite(x)) return fmt(x);
  const [mantissa = '', exponent = '0'] = x.toExponential(digits).split('e');
  return minus(mantissa) + 'e' + minus(exponent.replace('+', ''));
}

/** Half of the last digit's place, by the number of digits. */
const HALF: readonly number[] = [0.5, 0.05, 0.005, 5e-4, 5e-5, 5e-6, 5e-7, 5e-8, 5e-9, 5e-10];

/** Fixed, with `digits` after the point; what would be drawn as 0 without being 0 is scientific. */
export function fmt(x: number, digits = 3): string {
  if (Number.isNaN(x)) return 'NaN';
  if (!Number.isFinite(x)) return (x < 0 ? MINUS : '') + INFINITY_SIGN;
  if (x === 0) return '0';
  if (Math.abs(x) < (HALF[digits] ?? 0)) return sci(x, 0);
  if (Math.abs(x) >= 1e6) return sci(x, digits);
  return minus(x.toFixed(digits));
}

/** A number that counts or names: whole ones without a point. */
export function count(x: number): string {
  return Number.isInteger(x) && Math.abs(x) < 1e6 ? minus(String(x)) : fmt(x);
}

/** The shortest text that reads back as the same double. */
export function full(x: number): string {
  if (Number.isNaN(x)) return 'NaN';
  if (!Number.isFinite(x)) return (x < 0 ? MINUS : '') + INFINITY_SIGN;
  return Object.is(x, -0) ? MINUS + '0' : minus(String(x));
}

/** The 64 bits of a double, hexadecimal, most significant first. */
export function bits(x: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const word = (at: number): string => view.getUint32(at).toString(16).padStart(8, '0');
  return '0x' + (word(0) + word(4)).toUpperCase();
}

/** Reads what a visitor typed; null where it is not a finite number. A comma may be the decimal mark. */
export function parseNumber(text: string): number | null {
  const plain = text.trim().replace(/[\u2212\u2013]/g, '-').replace(',', '.');
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain)) return null;
  const x = Number(plain);
  return Number.isFinite(x) ? x : null;
}

/** In a cell too small for decimals: weights as whole per cent from 10 up, other numbers with one decimal; else nothing. */
export function short(x: number, weight: boolean): string {
  if (weight) return x >= 0.095 ? String(Math.round(100 * x)) : '';
  return Number.isFinite(x) && Math.abs(x) >= 0.05 && Math.abs(x) < 99 ? fmt(x, 1) : '';
}
