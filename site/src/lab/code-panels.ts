/* code-panels.ts -- lines of C as they travel to the lab: packed small, with the step of
 * each line.  code-steps.ts makes them when the site is built. */
import type { CodeExcerpt, CodeLine, Piece } from '../components/site-data';
import type { Step } from './steps';

/** Lines of source as they travel in the page: each piece is the letter of its kind ('p' plain) and its text. */
export interface PackedCode {
  readonly file: string;
  readonly href: string;
  /** Runs of lines that follow each other: the number of the first, and the lines. */
  readonly runs: readonly (readonly [start: number, lines: readonly string[]])[];
  readonly labels: Readonly<Record<number, readonly string[]>>;
}
export const CUT = '\u00a6';

export function unpack(packed: PackedCode): CodeExcerpt {
  const lines: CodeLine[] = packed.runs.flatMap(([start, texts]) => texts.map((text, k) => ({
    n: start + k, labels: packed.labels[start + k] ?? [],
    pieces: text === '' ? [] : text.split(CUT).map((piece): Piece => [piece[0] === 'p' ? '' : (piece[0] as 'k'), piece.slice(1)]),
  })));
  return { file: packed.file, href: packed.href, start: lines[0]?.n ?? 1, end: lines[lines.length - 1]?.n ?? 1, lines };
}

export interface Panel {
  readonly excerpt: PackedCode;
  /** Step of a line: where a click leads. */
  readonly steps: Readonly<Record<number, Step>>;
  /** Lines of a step, ascending. */
  readonly now: Readonly<Partial<Record<Step, readonly number[]>>>;
  /** Lines that show a value: what is shown, by line. */
  readonly shows: Readonly<Record<number, string>>;
}
export type PanelName = 'kernel' | 'wiring' | 'model' | 'linear';
export type Panels = Readonly<Partial<Record<PanelName, Panel>>>;
export interface LabCode {
  /** Address of the panels, as JSON: the page's concepts show these lines already, so its HTML does without. */
  readonly panels: string;
  /** Links to the files. */
  readonly files: Readonly<Record<PanelName, string>>;
  /** Where each label's equation is: "#eq-attn.q" on this page, or another page. */
  readonly hrefs: Readonly<Record<string, string>>;
  readonly commit: string;
  readonly modified: boolean;
}

export const FILES: Readonly<Record<PanelName, string>> = {
  kernel: 'src/kernels/attention.c', wiring: 'src/lab/attention_example.c', model: 'src/model/gpt.c', linear: 'src/kernels/linear.c',
};

const WIRING: ReadonlySet<Step> = new Set<Step>(['project', 'output', 'dOut', 'dO', 'dX']);

/** The panels that show a step, the first by default. */
export function panelsOf(step: Step, model: boolean): readonly PanelName[] {
  if (!WIRING.has(step)) return ['kernel'];
  const wiring = model ? 'model' : 'wiring';
  return step === 'dOut' ? [wiring] : [wiring, 'linear'];
}
