/* EditInputs.tsx -- the hand-picked inputs of a tiny example, to be changed.
 *
 * Each change runs the example's C code again, all of it; what it refuses is a
 * message and changes nothing.  Loaded when a visitor opens it.
 */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import type { Engine } from '../engine/types';
import { examples } from '../examples/registry';
import type { Example, ExampleTensor, Whole } from '../examples/types';
import { EditGrids } from '../lab/EditGrids';
import { full } from './numbers';

export type Inputs = Example['inputs'];

/** The inputs with one number of one of them replaced, counted through its rows. */
export function withEntry(inputs: Inputs, name: string, entry: number, value: number): Inputs {
  let at = 0;
  const replaced = (x: number | readonly number[]): number | readonly number[] => (typeof x === 'number' ? (at++ === entry ? value : x) : x.map((y) => (at++ === entry ? value : y)));
  return { ...inputs, [name]: (inputs[name] as readonly (number | readonly number[])[]).map(replaced) as readonly number[] };
}

/** What each number must be, in words. */
export function kindOf(whole: Whole): string {
  const least = whole.least < 0 ? `${full(whole.least)} (ignored) or ` : '';
  return `${least}a whole number from ${Math.max(0, whole.least)} to ${whole.most}: the ${whole.what}`;
}

/** Why a number is refused; null if it is not. */
export function refusal(tensor: ExampleTensor, value: number): string | null {
  const { whole } = tensor;
  if (!whole || (Number.isInteger(value) && value >= whole.least && value <= whole.most)) return null;
  return `${full(value)} is refused; expected ${kindOf(whole)}.`;
}

const sizeOf = (t: ExampleTensor): readonly [rows: number, columns: number] =>
  [t.shape.length > 1 ? (t.shape[0] as number) : 1, t.shape[t.shape.length - 1] as number];

export interface EditInputsProps {
  readonly use: string;
  readonly engine: Engine;
  /** The example as it is drawn now, with the changes. */
  readonly tensors: readonly ExampleTensor[];
  /** null: the example's own numbers again. */
  readonly onTensors: (tensors: readonly ExampleTensor[] | null) => void;
}

export function EditInputs({ use, engine, tensors, onTensors }: EditInputsProps): JSX.Element | null {
  const [example, setExample] = useState<Example | null>(null);
  const [inputs, setInputs] = useState<Inputs | null>(null);
  useEffect(() => { void examples[use]?.().then((m) => setExample(m.example)); }, [use]);
  const byName = useMemo(() => new Map(tensors.filter((t) => t.input).map((t) => [t.id, t])), [tensors]);
  if (!example) return null;
  const tensor = (name: string): ExampleTensor => byName.get(name) as ExampleTensor;
  const edit = (e: { name: string; row: number; column: number; value: number }): string | void => {
    const t = tensor(e.name), refused = refusal(t, e.value);
    if (refused !== null) return refused;
    const next = withEntry(inputs ?? example.inputs, t.from ?? t.id, e.row * sizeOf(t)[1] + e.column, e.value);
    try {
      onTensors(example.run(engine, next));
      setInputs(next);
    } catch (error) {
      return `${full(e.value)} is refused: ${error instanceof Error ? error.message : String(error)}.`;
    }
  };
  return (
    <EditGrids groups={[...byName.keys()].map((name) => [name])} vector={(name) => tensor(name).shape.length === 1} size={(name) => sizeOf(tensor(name))}
      value={(name, row, column) => tensor(name).data[row * sizeOf(tensor(name))[1] + column] as number}
      kind={(name) => { const { whole } = tensor(name); return whole && kindOf(whole); }}
      onEdit={edit} edited={inputs !== null} onReset={() => { setInputs(null); onTensors(null); }} />
  );
}
