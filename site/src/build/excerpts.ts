/* excerpts.ts -- which lines a concept shows as its implementation.
 *
 * A function is shown whole; a label with the lines around its own, inside its
 * function.  Excerpts of one file that touch become one.
 */
import type { Concept } from '../components/content';
import type { SourceMap } from '../components/site-data';

export interface Excerpt {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  /** The lines that compute the concept's equations. */
  readonly now: readonly number[];
}

const before = 4;
const after = 1;

export function excerptsOf(concept: Concept, map: SourceMap): Excerpt[] {
  const wanted: Excerpt[] = [];
  const own = new Map<string, number[]>();
  for (const e of concept.equations) for (const l of (e.label === null ? undefined : map.labels[e.label])?.lines ?? []) own.set(l.file, [...(own.get(l.file) ?? []), l.line]);
  for (const name of concept.implementation) {
    const f = map.functions[name];
    if (f) wanted.push({ file: f.file, start: f.start, end: f.end, now: [] });
    else for (const l of map.labels[name]?.lines ?? []) {
      const around = l.function === null ? undefined : map.functions[l.function];
      wanted.push({ file: l.file, start: Math.max(around?.start ?? l.line, l.line - before), end: Math.min(around?.end ?? l.line, l.line + after), now: [] });
    }
  }
  const merged: Excerpt[] = [];
  for (const next of wanted) {
    const at = merged.findIndex((e) => e.file === next.file && next.start <= e.end + 1 && e.start <= next.end + 1);
    const old = merged[at];
    if (old) merged[at] = { ...old, start: Math.min(old.start, next.start), end: Math.max(old.end, next.end) };
    else merged.push(next);
  }
  return merged.map((e) => ({ ...e, now: (own.get(e.file) ?? []).filter((n) => n >= e.start && n <= e.end) }));
}
