/* types.ts -- what a tiny numerical example is, for the one component that shows all of them.
 *
 * An example runs the C code on hand-picked inputs and names the tensors that came out.
 * For any cell it can write out the arithmetic with its operands: a ledger.
 */
import type { Source } from '../components/content';
import type { Engine } from '../engine/types';

/** One line of a ledger: cells of one row, left to right; numbers are drawn with the page's format. */
export interface LedgerRow {
  /** What the row is about: a token, an index. */
  readonly head: string;
  readonly cells: readonly (number | string | null)[];
  /** The row belongs to the chosen operand. */
  readonly chosen?: boolean;
  /** Shown hatched with the word "masked". */
  readonly masked?: boolean;
}
export interface Ledger {
  /** Heads of the columns after the first. */
  readonly columns: readonly string[];
  /** Operators drawn in a column of their own before each cell ("x", "+", "=", ""). */
  readonly operators?: readonly string[];
  readonly rows: readonly LedgerRow[];
  /** Whole numbers are written without a point: the ledger counts, or names ids. */
  readonly whole?: boolean;
  /** Below the rule: the sum, in the same columns. */
  readonly total?: LedgerRow;
  /** The equation with the numbers plugged in, as LaTeX-free text: "0.2854 = 0.5859 / 2.0527". */
  readonly sentence: string;
}

/** Weights from 0 to 1; numbers about zero; and numbers that count or name (ids, bytes), which have no colour. */
export type Scale = 'weight' | 'signed' | 'plain';

export interface Whole {
  readonly least: number;
  readonly most: number;
  /** What they are: "the id of a token". */
  readonly what: string;
}

export interface ExampleTensor {
  /** Identifier used by content files and the address: "A", "dX". */
  readonly id: string;
  /** The symbol, as LaTeX; typeset at build. */
  readonly tex: string;
  readonly title: string;
  /** 1 or 2 dimensions are drawn; more are drawn for one slice (`slices`). */
  readonly shape: readonly number[];
  /** Shape in the letters of the code: "(T, C)". */
  readonly letters: string;
  readonly data: Float64Array;
  /** Of gaps that must be rounding: what each may be at most, for the inputs of the page. Above it no site is built. */
  readonly most?: Float64Array;
  readonly scale: Scale;
  /** Labels of rows and columns; default: indices. */
  readonly rows?: readonly string[];
  readonly columns?: readonly string[];
  readonly rowAxis?: string;
  readonly columnAxis?: string;
  readonly masked?: (row: number, column: number) => boolean;
  /** True for inputs that a visitor may edit. */
  readonly input?: boolean;
  /** Its name in the example's inputs, where that is not the id. */
  readonly from?: string;
  /** Of an input that must be whole numbers, such as token ids: what each may be. */
  readonly whole?: Whole;
  /** The label of the equation that computes it; null for an input. */
  readonly label: string | null;
  readonly ledger: (row: number, column: number) => Ledger;
}

export interface Example {
  readonly id: string;
  /** Where its numbers come from; default: example. */
  readonly source?: Source;
  /** Said on the frame beside the source: the seed of what was drawn. */
  readonly note?: string;
  /** Inputs by name, hand-picked: content/inputs/ID.json; a visitor's edits replace numbers. */
  readonly inputs: Readonly<Record<string, readonly number[] | readonly (readonly number[])[]>>;
  /** True where it calls single definitions only (components/island.ts). */
  readonly core?: boolean;
  /** Runs the C code. */
  readonly run: (engine: Engine, inputs: Example['inputs']) => readonly ExampleTensor[];
}
