/* tiny-model.ts -- the whole model on six words, for the overview: one block, one run, forward and backward.
 *
 * Its parameters are the hand-picked inputs of the other examples, rounded to
 * float as a checkpoint's are: embeddings, LayerNorms of the block, attention,
 * feed-forward.  The last LayerNorm is the block's second one, and the head is
 * tied to the token embeddings.  Everything else is computed by the C code.
 */
import type { Engine, Model, Sizes, Tensors } from '../../engine/types';
import block from '../../../content/inputs/block.json';
import embedding from '../../../content/inputs/embedding.json';
import feedforward from '../../../content/inputs/feedforward.json';
import { attentionHeads, attentionNumbers, attentionTokens } from '../../examples/attention-inputs';

type Rows = readonly (readonly number[])[];

/** Wq, Wk, Wv side by side, as the fused matrix of the checkpoint has them. */
function sideBySide(...matrices: readonly Rows[]): number[] {
  return (matrices[0] ?? []).flatMap((_, r) => matrices.flatMap((m) => [...(m[r] ?? [])]));
}

const rows = (name: 'Wq' | 'Wk' | 'Wv' | 'Wo'): Rows => attentionNumbers[name] as Rows;
const row = (name: 'bq' | 'bk' | 'bv' | 'bo'): readonly number[] => attentionNumbers[name] as readonly number[];

/** By the names of model.safetensors. */
const parameters: Readonly<Record<string, readonly number[]>> = {
  'transformer.wte.weight': embedding.wte.flat(),
  'transformer.wpe.weight': embedding.wpe.flat(),
  'transformer.h.0.ln_1.weight': block.ln1w,
  'transformer.h.0.ln_1.bias': block.ln1b,
  'transformer.h.0.attn.c_attn.weight': sideBySide(rows('Wq'), rows('Wk'), rows('Wv')),
  'transformer.h.0.attn.c_attn.bias': [...row('bq'), ...row('bk'), ...row('bv')],
  'transformer.h.0.attn.c_proj.weight': rows('Wo').flat(),
  'transformer.h.0.attn.c_proj.bias': row('bo'),
  'transformer.h.0.ln_2.weight': block.ln2w,
  'transformer.h.0.ln_2.bias': block.ln2b,
  'transformer.h.0.mlp.c_fc.weight': feedforward.Wfc.flat(),
  'transformer.h.0.mlp.c_fc.bias': feedforward.bfc,
  'transformer.h.0.mlp.c_proj.weight': feedforward.Wproj.flat(),
  'transformer.h.0.mlp.c_proj.bias': feedforward.bproj,
  'transformer.ln_f.weight': block.ln2w,
  'transformer.ln_f.bias': block.ln2b,
};

export interface TinyRun {
  readonly tensors: Tensors;
  readonly sizes: Sizes;
  /** The six words, and the word of each id. */
  readonly tokens: readonly string[];
  readonly words: readonly string[];
  /** Probabilities of what comes next, one row of V for each position. */
  readonly next: readonly Float64Array[];
}

const sizes: Sizes = {
  L: 1, C: embedding.wte[0]?.length ?? 0, NH: attentionHeads, FF: feedforward.bfc.length, T: embedding.wpe.length, V: embedding.wte.length, tied: true,
};

/** The word of each id. */
export const tinyWords: readonly string[] = Array.from({ length: sizes.V }, (_, id) => attentionTokens[embedding.tokens.indexOf(id)] ?? String(id));

/** The model; whoever opens it closes it. */
export function openTinyModel(engine: Engine): Model {
  return engine.openModel(sizes, (file) => {
    const numbers = parameters[file];
    if (!numbers) throw new Error(`the overview's model has no "${file}"`);
    return Float32Array.from(numbers);
  });
}

export function runTinyModel(engine: Engine): TinyRun {
  const ids = Int32Array.from(embedding.tokens);
  const targets = Int32Array.from([...embedding.tokens.slice(1), -1]);
  const model = openTinyModel(engine);
  try {
    const tensors = model.run(ids, targets);
    const logits = tensors.get('logits');
    if (!logits) throw new Error('the run gave no "logits"');
    const next = embedding.tokens.map((_, t) => model.next(logits.data.slice(t * sizes.V, (t + 1) * sizes.V), { temperature: 1, topK: 0, topP: 1 }).plain);
    return { tensors, sizes, tokens: attentionTokens, words: tinyWords, next };
  } finally {
    model.close();
  }
}
