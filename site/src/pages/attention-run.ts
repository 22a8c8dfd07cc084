/* attention-run.ts -- the illustrative example, run once for the blocks of the Attention page. */
import type { AttentionInputs, AttentionParameter, Engine, Tensor, Tensors } from '../engine/types';
import { toAttentionInputs } from '../examples/attention-inputs';

export interface AttentionRun {
  readonly inputs: AttentionInputs;
  readonly tensors: Tensors;
}

export function runAttention(engine: Engine): AttentionRun {
  const inputs = toAttentionInputs();
  return { inputs, tensors: engine.attention(inputs) };
}

/** A tensor by its name; the engine makes all of them. */
export function need(tensors: Tensors, name: string): Tensor {
  const t = tensors.get(name);
  if (!t) throw new Error(`attention: no tensor "${name}"`);
  return t;
}

/** Everything that has a gradient, with the way its name is written, and the label of the gradient's equation. */
export const differentiable: readonly { readonly name: AttentionParameter; readonly tex: string; readonly label: string; readonly what: string }[] = [
  { name: 'Wo', tex: 'W_o', label: 'attn.dwo', what: 'output weights' },
  { name: 'bo', tex: 'b_o', label: 'attn.dbo', what: 'output bias' },
  { name: 'Wq', tex: 'W_q', label: 'attn.dwq', what: 'query weights' },
  { name: 'bq', tex: 'b_q', label: 'attn.dbq', what: 'query bias' },
  { name: 'Wk', tex: 'W_k', label: 'attn.dwk', what: 'key weights' },
  { name: 'bk', tex: 'b_k', label: 'attn.dbk', what: 'key bias' },
  { name: 'Wv', tex: 'W_v', label: 'attn.dwv', what: 'value weights' },
  { name: 'bv', tex: 'b_v', label: 'attn.dbv', what: 'value bias' },
  { name: 'Xn', tex: 'X_n', label: 'attn.dxn', what: 'input' },
];

/** The size of the largest entry; NaN where one is NaN. */
export function largest(data: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < data.length; i++) {
    const size = Math.abs(data[i] as number);
    if (Number.isNaN(size)) return NaN;
    if (size > most) most = size;
  }
  return most;
}
