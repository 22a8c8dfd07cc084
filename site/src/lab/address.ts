/* address.ts -- the state of the lab as the address's fragment, and back.
 *
 *   #lab?src=example&head=1&token=3&cell=3,1&step=softmax&view=table&param=Wq:1,0&h=5&edit=Wq:0,1=0.25;bq:2=1
 *
 * Only what differs from the start is written.  `cell` is row,column of the step's
 * tensor, within its head where it is (H, T, T); `key` and `channel` say what that tensor does not show.  Whatever is not
 * understood is left out, with a note for the visitor: never an error.
 */
import {
  EDITABLE, H_MOST, isVector, PARAMETERS, START, type Edit, type EditName, type LabState,
} from './lab-state';
import { PROJECTIONS, STEPS, type Projection, type Step } from './steps';

export interface Parsed {
  readonly state: LabState;
  readonly notes: readonly string[];
}

const PREFIX = '#lab?';
const TEXT_MOST = 4000;

/** What a step's figure shows, without its numbers. */
export function axesOf(step: Step): { rowAxis: 'reads' | 'read'; columnAxis: 'read' | 'channel' } {
  const square = step === 'scores' || step === 'scaled' || step === 'masked' || step === 'softmax' || step === 'dA' || step === 'dS';
  return { rowAxis: step === 'dV' || step === 'dK' ? 'read' : 'reads', columnAxis: square ? 'read' : 'channel' };
}
/** K and V are read: in the projections that is a matter of which is shown. */
const rowAxis = (step: Step, projection: Projection): 'reads' | 'read' =>
  step === 'project' ? (projection === 'Q' ? 'reads' : 'read') : axesOf(step).rowAxis;

function shownCell(s: LabState): readonly [number, number] {
  return [rowAxis(s.step, s.projection) === 'read' ? s.j : s.i, axesOf(s.step).columnAxis === 'read' ? s.j : s.x];
}

const editText = (e: Edit): string => `${e.name}:${isVector(e.name) ? '' : `${e.row},`}${e.column}=${String(e.value)}`;

/** The fragment, with its '#'. */
export function formatAddress(s: LabState): string {
  const parts: string[] = [];
  const put = (key: string, value: string, start: string): void => {
    if (value !== start) parts.push(`${key}=${encodeURIComponent(value).replace(/%2C/g, ',').replace(/%3A/g, ':').replace(/%3B/g, ';').replace(/%3D/g, '=')}`);
  };
  const [row, column] = shownCell(s);
  put('src', s.src, START.src);
  if (s.src === 'model' && s.text !== null) put('text', s.text, '');
  put('layer', String(s.layer), String(START.layer));
  put('head', String(s.head), String(START.head));
  put('token', String(s.i), String(START.i));
  put('step', s.step === 'project' && s.projection !== 'Q' ? `project:${s.projection}` : s.step, START.step);
  put('cell', `${row},${column}`, shownCell({ ...START, step: s.step, projection: s.projection }).join(','));
  if (axesOf(s.step).columnAxis !== 'read' && rowAxis(s.step, s.projection) !== 'read') put('key', String(s.j), String(START.j));
  if (axesOf(s.step).columnAxis === 'read') put('channel', String(s.x), String(START.x));
  put('view', s.view, START.view);
  put('param', `${s.parameter}:${isVector(s.parameter) ? '' : `${s.row},`}${s.column}`, `${START.parameter}:${START.row},${START.column}`);
  put('h', String(s.h), String(START.h));
  put('edit', s.edits.map(editText).join(';'), '');
  return `#lab${parts.length ? '?' + parts.join('&') : ''}`;
}

const INDEX = /^\d{1,6}$/;
const index = (text: string): number | null => (INDEX.test(text) ? Number(text) : null);

function pair(text: string): readonly [number, number] | null {
  const [a, b, ...rest] = text.split(',');
  const row = index(a ?? '');
  const column = index(b ?? '');
  return row === null || column === null || rest.length ? null : [row, column];
}

/** "Wq:1,0" or "bq:2" */
function entry<T extends EditName>(text: string, names: readonly T[]): { name: T; row: number; column: number } | null {
  const [head, at, ...rest] = text.split(':');
  const name = names.find((n) => n === head);
  if (name === undefined || at === undefined || rest.length) return null;
  if (isVector(name)) {
    const column = index(at);
    return column === null ? null : { name, row: 0, column };
  }
  const cell = pair(at);
  return cell && { name, row: cell[0], column: cell[1] };
}

function edit(text: string): Edit | null {
  const cut = text.indexOf('=');
  const at = entry(text.slice(0, cut), EDITABLE);
  const number = text.slice(cut + 1);
  if (cut < 0 || !at || !/^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(number)) return null;
  const value = Number(number);
  return Number.isFinite(value) ? { ...at, value } : null;
}

type Reader = (s: LabState, value: string) => LabState | null;

const READERS: Readonly<Record<string, Reader>> = {
  src: (s, v) => (v === 'example' || v === 'model' ? { ...s, src: v } : null),
  text: (s, v) => (v.length <= TEXT_MOST ? { ...s, text: v } : null),
  layer: (s, v) => withIndex(v, (layer) => ({ ...s, layer })),
  head: (s, v) => withIndex(v, (head) => ({ ...s, head })),
  token: (s, v) => withIndex(v, (i) => ({ ...s, i })),
  key: (s, v) => withIndex(v, (j) => ({ ...s, j })),
  channel: (s, v) => withIndex(v, (x) => ({ ...s, x })),
  step: (s, v) => {
    const [name, which] = v.split(':');
    const step = STEPS.find((t) => t === name);
    const projection = PROJECTIONS.find((p) => p === (which ?? 'Q'));
    if (!step || !projection || (which !== undefined && step !== 'project')) return null;
    return { ...s, step, projection: step === 'project' ? projection : s.projection };
  },
  cell: (s) => s,                       /* after the step is known */
  view: (s, v) => (v === 'map' || v === 'table' ? { ...s, view: v } : null),
  param: (s, v) => {
    const at = entry(v, PARAMETERS);
    return at && { ...s, parameter: at.name, row: at.row, column: at.column };
  },
  h: (s, v) => {
    const h = /^\d{1,2}(\.5)?$/.test(v) ? Number(v) : NaN;
    return h >= 0 && h <= H_MOST ? { ...s, h } : null;
  },
  edit: (s, v) => {
    const edits = v.split(';').filter((t) => t !== '').map(edit);
    return edits.every((e) => e !== null) ? { ...s, edits: edits as Edit[] } : null;
  },
};

function withIndex(text: string, use: (n: number) => LabState): LabState | null {
  const n = index(text);
  return n === null ? null : use(n);
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replace(/\+/g, ' '));
  } catch {
    return null;
  }
}

function withCell(s: LabState, text: string): LabState | null {
  const cell = pair(text);
  if (!cell) return null;
  const row = rowAxis(s.step, s.projection) === 'read' ? { j: cell[0] } : { i: cell[0] };
  return { ...s, ...row, ...(axesOf(s.step).columnAxis === 'read' ? { j: cell[1] } : { x: cell[1] }) };
}

/** Reads a fragment; null where it is not the lab's. */
export function parseAddress(fragment: string): Parsed | null {
  if (fragment !== '#lab' && !fragment.startsWith(PREFIX)) return null;
  const notes: string[] = [];
  let state = START;
  let cell: string | null = null;
  for (const part of fragment.slice(PREFIX.length).split('&').filter((p) => p !== '')) {
    const cut = part.indexOf('=');
    const key = decode(cut < 0 ? part : part.slice(0, cut)) ?? '';
    const value = cut < 0 ? null : decode(part.slice(cut + 1));
    const reader = Object.hasOwn(READERS, key) ? READERS[key] : undefined;
    const next = reader && value !== null ? reader(state, value) : null;
    if (next) state = next;
    else if (reader && value !== null) notes.push(`${key}=${value.slice(0, 40)}`);
    else notes.push((reader || key === '' ? part : key).slice(0, 48));
    if (next && key === 'cell') cell = value;
  }
  if (cell !== null) {
    const next = withCell(state, cell);
    if (next) state = next;
    else notes.push(`cell=${cell.slice(0, 40)}`);
  }
  return { state, notes };
}
