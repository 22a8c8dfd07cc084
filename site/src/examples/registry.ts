/* registry.ts -- every tiny numerical example by its name.
 *
 * A content file says `example: {use: NAME, ...}`.  The import is lazy, so a
 * page loads the examples that it shows and no others.
 */
import type { Example } from './types';

export const examples: Readonly<Record<string, () => Promise<{ readonly example: Example }>>> = {
  adamw: () => import('./adamw'),
  adjoint: () => import('./adjoint'),
  anymask: () => import('./anymask'),
  attention: () => import('./attention'),
  batches: () => import('./batches'),
  block: () => import('./block'),
  cache: () => import('./cache'),
  clipping: () => import('./clipping'),
  codelab: () => import('./codelab'),
  differences: () => import('./differences'),
  elementary: () => import('./elementary'),
  embedding: () => import('./embedding'),
  feedforward: () => import('./feedforward'),
  generation: () => import('./generation'),
  layernorm: () => import('./layernorm'),
  loss: () => import('./loss'),
  mutation: () => import('./mutation'),
  sampling: () => import('./sampling'),
  schedule: () => import('./schedule'),
  tokenizer: () => import('./tokenizer'),
};
