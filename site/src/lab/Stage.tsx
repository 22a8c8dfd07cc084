/* Stage.tsx -- the step: its figure or table, its legend, and the arithmetic of the
 * chosen cell: equation first, then the operands, then the value with its 64 bits. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { HeatMap, type Mark, type Operand } from '../components/HeatMap';
import { themeNow } from '../components/shown-theme';
import { LedgerTable } from '../components/LedgerTable';
import { Legend } from '../components/Legend';
import { bits, fmt, full } from '../components/numbers';
import { Segment } from '../components/Segment';
import { Tex } from '../components/Tex';
import type { AttentionLayer } from '../examples/attention-layer';
import { LEDGERS } from '../examples/attention-ledgers';
import { TENSORS } from '../examples/attention-tensors';
import type { Format } from './formats';
import { cellOf, type LabState } from './lab-state';
import { equationOf, FACTS, FORWARD, labelOf, STEPS, type FigureOperand, type Step, type StepFigure } from './steps';
import type { Picture } from './svg';

export interface StageProps {
  readonly layer: AttentionLayer;
  readonly figure: StepFigure;
  readonly state: LabState;
  readonly sourceWords: string;
  readonly hrefOf: (label: string) => string | null;
  readonly onChoose: (row: number, column: number) => void;
  readonly onStep: (step: Step) => void;
  readonly onKey: (event: KeyboardEvent) => boolean;
  readonly onState: (change: Partial<LabState>) => void;
  readonly say: (text: string) => void;
}

export const READS = 'reads from';
export const IS_READ = 'is read';

const operand = (o: FigureOperand | undefined): Operand | undefined => o && { ...o, name: <Tex tex={o.tex} /> };
const counted = (n: number, first: number): string[] => Array.from({ length: n }, (_, k) => String(first + k));

/** Labels and props of a figure that do not change with the chosen cell. */
function useFigure(layer: AttentionLayer, f: StepFigure, head: number): {
  readonly columns: readonly string[]; readonly left: Operand | undefined; readonly above: Operand | undefined; readonly index: (r: number, c: number) => string;
} {
  return useMemo(() => ({
    columns: f.columnAxis === 'read' ? layer.tokens : counted(f.columns, f.firstChannel),
    left: operand(f.left), above: operand(f.above),
    index: (r: number, c: number) => (f.columnAxis === 'read' ? `${head},${r},${c}` : `${r},${f.firstChannel + c}`),
  }), [layer, f, head]);
}

function rowAxis(f: StepFigure): JSX.Element {
  return f.rowAxis === 'reads' ? <><b>{READS}</b>{' \u00b7 queries, i'}</> : <><b>{IS_READ}</b>{' \u00b7 keys, j'}</>;
}
function columnAxis(f: StepFigure): JSX.Element {
  return f.columnAxis === 'read' ? <><b>{IS_READ}</b>{' \u2192 keys, j'}</> : <>channel</>;
}

function NumberTable({ figure: f, rows, columns, cell, onChoose, label }: {
  figure: StepFigure; rows: readonly string[]; columns: readonly string[]; cell: readonly [number, number]; label: string;
  onChoose: (row: number, column: number) => void;
}): JSX.Element {
  return (
    <table class="led" aria-label={label}>
      <thead><tr><td />{Array.from({ length: f.columns }, (_, c) => <th key={c} scope="col">{columns[c]}</th>)}</tr></thead>
      <tbody>
        {Array.from({ length: f.rows }, (_, r) => (
          <tr key={r}>
            <th class="r" scope="row">{rows[r]}</th>
            {Array.from({ length: f.columns }, (__, c) => {
              const x = f.data[r * f.columns + c] as number;
              const on = r === cell[0] && c === cell[1];
              const text = fmt(x, 5);
              return (
                <td key={c} class={on ? 'pk' : undefined} onClick={() => onChoose(r, c)}>
                  {f.mark?.(r, c) === 'masked' ? <span class="hat">{text}<span class="vh"> masked</span></span> : text}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type SaveAs = Format | 'svg' | 'png';
const SAVE: readonly (readonly [SaveAs, string])[] = [['csv', 'CSV'], ['json', 'JSON'], ['numpy', 'NumPy'], ['c', 'C'], ['svg', 'SVG picture'], ['png', 'PNG picture']];
const ENDING: Record<SaveAs, string> = { csv: 'csv', json: 'json', numpy: 'py', c: 'c', svg: 'svg', png: 'png' };

function Export({ p, picture }: { p: StageProps; picture: () => Picture }): JSX.Element {
  const [as, setAs] = useState<SaveAs>('csv');
  const f = p.figure;
  const name = `${f.tensor}${f.firstChannel === 0 && f.columns === p.layer.C ? '' : `_head${p.state.head}`}`;
  /* The writers travel when one is wanted. */
  const text = async (): Promise<string> => {
    if (as === 'svg' || as === 'png') return (await import('./svg')).toSvg(picture(), themeNow()).text;
    return (await import('./formats')).write({ name, rows: f.rows, columns: f.columns, data: f.data, source: p.sourceWords }, as);
  };
  const refused = (error: unknown): void => p.say(`${error instanceof Error ? error.message : String(error)}; use Save.`);
  const copy = (): void => {
    if (!navigator.clipboard) { p.say('This browser gives no clipboard here; use Save.'); return; }
    text().then((t) => navigator.clipboard.writeText(t)).then(() => p.say(`Copied ${name}.`), refused);
  };
  const save = async (): Promise<void> => {
    const { download, toPng, toSvg } = await import('./svg');
    const file = `${name}.${ENDING[as]}`;
    download(as === 'png' ? await toPng(toSvg(picture(), themeNow())) : new Blob([await text()], { type: as === 'svg' ? 'image/svg+xml' : 'text/plain' }), file);
  };
  return (
    <span class="stepper push">
      <select class="btn" aria-label="This tensor as" value={as} onChange={(e) => setAs(e.currentTarget.value as SaveAs)}>
        {SAVE.map(([value, words]) => <option key={value} value={value}>{words}</option>)}
      </select>
      <button type="button" class="btn" disabled={as === 'png'} onClick={copy}>Copy</button>
      <button type="button" class="btn" onClick={() => { save().catch((error: unknown) => p.say(String(error))); }}>Save</button>
    </span>
  );
}

/** All steps as one list: where the track wraps. */
function StepList({ step, onStep }: { step: Step; onStep: (step: Step) => void }): JSX.Element {
  const option = (s: Step): JSX.Element => <option key={s} value={s} selected={s === step}>{FACTS[s].name}</option>;
  return (
    <select class="btn steplist" aria-label="Step" value={step} onChange={(e) => onStep(e.currentTarget.value as Step)}>
      <optgroup label="Forward">{STEPS.slice(0, FORWARD).map(option)}</optgroup>
      <optgroup label="Backward">{STEPS.slice(FORWARD).map(option)}</optgroup>
    </select>
  );
}

function Who({ layer, figure: f, cell }: { layer: AttentionLayer; figure: StepFigure; cell: readonly [number, number] }): JSX.Element {
  const row = layer.tokens[cell[0]] ?? '';
  if (f.columnAxis === 'channel') return <span class="who"><b>{row}</b>, channel {f.firstChannel + cell[1]}</span>;
  if (cell[0] === cell[1]) return <span class="who"><b>{row}</b> reads itself</span>;
  return <span class="who"><b>{row}</b> {cell[1] > cell[0] ? 'may not read' : 'reads'} <b>{layer.tokens[cell[1]]}</b></span>;
}

function keys(f: StepFigure): { masked?: string; will?: string } {
  const kinds = new Set<Mark>();
  if (f.mark) for (let r = 0; r < f.rows; r++) for (let c = 0; c < f.columns; c++) kinds.add(f.mark(r, c));
  return {
    masked: kinds.has('masked') ? (f.tensor === 'masked' ? 'masked' : 'masked, exactly 0') : undefined,
    will: kinds.has('will') ? (f.tensor === 'dA' ? 'masked: not passed on' : 'will be masked') : undefined,
  };
}

export function Stage(p: StageProps): JSX.Element {
  const { layer, figure: f, state: s } = p;
  const cell = cellOf(s, f);
  const [row, column] = cell;
  const fixed = useFigure(layer, f, s.head);
  const value = f.data[row * f.columns + column] as number;
  const facts = TENSORS[f.tensor];
  const marks = useMemo(() => keys(f), [f]);
  const square = f.columnAxis === 'read';
  const ledger = LEDGERS[f.tensor](layer, square ? s.head * layer.T + row : row, square ? column : f.firstChannel + column);
  const name = `${f.tensor === 'scaled' || f.tensor === 'masked' ? 'S' : f.tensor}[${row},${square ? column : f.firstChannel + column}]`;
  const label = labelOf(s.step, s.projection);
  const at = STEPS.indexOf(s.step);
  const gridLabel = `${FACTS[s.step].name}, ${facts.title}, ${f.rows} rows, ${f.columns} columns`;
  const picture = (): Picture => ({
    title: `${name.split('[')[0]}: ${facts.title}${square || f.columns < layer.C ? `, head ${s.head}` : ''}`, source: p.sourceWords, data: f.data, rows: f.rows, columns: f.columns,
    scale: f.scale, domain: f.domain, rowLabels: layer.tokens, columnLabels: fixed.columns,
    rowAxis: f.rowAxis === 'reads' ? `${READS} (queries)` : `${IS_READ} (keys)`, columnAxis: square ? `${IS_READ} (keys)` : 'channel',
    masked: (r, c) => f.mark?.(r, c) === 'masked', chosen: cell,
  });
  const told = `${FACTS[s.step].name}, ${layer.tokens[row] ?? row}, ${fixed.columns[column] ?? column}: ${f.mark?.(row, column) === 'masked' ? 'masked, ' : ''}${fmt(value, 4)}`;
  return (
    <div class="stage">
      <p class="vh" role="status">{told}</p>
      <div class="shead">
        <h3><Tex tex={facts.tex} /> {facts.title}</h3>
        <span class="dims">({f.dims[0]}) = ({f.dims[1]})</span>
        <a class="lbl" href={p.hrefOf(label) ?? undefined}>{label}</a>
        <p class="what">{FACTS[s.step].what} <a href={`#${FACTS[s.step].section}`}>Read its section.</a></p>
      </div>
      <div class="tool">
        {s.step === 'project' && <Segment quiet label="Which projection" value={s.projection} onChoose={(projection) => p.onState({ projection })}
          choices={[{ value: 'Q', text: 'Q' }, { value: 'K', text: 'K' }, { value: 'V', text: 'V' }]} />}
        <Segment quiet label="View" value={s.view} onChoose={(view) => p.onState({ view })} choices={[{ value: 'map', text: 'Map' }, { value: 'table', text: 'Table' }]} />
        <span class="stepper">
          <button type="button" class="btn" aria-label="Previous step" disabled={at === 0} onClick={() => p.onStep(STEPS[at - 1] ?? s.step)}>{'\u2190'}</button>
          <StepList step={s.step} onStep={p.onStep} />
          <button type="button" class="btn" aria-label="Next step" disabled={at === STEPS.length - 1} onClick={() => p.onStep(STEPS[at + 1] ?? s.step)}>{'\u2192'}</button>
        </span>
        <Export p={p} picture={picture} />
      </div>
      <div class="figwrap" tabIndex={s.view === 'table' ? 0 : undefined} role={s.view === 'table' ? 'group' : undefined} aria-label={s.view === 'table' ? 'Table, may scroll' : undefined}>
        {s.view === 'map'
          ? <HeatMap label={gridLabel} tensor={f.tensor} index={fixed.index} data={f.data} rows={f.rows} columns={f.columns} scale={f.scale} domain={f.domain}
              rowLabels={layer.tokens} columnLabels={fixed.columns} rowAxis={rowAxis(f)} columnAxis={columnAxis(f)} mark={f.mark} chosen={cell}
              onChoose={p.onChoose} onKey={p.onKey} left={fixed.left} above={fixed.above} asides={f.asides} />
          : <NumberTable figure={f} rows={layer.tokens} columns={fixed.columns} cell={cell} onChoose={p.onChoose} label={gridLabel} />}
      </div>
      <Legend scale={f.scale} domain={f.domain} value={value} covers={f.covers} masked={marks.masked} will={marks.will}
        note={f.rows > 8 || f.columns > 8 ? (f.scale === 'weight' ? 'digits: per cent, from 10 up' : 'digits: one decimal, from 0.1 up') : undefined} />
      <div class="cellbox">
        <h4><span class="cn">{name}</span> <Who layer={layer} figure={f} cell={cell} /></h4>
        <div class="eqline"><Tex tex={equationOf(s.step, s.projection)} /></div>
        <div class="ledwrap" tabIndex={ledger.rows.length > 12 ? 0 : undefined} role={ledger.rows.length > 12 ? 'group' : undefined} aria-label={ledger.rows.length > 12 ? 'Arithmetic, scrolls' : undefined}>
          <LedgerTable ledger={ledger} label={`Arithmetic of ${name}`} /></div>
        {ledger.sentence && <p class="sentence">{ledger.sentence}</p>}
        <p class="full"><b data-t={f.tensor} data-i={fixed.index(row, column)} data-cell="">{full(value)}</b>{'\u2002'}float64 {bits(value)}</p>
      </div>
    </div>
  );
}
