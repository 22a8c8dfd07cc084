/* ExampleView.tsx -- any tiny numerical example: its tensors as figures, and the
 * arithmetic of whichever cell is chosen.
 *
 * Numbers come from the C code, run when the page was built and again in the browser.
 * A tensor of three dimensions is drawn one slice at a time; its ledger and its mask
 * count rows on through the slices: row = slice * shape[1] + i.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import type { Engine } from '../engine/types';
import { examples } from '../examples/registry';
import type { ExampleTensor } from '../examples/types';
import { markEdited } from './Case';
import { onCell } from './chosen-cell';
import { magnitude } from './colour';
import type { EditInputsProps } from './EditInputs';
import { HeatMap, type Mark } from './HeatMap';
import { defineIsland } from './island';
import { LedgerTable } from './LedgerTable';
import { Legend } from './Legend';
import { useLive, useNarrow } from './narrow';
import { bits, full } from './numbers';
import { Segment } from './Segment';
import { Tex } from './Tex';
import '../style/exview.css';

export interface ExampleProps {
  /** Name in examples/registry.ts. */
  readonly use: string;
  readonly tensor: string;
  readonly cell: readonly [row: number, column: number];
  readonly head?: number;
}

interface Slice {
  readonly data: Float64Array;
  readonly rows: number;
  readonly columns: number;
  readonly slices: number;
  /** First row of the slice, counted through all of them. */
  readonly first: number;
}

/** One matrix of a tensor: a vector is one row. */
export function sliceOf(t: ExampleTensor, slice: number): Slice {
  const columns = t.shape[t.shape.length - 1] ?? 1;
  const rows = t.shape.length > 1 ? (t.shape[t.shape.length - 2] as number) : 1;
  const slices = Math.max(1, Math.round(t.data.length / (rows * columns)));
  const at = Math.min(slices - 1, Math.max(0, slice));
  return { data: t.data.subarray(at * rows * columns, (at + 1) * rows * columns), rows, columns, slices, first: at * rows };
}

const counted = (n: number): string[] => Array.from({ length: n }, (_, k) => String(k));
const within = (x: number, n: number): number => Math.min(n - 1, Math.max(0, x));

/** What the slices of a tensor count, from the first letter of its shape. */
function sliceWord(letters: string): string {
  const first = /^\(\s*(\w+)/.exec(letters)?.[1] ?? '';
  return { H: 'Head', NH: 'Head', T: 'Position', B: 'Row of the batch', L: 'Layer' }[first] ?? 'Slice';
}

function useLabels(t: ExampleTensor, slice: Slice): readonly [rows: readonly string[], columns: readonly string[]] {
  return useMemo(() => [t.rows ?? (t.shape.length > 1 ? counted(slice.rows) : ['']), t.columns ?? counted(slice.columns)], [t, slice.rows, slice.columns]);
}

export interface TensorPanelProps {
  readonly tensor: ExampleTensor;
  readonly slice: number;
  readonly cell: readonly [number, number];
  readonly onChoose: (row: number, column: number) => void;
}

/** Figure and ledger of one tensor. */
export function TensorPanel({ tensor: t, slice, cell, onChoose }: TensorPanelProps): JSX.Element {
  const part = sliceOf(t, slice);
  const narrow = useNarrow();      // a ledger may be wider than a phone: it scrolls, by keyboard too
  const [rows, columns] = useLabels(t, part);
  const row = within(cell[0], part.rows);
  const column = within(cell[1], part.columns);
  const mark = useMemo(() => {
    const masked = t.masked;
    return masked ? (r: number, c: number): Mark => (masked(part.first + r, c) ? 'masked' : undefined) : undefined;
  }, [t, part.first]);
  const index = useMemo(() => (r: number, c: number): string => {
    if (t.shape.length === 1) return String(c);
    return t.shape.length > 2 ? `${part.first / part.rows},${r},${c}` : `${r},${c}`;
  }, [t, part.first, part.rows]);
  const domain = t.scale === 'weight' ? 1 : magnitude(t.data);
  const value = part.data[row * part.columns + column] as number;
  const ledger = t.ledger(part.first + row, column);
  const anyMasked = t.masked !== undefined && Array.from({ length: part.rows * part.columns }, (_, k) => k)
    .some((k) => t.masked?.(part.first + Math.floor(k / part.columns), k % part.columns));
  /* Of a head's matrix, the row and column are named; the head is chosen above. */
  const name = `${t.id}[${sliceWord(t.letters) === 'Head' ? `${row},${column}` : index(row, column)}]`;
  return (
    <div class={part.columns > 16 ? 'pair wide most' : part.columns > 5 ? 'pair wide' : 'pair'}>
      <div>
        <div class="figwrap">
          <HeatMap label={`${t.title}, ${part.rows} rows, ${part.columns} columns`} tensor={t.id} index={index} data={part.data} rows={part.rows}
            columns={part.columns} scale={t.scale} domain={domain} rowLabels={rows} columnLabels={columns} rowAxis={t.rowAxis ?? ''}
            columnAxis={t.columnAxis ?? ''} mark={mark} chosen={[row, column]} onChoose={onChoose} />
        </div>
        <Legend scale={t.scale} domain={domain} value={value} covers="of this tensor" masked={anyMasked ? 'masked' : undefined} />
      </div>
      <div class="cellbox">
        <h4><span class="cn">{name}</span><span class="who">{[rows[row], columns[column]].filter(Boolean).join(', ')}</span></h4>
        <div class="ledwrap" {...(narrow ? { tabIndex: 0, role: 'group', 'aria-label': `Arithmetic of ${name}, scrolls` } : {})}><LedgerTable ledger={ledger} label={`Arithmetic of ${name}`} /></div>
        {ledger.sentence && <p class="sentence">{ledger.sentence}</p>}
        <p class="full"><b data-t={t.id} data-i={index(row, column)}>{full(value)}</b>{'\u2002'}float64 {bits(value)}</p>
      </div>
    </div>
  );
}

function ExampleView({ props, loaded, engine }: { props: ExampleProps; loaded: readonly ExampleTensor[]; engine: Engine }): JSX.Element {
  const [state, setState] = useState({ tensor: props.tensor, slice: props.head ?? 0, row: props.cell[0], column: props.cell[1] });
  useEffect(() => onCell((chosen) => {
    if (chosen.example !== props.use) return;
    setState((s) => (s.tensor === chosen.tensor ? { tensor: s.tensor, slice: chosen.slice, row: chosen.row, column: chosen.column } : s));
  }), [props.use]);
  const [own, setOwn] = useState<readonly ExampleTensor[] | null>(null);      /* with the visitor's inputs */
  const tensors = own ?? loaded;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => { if (box.current) markEdited(box.current, own !== null); }, [own]);
  const tensor = tensors.find((t) => t.id === state.tensor) ?? (tensors[0] as ExampleTensor);
  const { slices } = sliceOf(tensor, 0);
  const live = useLive();                  /* the other tensors are a choice, once one can choose */
  return (
    <div class="exview" ref={box}>
      <div class="tool">
        <label class="fld"><span class="fl">Tensor</span>
          <select class="btn" value={tensor.id} onChange={(e) => setState({ ...state, tensor: e.currentTarget.value })}>
            {(live ? tensors : [tensor]).map((t) => <option key={t.id} value={t.id} selected={t.id === tensor.id}>{t.id}, {t.title}</option>)}
          </select>
        </label>
        {slices > 1 && <Segment label={sliceWord(tensor.letters)} value={state.slice} choices={counted(slices).map((text, value) => ({ value, text }))}
          onChoose={(slice) => setState({ ...state, slice })} />}
        <span class="push dims"><Tex tex={tensor.tex} /> {tensor.letters} = ({tensor.shape.join(', ')})</span>
      </div>
      <TensorPanel tensor={tensor} slice={state.slice} cell={[state.row, state.column]}
        onChoose={(row, column) => setState({ ...state, row, column })} />
      {loaded.some((t) => t.input) && <LazyInputs use={props.use} engine={engine} tensors={tensors} onTensors={setOwn} />}
    </div>
  );
}

/** The fields come when the part is opened. */
function LazyInputs(p: EditInputsProps): JSX.Element {
  const [Inputs, setInputs] = useState<{ readonly view: (p: EditInputsProps) => JSX.Element | null } | null>(null);
  const open = (): void => { if (!Inputs) void import('./EditInputs').then((m) => setInputs({ view: m.EditInputs })); };
  return (
    <details class="edit live" onToggle={(e) => { if (e.currentTarget.open) open(); }}>
      <summary>Change the inputs</summary>
      {Inputs && <Inputs.view {...p} />}
    </details>
  );
}

/** The tensors of an example, computed. */
export async function runExample(use: string, engine: Engine): Promise<readonly ExampleTensor[]> {
  const load = Object.hasOwn(examples, use) ? examples[use] : undefined;
  if (!load) throw new Error(`example "${use}": expected a name of examples/registry.ts: ${Object.keys(examples).join(', ')}`);
  const { example } = await load();
  return example.run(engine, example.inputs);
}

export const island = defineIsland<ExampleProps, readonly ExampleTensor[]>({
  load: async (props, engine) => {
    const tensors = await runExample(props.use, engine);
    if (!tensors.some((t) => t.id === props.tensor)) {
      throw new Error(`example "${props.use}": no tensor "${props.tensor}"; it has ${tensors.map((t) => t.id).join(', ')}`);
    }
    return tensors;
  },
  tex: (_, loaded) => loaded.map((t) => t.tex),
  view: ExampleView,
  core: true,
});
