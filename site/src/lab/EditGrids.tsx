/* EditGrids.tsx -- the example's inputs, to be changed: each entry a field.  What is no
 * number is a message, and changes nothing; Escape takes an entry back. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { paint } from '../components/colour';
import { full, parseNumber } from '../components/numbers';
import { isVector, type Edit, type EditName } from './lab-state';

export interface EditGridsProps {
  readonly size: (name: EditName) => readonly [rows: number, columns: number];
  readonly value: (name: EditName, row: number, column: number) => number;
  readonly onEdit: (edit: Edit) => void;
  readonly edited: boolean;
  readonly onReset: () => void;
}

const GROUPS: readonly (readonly EditName[])[] = [['Xn'], ['Wq', 'bq'], ['Wk', 'bk'], ['Wv', 'bv'], ['Wo', 'bo'], ['dOut']];
/** A colour beyond this magnitude is as strong as it gets: these are inputs, their scale is the eye's. */
const STRONG = 2;

export function EditGrids(p: EditGridsProps): JSX.Element {
  const [problem, setProblem] = useState('');
  const change = (name: EditName, row: number, column: number, box: HTMLInputElement): void => {
    const number = parseNumber(box.value);
    const at = isVector(name) ? `${column}` : `${row},${column}`;
    if (number === null) {
      box.setAttribute('aria-invalid', 'true');
      setProblem(`${name}[${at}]: \u201c${box.value.slice(0, 20)}\u201d is not a number; expected one such as \u22120.25. Nothing was changed.`);
      return;
    }
    box.removeAttribute('aria-invalid');
    setProblem('');
    p.onEdit({ name, row, column, value: number });
    box.value = full(number);
  };
  const onKeyDown = (event: KeyboardEvent, old: number): void => {
    const box = event.currentTarget as HTMLInputElement;
    if (event.key !== 'Escape') return;
    event.preventDefault();
    box.value = full(old);
    box.removeAttribute('aria-invalid');
    setProblem('');
  };
  const grid = (name: EditName): JSX.Element => {
    const [rows, columns] = p.size(name);
    return (
      <>
        <h4>{name} <small>{isVector(name) ? columns : `${rows} \u00d7 ${columns}`}</small></h4>
        <div style={`grid-template-columns:repeat(${columns},47px)`}>
          {Array.from({ length: rows * columns }, (_, k) => {
            const [row, column] = [Math.floor(k / columns), k % columns];
            const x = p.value(name, row, column);
            return <input key={k} inputMode="decimal" aria-label={`${name}[${isVector(name) ? column : `${row},${column}`}]`} value={full(x)} style={paint('signed', x / STRONG)}
              data-t={name} data-i={isVector(name) ? column : `${row},${column}`}
              onChange={(e) => change(name, row, column, e.currentTarget)} onKeyDown={(e) => onKeyDown(e, x)} />;
          })}
        </div>
      </>
    );
  };
  return (
    <>
      <div class="mats">{GROUPS.map((names) => <div key={names[0]} class="mat">{names.map(grid)}</div>)}</div>
      <div class="under">
        <button type="button" class="btn" disabled={!p.edited} onClick={() => { setProblem(''); p.onReset(); }}>Back to the example{'\u2019'}s own numbers</button>
        <span role="status">{problem && <span class="bad">{problem}</span>}</span>
      </div>
    </>
  );
}
