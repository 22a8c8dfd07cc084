/* attention.mjs -- attention of the illustrative example once more, forward and back to the gradient on the scores,
 * written from the equations: what an edited number must lead to. */
import { golden, sizes } from './golden.mjs';

/** @typedef {number[][]} M */
/** @param {M} a @param {M} b @returns {M} */
const times = (a, b) => a.map((row) => (b[0] ?? []).map((_, j) => row.reduce((s, x, k) => s + x * (b[k]?.[j] ?? NaN), 0)));
/** @param {M} a @returns {M} */
const transposed = (a) => (a[0] ?? []).map((_, j) => a.map((row) => row[j] ?? NaN));
/** @param {M} a @param {number} h @returns {M} */
const head = (a, h) => a.map((row) => row.slice(h * sizes.d / sizes.H, (h + 1) * sizes.d / sizes.H));

/**
 * @param {Readonly<Record<string, readonly [row: number, column: number, value: number][]>>} edits
 * @returns {{ A: M[], dS: M[] }} by head
 */
export function attention(edits) {
  /** @param {string} name @returns {M} */
  const input = (name) => {
    const copy = /** @type {M} */ (structuredClone(golden.get(name)));
    for (const [row, column, value] of edits[name] ?? []) /** @type {number[]} */ (copy[row])[column] = value;
    return copy;
  };
  /** @param {string} of @returns {M} */
  const projected = (of) => times(input('Xn'), input(`W${of}`)).map((row) => row.map((x, j) => x + golden.get(`b${of}`)[j]));
  const [Q, K, V, dO] = [projected('q'), projected('k'), projected('v'), times(golden.get('dOut'), transposed(input('Wo')))];
  const heads = Array.from({ length: sizes.H }, (_, h) => {
    const S = times(head(Q, h), transposed(head(K, h))).map((row) => row.map((x) => x / Math.sqrt(sizes.d / sizes.H)));
    const A = S.map((row, i) => {
      const most = Math.max(...row.slice(0, i + 1));
      const e = row.map((x, j) => (j <= i ? Math.exp(x - most) : 0));
      const sum = e.reduce((s, x) => s + x, 0);
      return e.map((x) => x / sum);
    });
    const dA = times(head(dO, h), transposed(head(V, h)));
    const dS = A.map((row, i) => {
      const mean = row.reduce((s, x, j) => s + x * (dA[i]?.[j] ?? NaN), 0);
      return row.map((x, j) => x * ((dA[i]?.[j] ?? NaN) - mean));
    });
    return { A, dS };
  });
  return { A: heads.map((x) => x.A), dS: heads.map((x) => x.dS) };
}
