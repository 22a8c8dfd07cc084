/* LedgerTable.tsx -- the arithmetic of one cell: one operand per line, operators in
 * columns of their own, a rule above the sum, the chosen row washed. */
import type { JSX } from 'preact';
import type { Ledger, LedgerRow } from '../examples/types';
import { count, fmt } from './numbers';

export interface LedgerTableProps {
  readonly ledger: Ledger;
  readonly digits?: number;
  /** Names the table for screen readers. */
  readonly label: string;
}

function cellText(value: number | string | null, digits: number, whole: boolean): string {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  return whole && Number.isInteger(value) ? count(value) : fmt(value, digits);
}

function Line({ row, ledger, digits, kind }: { row: LedgerRow; ledger: Ledger; digits: number; kind: string }): JSX.Element {
  const operators = ledger.operators ?? [];
  if (row.masked) {
    const span = ledger.columns.reduce((n, _, k) => n + (operators[k] ? 2 : 1), 0);
    return (
      <tr class={`mk${row.chosen ? ' me' : ''}`}>
        <th class="r" scope="row">{row.head}</th>
        <td colSpan={span}><i class="hat" />masked</td>
      </tr>
    );
  }
  return (
    <tr class={kind}>
      <th class="r" scope="row">{row.head}</th>
      {ledger.columns.map((_, k) => {
        const value = row.cells[k] ?? null;
        const operator = operators[k];
        const number = <td key={`v${k}`}>{cellText(value, digits, ledger.whole ?? false)}</td>;
        return operator ? [<td key={`o${k}`} class="o">{value === null || kind.startsWith('tot') ? '' : operator}</td>, number] : number;
      })}
    </tr>
  );
}

export function LedgerTable({ ledger, digits = 4, label }: LedgerTableProps): JSX.Element {
  const operators = ledger.operators ?? [];
  return (
    <table class="led" aria-label={label}>
      <thead>
        <tr>
          <td />
          {ledger.columns.map((name, k) => {
            const head = name === '' ? <td key={`h${k}`} /> : <th key={`h${k}`} scope="col">{name}</th>;
            return operators[k] ? [<td key={`g${k}`} class="o" />, head] : head;
          })}
        </tr>
      </thead>
      <tbody>
        {ledger.rows.map((row, k) => <Line key={k} row={row} ledger={ledger} digits={digits} kind={row.chosen ? 'me' : ''} />)}
        {ledger.total && <Line row={ledger.total} ledger={ledger} digits={digits} kind="tot res" />}
      </tbody>
    </table>
  );
}
