/* use-model.ts -- the lab's model, loaded when it is asked for, and verified file by file.
 *
 * Nothing of a model whose files differ from its manifest reaches a page.
 */
import { useEffect, useState } from 'preact/hooks';
import type { Engine } from '../engine/types';
import type { VerifiedModel } from '../provenance/verify';

export type ModelState =
  | { readonly status: 'idle' }
  | { readonly status: 'loading' }
  | { readonly status: 'error'; readonly message: string; readonly mismatch: boolean }
  | { readonly status: 'ready'; readonly verified: VerifiedModel; readonly parts: typeof import('./ModelParts') };

const words = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The model and the parts that show one: neither travels before it is wanted. */
async function load(engine: Engine): Promise<ModelState> {
  const [parts, { loadVerified, MismatchError }] = await Promise.all([import('./ModelParts'), import('../provenance/verify')]);
  try {
    return { status: 'ready', verified: await loadVerified('data/lab/', engine), parts };
  } catch (error) {
    return { status: 'error', mismatch: error instanceof MismatchError, message: words(error) };
  }
}

/** Loads data/lab once, from when `wanted` is first true. */
export function useModel(engine: Engine, wanted: boolean): ModelState {
  const [state, setState] = useState<ModelState>({ status: 'idle' });
  useEffect(() => {
    if (!wanted || state.status !== 'idle') return;
    setState({ status: 'loading' });
    load(engine).then(setState, (error: unknown) => setState({ status: 'error', mismatch: false, message: words(error) }));
  }, [wanted, state.status]);
  return state;
}
