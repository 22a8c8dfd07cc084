/* model-run.ts -- a model's numbers on a text: its exported window, as the native program
 * computed it, or the visitor's own text, run here in double. */
import { visible } from '../components/Tokens';
import type { Tensors } from '../engine/types';
import type { VerifiedModel } from '../provenance/verify';
import type { ModelRun } from './model-layer';

export interface OwnRun {
  readonly ids: Int32Array;
  readonly targets: Int32Array;
  readonly tensors: Tensors;
  /** Tokens of the text that did not fit the window. */
  readonly left: number;
}
export interface Chosen {
  readonly run: ModelRun;
  readonly ids: Int32Array;
  readonly targets: Int32Array;
  readonly left: number;
  readonly own: boolean;
}

/** Positions that the model was trained on: later ones would show untrained numbers. */
function windowLength(v: VerifiedModel): number {
  const seq = v.manifest.settings.seq;
  return Math.min(v.sizes.T, typeof seq === 'number' && seq >= 1 ? seq : v.sizes.T);
}

/** Runs a text: as many tokens as the model has trained positions, each one's target the next. */
export function runText(v: VerifiedModel, text: string): OwnRun | null {
  const all = v.tokenizer.encode(text);
  if (all.length === 0) return null;
  const length = Math.min(all.length, windowLength(v));
  const ids = all.slice(0, length);
  const targets = Int32Array.from(ids, (_, k) => all[k + 1] ?? -1);
  return { ids, targets, tensors: v.model.run(ids, targets), left: all.length - length };
}

/** The run that is shown: the exported window, or the text. */
export function chooseRun(v: VerifiedModel, text: string | null): Chosen | { readonly problem: string } {
  try {
    const mine = text === null ? null : runText(v, text);
    if (text !== null && mine === null) return { problem: 'The text has no tokens. Type at least one character.' };
    const ids = mine?.ids ?? Int32Array.from(v.manifest.tokens);
    return {
      ids, targets: mine?.targets ?? Int32Array.from(v.manifest.targets), left: mine?.left ?? 0, own: mine !== null,
      run: {
        tensors: mine?.tensors ?? v.window, parameter: v.parameter, C: v.sizes.C, H: v.sizes.NH, L: v.sizes.L, T: ids.length,
        tokens: Array.from(ids, (id) => visible(v.tokenizer.bytes(id))),
      },
    };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}
