/* attention-inputs.ts -- the hand-picked inputs of the illustrative example, as the engine takes them.
 *
 * Six words, one attention layer with two heads.  They are data:
 * content/inputs/attention.json.  Whoever lets a visitor edit them keeps a copy.
 */
import type { AttentionInputs, AttentionParameter } from '../engine/types';
import file from '../../content/inputs/attention.json';

/** One row of numbers, or several. */
export type Numbers = readonly number[] | readonly (readonly number[])[];
export type AttentionNumbers = Readonly<Record<AttentionParameter | 'dOut', Numbers>>;

export const attentionTokens: readonly string[] = file.tokens;
export const attentionHeads: number = file.heads;
export const attentionNumbers: AttentionNumbers = file.inputs;

const flat = (numbers: Numbers): Float64Array => Float64Array.from((numbers as readonly (number | readonly number[])[]).flat());

/** The numbers as arrays: sizes are those of Xn. */
export function toAttentionInputs(numbers: AttentionNumbers = attentionNumbers, heads: number = attentionHeads): AttentionInputs {
  const Xn = flat(numbers.Xn), C = flat(numbers.bq).length;
  return {
    T: Xn.length / C, C, H: heads, Xn,
    Wq: flat(numbers.Wq), bq: flat(numbers.bq), Wk: flat(numbers.Wk), bk: flat(numbers.bk),
    Wv: flat(numbers.Wv), bv: flat(numbers.bv), Wo: flat(numbers.Wo), bo: flat(numbers.bo), dOut: flat(numbers.dOut),
  };
}

/** The same inputs with one entry of one tensor moved. */
export function moved(inputs: AttentionInputs, name: AttentionParameter, entry: number, by: number): AttentionInputs {
  const copy = inputs[name].slice();
  copy[entry] = (copy[entry] ?? NaN) + by;
  return { ...inputs, [name]: copy };
}
