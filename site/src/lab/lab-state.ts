/* lab-state.ts -- the whole state of the lab, and what a choice does to it.
 *
 * One cell drives everything.  It is kept as positions i (reads) and j (is read) and a
 * channel x of the layer's width; each step's figure shows two of the three, so the
 * choice survives a change of step.
 */
import type { AttentionParameter } from '../engine/types';
import type { StepFigure, Projection, Step } from './steps';

export type EditName = AttentionParameter | 'dOut';
export const PARAMETERS: readonly AttentionParameter[] = ['Wq', 'bq', 'Wk', 'bk', 'Wv', 'bv', 'Wo', 'bo', 'Xn'];
export const EDITABLE: readonly EditName[] = ['Xn', 'Wq', 'bq', 'Wk', 'bk', 'Wv', 'bv', 'Wo', 'bo', 'dOut'];
export const isVector = (name: EditName): boolean => name.startsWith('b');

export interface Edit {
  readonly name: EditName;
  readonly row: number;
  readonly column: number;
  readonly value: number;
}
export interface LabState {
  readonly src: 'example' | 'model';
  /** The visitor's own text; null: the exported window. Only with the model. */
  readonly text: string | null;
  readonly layer: number;
  readonly head: number;
  readonly i: number;
  readonly j: number;
  readonly x: number;
  readonly step: Step;
  readonly projection: Projection;
  readonly view: 'map' | 'table';
  readonly parameter: AttentionParameter;
  readonly row: number;
  readonly column: number;
  /** The step of the differences is 10^-h; halves are allowed. */
  readonly h: number;
  readonly edits: readonly Edit[];
}

export const START: LabState = {
  src: 'example', text: null, layer: 0, head: 0, i: 3, j: 1, x: 0, step: 'softmax', projection: 'Q', view: 'map',
  parameter: 'Wq', row: 1, column: 0, h: 5, edits: [],
};
export const H_MOST = 16;

/** Sizes that bound the state: of the example, or of the loaded model and its window. */
export interface Bounds {
  readonly L: number;
  readonly H: number;
  readonly T: number;
  readonly C: number;
}

const clamp = (x: number, n: number): number => Math.min(n - 1, Math.max(0, x));

/** Rows and columns of a parameter. */
export function parameterSize(name: EditName, b: Bounds): readonly [rows: number, columns: number] {
  if (isVector(name)) return [1, b.C];
  return name === 'Xn' || name === 'dOut' ? [b.T, b.C] : [b.C, b.C];
}

function within(e: Edit, b: Bounds): boolean {
  const [rows, columns] = parameterSize(e.name, b);
  return e.row < rows && e.column < columns;
}

/* The same array where nothing changes: the example is run again only for other numbers. */
function kept(s: LabState, b: Bounds): readonly Edit[] {
  if (s.src !== 'example') return START.edits;
  return s.edits.every((e) => within(e, b)) ? s.edits : s.edits.filter((e) => within(e, b));
}

/** The state within the bounds; a channel belongs to the chosen head. */
export function settle(s: LabState, b: Bounds): LabState {
  const HS = b.C / b.H;
  const head = clamp(s.head, b.H);
  const parameter = s.src === 'model' && s.parameter === 'Xn' ? 'Wq' : s.parameter;
  const [rows, columns] = parameterSize(parameter, b);
  return {
    ...s, head, parameter, layer: clamp(s.layer, b.L), i: clamp(s.i, b.T), j: clamp(s.j, b.T),
    x: s.step === 'output' || s.step === 'dOut' || s.step === 'dX' ? clamp(s.x, b.C) : head * HS + (clamp(s.x, b.C) % HS),
    row: clamp(s.row, rows), column: clamp(s.column, columns),
    edits: kept(s, b),
  };
}

/** What of a state lies outside the bounds: settle() moves it to the nearest. */
export function outside(s: LabState, b: Bounds): string[] {
  const parameter = s.src === 'model' && s.parameter === 'Xn' ? 'Wq' : s.parameter;
  const [rows, columns] = parameterSize(parameter, b);
  const checks: readonly (readonly [string, number, number])[] = [
    ['layer', s.layer, b.L], ['head', s.head, b.H], ['token', s.i, b.T], ['key', s.j, b.T], ['channel', s.x, b.C], ['param row', s.row, rows], ['param column', s.column, columns]];
  const edits = s.src === 'example' ? s.edits.filter((e) => !within(e, b)).map((e) => `edit of ${e.name}`) : [];
  return [...checks.filter(([, x, n]) => x >= n).map(([name, x]) => `${name} ${x}`), ...edits];
}

type Axes = Pick<StepFigure, 'rowAxis' | 'columnAxis' | 'firstChannel' | 'columns'>;

/** The chosen cell of a figure. */
export function cellOf(s: LabState, f: Axes): readonly [row: number, column: number] {
  return [f.rowAxis === 'read' ? s.j : s.i, f.columnAxis === 'read' ? s.j : clamp(s.x - f.firstChannel, f.columns)];
}

/** What choosing a cell of a figure changes. */
export function chooseCell(s: LabState, f: Axes, row: number, column: number): LabState {
  const position = f.rowAxis === 'read' ? { j: row } : { i: row };
  return { ...s, ...position, ...(f.columnAxis === 'read' ? { j: column } : { x: f.firstChannel + column }) };
}

/** A token reads: it can be chosen with what it reads, which is never behind it. */
export const chooseToken = (s: LabState, i: number): LabState => ({ ...s, i, j: Math.min(s.j, i) });

export function setEdit(s: LabState, edit: Edit, original: number): LabState {
  const others = s.edits.filter((e) => !(e.name === edit.name && e.row === edit.row && e.column === edit.column));
  return { ...s, edits: edit.value === original ? others : [...others, edit] };
}
