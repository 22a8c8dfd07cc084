/* EditGrids.tsx -- an example's inputs, to be changed: each entry a field.  What is no
 * number, or is refused, is a message, and changes nothing; Escape takes an entry back.
 *
 * The lab and the view of any example have it; both load it when it is opened.
 */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { paint } from '../components/colour';
import { full, parseNumber } from '../components/numbers';

export interface EntryEdit<Name extends string> {
  readonly name: Name;
  readonly row: number;
  readonly column: number;
  readonly value: number;
}

export interface EditGridsProps<Name extends string> {
  /** Names of tensors; those of one list stand in one column. */
  readonly groups: readonly (readonly Name[])[];
  /** One row, whose entries are named by one number. */
  readonly vector: (name: Name) => boolean;
  readonly size: (name: Name) => readonly [rows: number, columns: number];
  readonly value: (name: Name, row: number, column: number) => number;
  /** What an entry must be, where not every number will do: "a whole number from 0 to 4". */
  readonly kind?: (name: Name) => string | undefined;
  /** Returns why the number is refused, if it is. */
  readonly onEdit: (edit: EntryEdit<Name>) => string | void;
  readonly edited: boolean;
  readonly onReset: () => void;
}

/** A colour beyond this magnitude is as strong as it gets: these are inputs, their scale is the eye's. */
const STRONG = 2;

interface Problem {
  /** The field: "Wq[0,1]". */
  readonly entry: string;
  /** What was typed: it stays, to be mended. */
  readonly text: string;
  readonly why: string;
}

export function EditGrids<Name extends string>(p: EditGridsProps<Name>): JSX.Element {
  const [problem, setProblem] = useState<Problem | null>(null);
  const at = (name: Name, row: number, column: number): string => (p.vector(name) ? `${column}` : `${row},${column}`);
  const change = (name: Name, row: number, column: number, box: HTMLInputElement): void => {
    const entry = `${name}[${at(name, row, column)}]`;
    const text = box.value, number = parseNumber(text);
    const why = number === null
      ? `\u201c${text.slice(0, 20)}\u201d is not a number; expected ${p.kind?.(name) ?? 'one such as \u22120.25'}.`
      : p.onEdit({ name, row, column, value: number });
    setProblem(why ? { entry, text, why } : null);
    if (!why && number !== null) box.value = full(number);
  };
  const onKeyDown = (event: KeyboardEvent, old: number): void => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    (event.currentTarget as HTMLInputElement).value = full(old);
    setProblem(null);
  };
  const grid = (name: Name): JSX.Element => {
    const [rows, columns] = p.size(name);
    const kind = p.kind?.(name);
    return (
      <>
        <h4>{name} <small>{p.vector(name) ? columns : `${rows} \u00d7 ${columns}`}{kind && `, each ${kind}`}</small></h4>
        <div style={`grid-template-columns:repeat(${columns},47px)`}>
          {Array.from({ length: rows * columns }, (_, k) => {
            const [row, column] = [Math.floor(k / columns), k % columns];
            const x = p.value(name, row, column), index = at(name, row, column), wrong = problem?.entry === `${name}[${index}]`;
            return <input key={k} inputMode="decimal" aria-label={`${name}[${index}]`} aria-invalid={wrong || undefined} value={wrong ? problem.text : full(x)}
              class={kind ? 'whole' : undefined} style={kind ? undefined : paint('signed', x / STRONG)} data-t={name} data-i={index}
              onChange={(e) => change(name, row, column, e.currentTarget)} onKeyDown={(e) => onKeyDown(e, x)} />;
          })}
        </div>
      </>
    );
  };
  return (
    <>
      <div class="mats">{p.groups.map((names) => <div key={names[0]} class="mat">{names.map(grid)}</div>)}</div>
      <div class="under">
        <button type="button" class="btn" disabled={!p.edited} onClick={() => { setProblem(null); p.onReset(); }}>Back to the example{'\u2019'}s own numbers</button>
        <span role="status">{problem && <span class="bad">{problem.entry}: {problem.why} Nothing was changed.</span>}</span>
      </div>
    </>
  );
}
