/* golden.mjs -- the illustrative example as the golden file has it, by the names that the pages use.
 *
 * In the file heads stand first and are tensors of their own; in the code they lie side by side in a row.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './servers.mjs';

const file = JSON.parse(readFileSync(join(root, 'tests/golden/attention_example.json'), 'utf8'));

/** @typedef {number | string | any[]} Nested */
/** @param {Nested} x @returns {Nested} */
const numbers = (x) => (Array.isArray(x) ? x.map(numbers) : x === '-inf' ? -Infinity : x);

/** (H, T, d_h) to (T, d): column h d_h + i. @param {number[][][]} heads */
const merge = (heads) => (heads[0] ?? []).map((_, t) => heads.flatMap((head) => head[t] ?? []));

/** @type {Map<string, any>} */
export const golden = new Map();
const { inputs, forward, backward } = file;
for (const [name, from] of Object.entries({
  Xn: inputs.Xn, dOut: inputs.dOut, Q: forward.Q, K: forward.K, V: forward.V, scores: forward.QKt, scaled: forward.S_scaled, masked: forward.S_masked,
  A: forward.A, O: forward.O, out: forward.out, dA: backward.dA, dS: backward.dS, dXn: backward.dXn,
  dO: merge(backward.dOh), dV: merge(backward.dVh), dQ: merge(backward.dQh), dK: merge(backward.dKh),
})) golden.set(name, numbers(from));
for (const of of ['q', 'k', 'v', 'o']) {
  golden.set(`W${of}`, inputs[`w${of}`]);
  golden.set(`b${of}`, inputs[`b${of}`]);
  golden.set(`dW${of}`, backward[`dw${of}`]);
  golden.set(`db${of}`, backward[`db${of}`]);
}

export const tokens = /** @type {string[]} */ (file.tokens);
export const sizes = { T: /** @type {number} */ (file.T), d: /** @type {number} */ (file.d), H: /** @type {number} */ (file.H) };

/** @param {string} tensor @param {string} index "1,0,3" @returns {number | undefined} */
export function at(tensor, index) {
  const x = index.split(',').reduce((/** @type {any} */ part, k) => part?.[Number(k)], golden.get(tensor));
  return typeof x === 'number' ? x : undefined;
}
