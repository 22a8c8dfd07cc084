/* HeatMap.tsx -- a tensor as a figure, after Falk: the left operand stands on the
 * left, the right operand above, and the product where they meet.  The row and the
 * column that make the chosen cell are ringed.
 *
 * It is a grid with one tab stop: arrows, Home and End choose.  Cells are updated in
 * place: a row is drawn again only if its numbers or its chosen cell changed.
 * Masked cells are transparent: one hatch, drawn on the grid, is seen through them.
 */
import { Component, type ComponentChild, type JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Scale } from '../examples/types';
import { paint } from './colour';
import { gridKey } from './grid-keys';
import { useLive, useNarrow } from './narrow';
import { count, fmt, short } from './numbers';

export type Mark = 'masked' | 'will' | undefined;
export type Cell = readonly [row: number, column: number];

/** Numbers of one matrix, row-major. */
export interface Matrix {
  readonly data: ArrayLike<number>;
  readonly rows: number;
  readonly columns: number;
}
export interface Operand extends Matrix {
  readonly name: ComponentChild;
  readonly scale: Scale;
  readonly domain: number;
  readonly mark?: ((row: number, column: number) => Mark) | undefined;
}
export interface Aside {
  readonly name: string;
  readonly values: ArrayLike<number>;
}
export interface HeatMapProps extends Matrix {
  /** Accessible name of the grid. */
  readonly label: string;
  /** Tensor id and, for each cell, its index there: for whoever compares the page with the data. */
  readonly tensor: string;
  readonly index: (row: number, column: number) => string;
  readonly scale: Scale;
  readonly domain: number;
  readonly rowLabels: readonly string[];
  readonly columnLabels: readonly string[];
  readonly rowAxis: ComponentChild;
  readonly columnAxis: ComponentChild;
  readonly mark?: ((row: number, column: number) => Mark) | undefined;
  readonly chosen: Cell;
  readonly onChoose: (row: number, column: number) => void;
  /** Other keys while the grid has the focus; true when it was taken. */
  readonly onKey?: ((event: KeyboardEvent) => boolean) | undefined;
  readonly left?: Operand | undefined;
  readonly above?: Operand | undefined;
  /** Columns of their own at the right: sums of rows. */
  readonly asides?: readonly Aside[] | undefined;
}

/** Beyond this many rows or columns cells are small, and digits go first. */
export const ROOMY = 8;

interface RowProps extends Matrix {
  readonly row: number;
  readonly scale: Scale;
  readonly domain: number;
  readonly mark: ((row: number, column: number) => Mark) | undefined;
  readonly chosen: number;
  readonly digits: number;
  readonly dense: boolean;
  readonly small: boolean;
  /** The page answers: cells have names. */
  readonly live: boolean;
  readonly rowLabel: string;
  readonly columnLabels: readonly string[];
  readonly tensor: string;
  readonly index: ((row: number, column: number) => string) | null;
}

function cellText(x: number, p: RowProps, masked: boolean): string {
  if (p.scale === 'plain') return count(x);
  if (!p.dense) return fmt(x, p.digits);
  return masked ? '' : short(x, p.scale === 'weight');
}

/** The name of a cell: what it says, and the number where that is less. */
function cellName(x: number, text: string, column: number, mark: Mark, p: RowProps): string {
  const words = mark === 'masked' ? 'masked, ' : mark === 'will' ? 'behind the mask, ' : '';
  const number = p.scale === 'plain' ? text : !p.dense || text === '' ? fmt(x, p.dense ? 4 : p.digits) : p.scale === 'weight' ? `${text} per cent, ${fmt(x, 4)}` : `${text}, ${fmt(x, 4)}`;
  return `${p.rowLabel}, ${p.columnLabels[column] ?? column}: ${words}${number}`;
}

class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const p = this.props;
    return next.data !== p.data || next.chosen !== p.chosen || next.domain !== p.domain || next.scale !== p.scale
      || next.columns !== p.columns || next.digits !== p.digits || next.dense !== p.dense || next.live !== p.live || next.tensor !== p.tensor
      || next.rowLabel !== p.rowLabel || next.columnLabels !== p.columnLabels || next.mark !== p.mark || next.index !== p.index;
  }

  override render(): JSX.Element {
    const p = this.props;
    const cells: JSX.Element[] = [];
    for (let column = 0; column < p.columns; column++) {
      const x = p.data[p.row * p.columns + column] as number;
      const mark = p.mark?.(p.row, column);
      const masked = mark === 'masked';
      const text = cellText(x, p, masked);
      const kind = `cell${p.small ? ' s' : ''}${masked ? ' hat' : ''}${mark === 'will' ? ' will' : ''}`;
      const shown = masked || p.dense ? <span>{text}</span> : text;
      const ground = masked ? '' : paint(p.scale, x / p.domain);
      if (p.index === null) {
        cells.push(<div key={column} class={kind} style={`grid-area:${p.row + 1}/${column + 1};${ground}`}>{shown}</div>);
        continue;
      }
      const on = column === p.chosen;
      cells.push(
        <div key={column} class={kind} style={ground || undefined} role="gridcell" tabIndex={on ? 0 : p.live ? -1 : undefined} aria-selected={on || undefined}
          data-t={p.tensor} data-i={p.index(p.row, column)} aria-label={p.live ? cellName(x, text, column, mark, p) : undefined}>{shown}</div>,
      );
    }
    return p.index === null ? <>{cells}</> : <div role="row">{cells}</div>;
  }
}

/** A place in the grid; what spans one row and one column needs no more said. */
const area = (row: number, column: number, rows = 1, columns = 1): string =>
  `grid-area:${row}/${column}${rows > 1 || columns > 1 ? `/span ${rows}` : ''}${columns > 1 ? `/span ${columns}` : ''}`;

interface OperandProps { readonly operand: Operand; readonly place: string; readonly kind: string; readonly ring: string; readonly digits: number }

/** An operand is shown, not walked: its numbers stand in the ledger, which is read out. */
function OperandGrid({ operand, place, kind, ring, digits }: OperandProps): JSX.Element {
  const rows: JSX.Element[] = [];
  for (let row = 0; row < operand.rows; row++) {
    rows.push(<Row key={row} row={row} data={operand.data} rows={operand.rows} columns={operand.columns} scale={operand.scale}
      domain={operand.domain} mark={operand.mark} chosen={-1} digits={digits} dense={false} small live={false} rowLabel="" columnLabels={NONE} tensor="" index={null} />);
  }
  return <div class={`op ${kind}`} aria-hidden="true" style={place}>{rows}<div class="ring" style={ring} /></div>;
}
const NONE: readonly string[] = [];

/* One height for the figure, whatever stands above: cells are taller where nothing does. */
function heights(above: number): readonly [operand: number, cell: number] {
  if (above > 4) return [22, 33];
  if (above > 2) return [27, 36];
  return above ? [32, 44] : [0, 54];
}

/** Puts the focus where the choice went, if the focus was in the grid. */
function useFocusOn(chosen: Cell): { readonly current: HTMLDivElement | null } {
  const grid = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const root = grid.current;
    if (!root || !root.contains(document.activeElement)) return;
    root.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  }, [chosen[0], chosen[1]]);
  return grid;
}

/** The cell an event happened on: its place among its row's cells, and the row's among the rows. */
export function eventCell(event: Event): Cell | null {
  const cell = event.target instanceof Element ? event.target.closest('[role=gridcell]') : null;
  const row = cell?.parentElement;
  if (!cell || !row?.parentElement) return null;
  return [Array.prototype.indexOf.call(row.parentElement.children, row), Array.prototype.indexOf.call(row.children, cell)];
}

export function HeatMap(p: HeatMapProps): JSX.Element {
  const narrow = useNarrow();
  const live = useLive();
  const grid = useFocusOn(p.chosen);
  const dense = p.rows > ROOMY || p.columns > ROOMY;
  const digits = narrow ? 2 : 3;
  const bare = narrow || dense;            /* operands and sums then stand in the ledger */
  const left = bare ? undefined : p.left;
  const above = bare ? undefined : p.above;
  const asides = bare ? [] : (p.asides ?? []);
  const nLeft = left?.columns ?? 0;
  const nAbove = above?.rows ?? 0;
  const [operandHeight, cellHeight] = heights(nAbove);
  const column0 = 3 + (nLeft ? nLeft + 1 : 0);
  const row0 = 3 + (nAbove ? nAbove + 1 : 0);
  const columns = ['auto', 'auto', ...(nLeft ? [`repeat(${nLeft},var(--cws))`, '10px'] : []),
    dense ? `repeat(${p.columns},minmax(0,34px))` : `repeat(${p.columns},var(--cw))`, ...asides.map(() => 'auto')].join(' ');
  const rows = ['auto', 'auto', ...(nAbove ? [`repeat(${nAbove},${operandHeight}px)`, '10px'] : []),
    dense ? `repeat(${p.rows},${p.rows > 20 ? 18 : 22}px)` : `repeat(${p.rows},min(var(--chmax,99px),${cellHeight}px))`].join(' ');
  const [row, column] = p.chosen;

  const onClick = (event: MouseEvent): void => {
    const cell = eventCell(event);
    if (!cell) return;
    p.onChoose(cell[0], cell[1]);
    if (event.target instanceof Element) event.target.closest<HTMLElement>('[role=gridcell]')?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const cell = eventCell(event);
    if (!cell) return;
    const next = gridKey(event, cell[0], cell[1], p.rows, p.columns);
    if (next) p.onChoose(next[0], next[1]);
    if (next || p.onKey?.(event)) event.preventDefault();
  };

  const body: JSX.Element[] = [];
  for (let r = 0; r < p.rows; r++) {
    body.push(<Row key={r} row={r} data={p.data} rows={p.rows} columns={p.columns} scale={p.scale} domain={p.domain} mark={p.mark}
      chosen={r === row ? column : -1} digits={digits} dense={dense} small={false} live={live} rowLabel={p.rowLabels[r] ?? String(r)}
      columnLabels={p.columnLabels} tensor={p.tensor} index={p.index} />);
  }
  const sub = 'grid-template-columns:subgrid;grid-template-rows:subgrid';
  return (
    <div class={`fig${dense ? ' dense' : ''}`} style={`grid-template-columns:${columns};grid-template-rows:${rows}`}>
      <div class="ax x" style={area(1, column0, 1, p.columns)}>{p.columnAxis}</div>
      <div class="ax y" style={area(row0, 1, p.rows)}>{p.rowAxis}</div>
      {Array.from({ length: p.columns }, (_, c) => (
        <div key={`t${c}`} class={`tt${c === column ? ' on' : ''}`} style={area(2, column0 + c)}><span>{p.columnLabels[c] ?? c}</span></div>))}
      {Array.from({ length: p.rows }, (_, r) => (
        <div key={`l${r}`} class={`tl${r === row ? ' on' : ''}`} style={area(row0 + r, 2)}><span>{p.rowLabels[r] ?? r}</span></div>))}
      {left && <OperandGrid operand={left} digits={digits} kind="lop" place={`${area(row0, 3, p.rows, nLeft)};${sub}`} ring={area(row + 1, 1, 1, nLeft)} />}
      {left && <div class={`opn lop${above ? ' both' : ''}`} style={area(row0 - 1, 3, 1, nLeft)}>{left.name}</div>}
      {above && <OperandGrid operand={above} digits={digits} kind="topop" place={`${area(3, column0, nAbove, p.columns)};${sub}`} ring={area(1, column + 1, nAbove)} />}
      {above && <div class="opn topop" style={area(3, nLeft ? column0 - 1 - Math.min(nLeft, 2) : 2, nAbove, nLeft ? Math.min(nLeft, 2) : 1)}>{above.name}</div>}
      <div class="grid" role="grid" ref={grid} aria-label={p.label} aria-rowcount={p.rows} aria-colcount={p.columns} onClick={onClick} onKeyDown={onKeyDown}
        style={`${area(row0, column0, p.rows, p.columns)};${sub}`}>{body}</div>
      {asides.map((a, k) => [
        <div key={`h${k}`} class="tt auxh" style={area(row0 - 1, column0 + p.columns + k)}>{a.name}</div>,
        ...Array.from({ length: p.rows }, (_, r) => (
          <div key={`a${k},${r}`} class={`aux${r === row ? ' on' : ''}`} style={area(row0 + r, column0 + p.columns + k)}>{fmt(a.values[r] as number, 3)}</div>)),
      ])}
    </div>
  );
}
