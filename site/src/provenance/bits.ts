/* bits.ts -- does this page compute the native program's bits?
 *
 * The window of the manifest is run here, in double, forward and backward; the sha256 over
 * all its tensors is compared with the one that the native program wrote, and the
 * manifest's checks are computed again from the tensors of this run.
 */
import type { Model, Tensors } from '../engine/types';
import type { Manifest } from './manifest';
import { tensorsHash, type Verdict } from './verify';

export interface Check {
  readonly name: string;
  readonly words: string;
  readonly native: number | string | null;
  readonly page: number | string;
}
export interface Bits {
  readonly verdict: Verdict;
  readonly native: string;
  readonly page: string | null;
  readonly count: number;
  readonly loss: { readonly native: number; readonly page: number };
  readonly checks: readonly Check[];
}

interface Laws {
  gap: number;
  masked: number;
  nonzero: number;
  dbk: number;
}

/** What holds in every window: rows of weights sum to 1, masked weights are 0, the keys' bias has no gradient. */
function laws(tensors: Tensors, m: Manifest['model']): Laws {
  const found: Laws = { gap: 0, masked: 0, nonzero: 0, dbk: 0 };
  for (let l = 0; l < m.layers; l++) {
    const att = tensors.get(`h.${l}.att`);
    const bias = tensors.get(`grad.h.${l}.qkvb`);
    if (!att || !bias) continue;
    const T = att.shape[2] as number;
    for (let row = 0; row < att.data.length / T; row++) {
      let sum = 0;
      for (let j = 0; j < T; j++) {
        const a = att.data[row * T + j] as number;
        sum += a;
        if (j > row % T) { found.masked++; if (a !== 0) found.nonzero++; }
      }
      found.gap = Math.max(found.gap, Math.abs(sum - 1));
    }
    for (const d of bias.data.subarray(m.channels, 2 * m.channels)) found.dbk = Math.max(found.dbk, Math.abs(d));
  }
  return found;
}

/** Every shape follows from the sizes of the model and the length of the window: the attention's are looked at here. */
function shapesOk(tensors: Tensors, manifest: Manifest): boolean {
  const { heads, channels, vocabulary, layers } = manifest.model, T = manifest.tokens.length;
  const is = (name: string, ...shape: number[]): boolean => {
    const t = tensors.get(name);
    return t !== undefined && t.shape.join() === shape.join() && t.data.length === shape.reduce((n, s) => n * s, 1);
  };
  const ok = Array.from({ length: layers }, (_, l) => is(`h.${l}.q`, T, channels) && is(`h.${l}.att`, heads, T, T) && is(`h.${l}.res2`, T, channels));
  return ok.every(Boolean) && is('logits', T, vocabulary) && manifest.tensors.names.length === manifest.tensors.count
    && manifest.tensors.names.every((name) => tensors.has(name));
}

/** Runs the exported window in this page. */
export async function compareBits(model: Model, manifest: Manifest): Promise<Bits> {
  const ids = Int32Array.from(manifest.tokens), targets = Int32Array.from(manifest.targets);
  const tensors = model.run(ids, targets);
  const page = await tensorsHash(tensors, manifest.tensors.names);
  const found = laws(tensors, manifest.model), { checks } = manifest;
  const row = (name: string, words: string, value: number | string): Check => ({ name, words, native: checks[name] ?? null, page: value });
  return {
    verdict: page === null ? 'cannot' : page === manifest.tensors.sha256 ? 'match' : 'mismatch',
    native: manifest.tensors.sha256, page, count: manifest.tensors.count,
    loss: { native: manifest.loss, page: model.loss(ids, targets) },
    checks: [
      row('shapes', 'shapes of all tensors', shapesOk(tensors, manifest) ? 'ok' : 'wrong'),
      row('row_sum_gap', 'rows of attention weights: largest gap of the sum from 1', found.gap),
      row('masked_cells', 'weights behind the mask', found.masked),
      row('masked_nonzero', 'of these, not exactly 0', found.nonzero),
      row('largest_dbk', 'largest gradient of the keys\u2019 bias, 0 by algebra', found.dbk),
    ],
  };
}
