/* gap.ts -- gradients by hand against the complex step, as one tensor of an example.
 *
 * For a real function of x that C can also compute in double complex,
 * df/dx = Im f(x + ih) / h, and no difference is taken that could cancel.  With
 * h far below the round-off the result is as exact as the function itself.
 * f is the inner product of the result with the upstream gradient, so that its
 * derivative is what the backward definition returns.
 */
import type { Engine } from '../engine/types';
import type { ExampleTensor } from './types';
import { definitions, type Definitions } from './definitions';
import { full, sci } from '../components/numbers';

/** A power of two: dividing by it is exact. About 1e-100. */
const H = 2 ** -332;

export type Arrays = Readonly<Record<string, Float64Array>>;
/** f as one scalar, from arrays of scalars. */
export type Loss = (d: Definitions, x: Arrays) => Float64Array;

/** The derivative of f by every entry of inputs[name]. */
export function complexStep(engine: Engine, inputs: Arrays, name: string, loss: Loss): Float64Array {
  const d = definitions(engine, 'c128');
  const x: Record<string, Float64Array> = {};
  for (const [key, value] of Object.entries(inputs)) x[key] = d.real(value);
  const entries = inputs[name];
  const stepped = x[name];
  if (!entries || !stepped) throw new Error(`complex step: no input ${name}`);
  return entries.map((_, i) => {
    stepped[2 * i + 1] = H;
    const f = loss(d, x);
    stepped[2 * i + 1] = 0;
    return f[1]! / H;
  });
}

/** A gradient by the backward definition, and the input that it belongs to. */
export interface Gradient { readonly hand: Float64Array; readonly by: string }

export interface Checked {
  /** What the gradient is by: the column's name. */
  readonly name: string;
  /** One gradient, or several that share a column. */
  readonly of: readonly Gradient[];
  readonly loss: Loss;
}

/** How far a right gradient may be from the complex step, as a share of its largest entry: some hundred roundings. */
export const GAP_MOST = 1e-13;

interface Widest { readonly by: string; readonly entry: number; readonly hand: number; readonly complex: number; readonly gap: number; readonly n: number; readonly largest: number }

function widest(engine: Engine, inputs: Arrays, c: Checked): Widest {
  let found: Widest = { by: '', entry: 0, hand: 0, complex: 0, gap: -1, n: 0, largest: 0 };
  let n = 0, largest = 0;
  for (const { hand, by } of c.of) {
    const complex = complexStep(engine, inputs, by, c.loss);
    if (complex.length !== hand.length) throw new Error(`gap: the gradient by ${by} has ${hand.length} entries, expected ${complex.length}`);
    n += complex.length;
    complex.forEach((v, entry) => {
      const gap = Math.abs(v - hand[entry]!);
      largest = Math.max(largest, Math.abs(v));
      /* NaN is the widest, and stays */
      if (!(gap <= found.gap) && !Number.isNaN(found.gap)) found = { by, entry, hand: hand[entry]!, complex: v, gap, n: 0, largest: 0 };
    });
  }
  return { ...found, n, largest };
}

/** One column for each gradient: the largest gap of all its entries. */
export function gapTensor(engine: Engine, inputs: Arrays, checked: readonly Checked[]): ExampleTensor {
  const found = checked.map((c) => widest(engine, inputs, c));
  const names = checked.map((c) => c.name);
  return {
    id: 'gap',
    tex: '\\Delta',
    title: 'Largest gap of each gradient from its complex step',
    shape: [found.length],
    letters: '(gradients)',
    data: Float64Array.from(found, (f) => f.gap),
    most: Float64Array.from(found, (f) => GAP_MOST * f.largest),
    scale: 'signed',
    columns: names,
    columnAxis: 'gradient by',
    label: null,
    ledger: (_, column) => {
      const f = found[column]!;
      return {
        columns: [`by ${f.by}, entry ${f.entry}`],
        rows: [
          { head: 'backward, by hand', cells: [full(f.hand)] },
          { head: 'complex step', cells: [full(f.complex)] },
        ],
        total: { head: 'gap', cells: [f.gap] },
        sentence: `largest gap of the ${f.n} entries of the gradient by ${names[column]}: ${sci(f.gap)}`,
      };
    },
  };
}
