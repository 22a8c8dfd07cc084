/* digits.mjs -- numbers as pages write them, read back and compared to the digits shown.
 *
 * It knows nothing of the module that writes them (components/numbers.ts).
 */

/**
 * @param {string} text "−0.697", "3e−18", "−∞", "0"
 * @returns {{ value: number, half: number } | null} the number, and half a unit of its last digit
 */
export function read(text) {
  const plain = text.trim().replace(/\u2212/g, '-');
  if (plain === '\u221e' || plain === '-\u221e') return { value: plain.startsWith('-') ? -Infinity : Infinity, half: 0 };
  const match = /^-?\d+(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(plain);
  if (!match) return null;
  const unit = 10 ** (Number(match[2] ?? 0) - (match[1] ?? '').length);
  // "0" alone claims exactly zero.
  return { value: Number(plain), half: /^-?0$/.test(plain) ? 0 : unit / 2 };
}

/** What the library's two orders of summing may differ by. */
const ROUND_OFF = 1e-15;

/**
 * Does the text show this number? Digits of a number that is nothing but round-off are not compared, but its size is.
 * @param {string} text @param {number} expected
 */
export function shows(text, expected) {
  const found = read(text);
  if (found === null) return false;
  if (!Number.isFinite(expected)) return found.value === expected;
  return Math.abs(found.value - expected) <= found.half * (1 + 1e-9) + ROUND_OFF * Math.max(1, Math.abs(expected));
}
