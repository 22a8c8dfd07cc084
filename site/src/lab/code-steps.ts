/* code-steps.ts -- which lines of C belong to which step: found when the site is built,
 * from the labels in the source.  No line number is written here or anywhere by hand.
 *
 * A step's lines are its labelled lines, and what leads to them: in a kernel the loops
 * and sums directly above, as far as an empty line, a closing brace or another label;
 * in the wiring the whole call.
 */
import type { CodeExcerpt, CodeLine, SiteData } from '../components/site-data';
import { CUT, FILES, type LabCode, type PackedCode, type Panel, type PanelName } from './code-panels';
import { FACTS, STEPS, type Step } from './steps';

export function pack(excerpt: CodeExcerpt): PackedCode {
  const runs: [number, string[]][] = [];
  const labels: Record<number, readonly string[]> = {};
  let last = -1;
  for (const line of excerpt.lines) {
    const text = line.pieces.map(([kind, piece]) => {
      if (piece.includes(CUT)) throw new Error(`${excerpt.file}:${line.n}: the lab keeps ${CUT} for itself`);
      return (kind || 'p') + piece;
    }).join(CUT);
    if (line.n === last + 1) runs[runs.length - 1]?.[1].push(text);
    else runs.push([line.n, [text]]);
    if (line.labels.length) labels[line.n] = line.labels;
    last = line.n;
  }
  return { file: excerpt.file, href: excerpt.href, runs, labels };
}

/* Unlabelled lines of the kernel whose value is shown, by a text that only they have. */
const NEEDLES: readonly (readonly [shows: string, text: string])[] = [
  ['n', 'const int n = P + t + 1;'], ['max', 'if (re(m[u]) > re(max)) max = m[u];'], ['sum', 'sum += exp(m[u] - max);'], ['row', 'row += a[u] * g[u];'],
];

/** The lines of the statement that the labelled line `at` (an index) ends, first to last. */
export function leadIn(lines: readonly string[], at: number, labelled: (index: number) => boolean, kernel: boolean): number {
  let first = at;
  for (let k = at - 1; k >= 0; k--) {
    const text = (lines[k] ?? '').trim();
    if (text === '' || text === '}' || labelled(k) || text.endsWith('*/') && !text.includes(';')) break;
    if (!kernel && /[;{}]$/.test(text.replace(/\s*\/\*.*\*\/$/, ''))) break;
    first = k;
  }
  return first;
}

function excerptOf(site: SiteData, name: PanelName, lines: readonly number[]): CodeExcerpt {
  const file = FILES[name];
  const text = site.map.files[file];
  if (text === undefined) throw new Error(`${file}: not in the map's files; the lab shows its lines`);
  if (name !== 'model') return site.code(file, 1, text.trimEnd().split('\n').length);
  /* Of the whole model, the functions that hold a line of the lab. */
  const functions = Object.values(site.map.functions)
    .filter((f) => f.file === file && lines.some((n) => f.start <= n && n <= f.end)).sort((a, b) => a.start - b.start);
  const parts = functions.map((f) => site.code(file, f.start, f.end));
  const first = parts[0];
  if (!first) throw new Error(`${file}: no function holds a line with a label of attention`);
  const all: CodeLine[] = parts.flatMap((p) => p.lines);
  return { file, start: first.start, end: parts[parts.length - 1]?.end ?? first.end, href: first.href, lines: all };
}

function panel(site: SiteData, name: PanelName): Panel {
  const file = FILES[name];
  const text = (site.map.files[file] ?? '').split('\n');
  const at = (label: string): number[] => (site.map.labels[label]?.lines ?? []).filter((l) => l.file === file).map((l) => l.line);
  const all = new Set(Object.keys(site.map.labels).flatMap(at));
  const shows: Record<number, string> = {};
  const steps: Record<number, Step> = {};
  const now: Partial<Record<Step, number[]>> = {};
  for (const step of STEPS) {
    const mine = new Set<number>();
    for (const label of FACTS[step].labels)
      for (const line of at(label)) {
        shows[line] = shows[line] ?? label;
        const first = leadIn(text, line - 1, (k) => all.has(k + 1), name === 'kernel' || name === 'linear') + 1;
        for (let n = first; n <= line; n++) mine.add(n);
      }
    if (mine.size) now[step] = [...mine].sort((a, b) => a - b);
    for (const n of mine) steps[n] = steps[n] ?? step;
  }
  if (name === 'kernel') {
    for (const [what, needle] of NEEDLES) {
      const found = text.flatMap((line, k) => (line.includes(needle) ? [k + 1] : []));
      if (!found.length) throw new Error(`${file}: no line reads "${needle}"; lab/code-steps.ts shows its value`);
      for (const n of found) shows[n] = what;
    }
  }
  return { excerpt: pack(excerptOf(site, name, Object.keys(steps).map(Number))), steps, now, shows };
}

const PANELS: readonly PanelName[] = ['kernel', 'wiring', 'model', 'linear'];

export function labCode(site: SiteData): LabCode {
  const hrefs: Record<string, string> = {};
  for (const label of new Set(STEPS.flatMap((s) => FACTS[s].labels))) {
    const entry = site.map.labels[label];
    if (!entry || !entry.lines.length) throw new Error(`the lab needs a line labelled ${label}; the map has none`);
    const href = site.equationHref(label);
    if (href) hrefs[label] = href.replace(/^attention\.html(?=#)/, '');
  }
  for (const label of Object.keys(site.map.labels)) {
    const href = hrefs[label] ?? (label.startsWith('attn.') || label.startsWith('linear.') ? site.equationHref(label) : null);
    if (href) hrefs[label] = href.replace(/^attention\.html(?=#)/, '');
  }
  const panels = Object.fromEntries(PANELS.map((name) => [name, panel(site, name)])) as Record<PanelName, Panel>;
  return {
    hrefs, panels: site.more('lab-code', 'json', JSON.stringify(panels)), commit: site.map.commit, modified: site.map.modified,
    files: Object.fromEntries(PANELS.map((name) => [name, panels[name].excerpt.href])) as Record<PanelName, string>,
  };
}
