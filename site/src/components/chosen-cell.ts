/* chosen-cell.ts -- the cell chosen in a lab, for the examples on the same page that follow it. */

export interface ChosenCell {
  /** Name of the example, as in examples/registry.ts. */
  readonly example: string;
  readonly tensor: string;
  /** Slice of a three-dimensional tensor. */
  readonly slice: number;
  readonly row: number;
  readonly column: number;
}

type Listener = (chosen: ChosenCell) => void;
const listeners = new Set<Listener>();

export function publishCell(chosen: ChosenCell): void {
  for (const listener of listeners) listener(chosen);
}

/** Returns what ends the listening. */
export function onCell(listener: Listener): () => void {
  listeners.add(listener);
  return () => { listeners.delete(listener); };
}
