/* census.ts -- counts, in the pages as written, what every concept must have.  A blank is a fault. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readContent } from './content';
import { Faults } from './faults';
import { readMap } from './map';
import type { Paths } from './site';
import { parts } from './views/ConceptView';

export interface Count {
  /** Parts of the nine that are there and hold something. */
  readonly filled: readonly string[];
  readonly equations: number;
  readonly symbols: number;
  /** Numbers that were computed: cells that name their tensor. */
  readonly cells: number;
  readonly codeLines: number;
}

const textOf = (html: string): string => html.replace(/<[^>]*$/, '').replace(/<[^>]*>/g, ' ').replace(/&[a-z#0-9]+;/g, ' ').replace(/\s+/g, ' ').trim();

/** Counts one concept's HTML. */
export function countConcept(html: string): Count {
  const starts = parts.map((name) => ({ name, at: html.indexOf(`data-part="${name}"`) })).filter((p) => p.at >= 0);
  const filled = starts.filter((p, i) => {
    const body = html.slice(p.at, starts[i + 1]?.at ?? html.length).replace(/^[^>]*>/, '').replace(/<h3[^>]*>.*?<\/h3>/g, '');
    return textOf(body) !== '';
  });
  const count = (pattern: RegExp): number => (html.match(pattern) ?? []).length;
  return {
    filled: filled.map((p) => p.name),
    equations: count(/<li id="eq-/g), symbols: count(/<table class="data stack">[\s\S]*?<\/table>/g) > 0 ? count(/<td class="nw"><math/g) : 0,
    cells: count(/ data-t="/g), codeLines: count(/<span class="n">/g),
  };
}

/** The HTML of each concept of a page, by "page/concept". */
export function conceptsIn(html: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const piece of html.split('<article class="concept"').slice(1)) {
    const name = /data-concept="([^"]*)"/.exec(piece)?.[1];
    if (name !== undefined) found.set(name, piece.split('</article>')[0] ?? '');
  }
  return found;
}

export function census(paths: Paths): number {
  const content = readContent(join(paths.root, 'site/content'), new Faults());
  const map = readMap(join(paths.work, 'map.json'));
  let blanks = 0;
  let concepts = 0;
  const total = { equations: 0, cells: 0 };
  console.log(`${'concept'.padEnd(34)} parts  equations  symbols  live cells  lines of C`);
  for (const page of content.pages) {
    const file = join(paths.root, 'build/site', `${page.id}.html`);
    if (!existsSync(file)) {
      console.log(`${page.id.padEnd(34)} BLANK: the page is not built`);
      blanks += 1;
      continue;
    }
    const found = conceptsIn(readFileSync(file, 'utf8'));
    for (const c of page.concepts) {
      const name = `${page.id}/${c.id}`;
      const n = countConcept(found.get(name) ?? '');
      const missing = parts.filter((p) => !n.filled.includes(p));
      const blank = [...missing, ...(n.equations === 0 ? ['equations'] : []), ...(n.cells === 0 ? ['live cells'] : []), ...(n.codeLines === 0 ? ['lines of C'] : [])];
      if (blank.length > 0) blanks += 1;
      concepts += 1;
      total.equations += n.equations;
      total.cells += n.cells;
      console.log(`${name.padEnd(34)} ${`${n.filled.length}/9`.padStart(5)}  ${String(n.equations).padStart(9)}  ${String(n.symbols).padStart(7)}  ${String(n.cells).padStart(10)}  ${String(n.codeLines).padStart(10)}${blank.length > 0 ? `  BLANK: ${blank.join(', ')}` : ''}`);
    }
  }
  const shown = new Set(content.pages.flatMap((p) => p.concepts.flatMap((c) => c.equations.map((e) => e.label))));
  const unseen = Object.keys(map.labels).filter((l) => !shown.has(l));
  console.log(`${concepts} concepts, ${total.equations} equations, ${total.cells} live cells; ${blanks} with a blank`);
  console.log(`labels of the C code: ${Object.keys(map.labels).length}; shown on no page: ${unseen.length === 0 ? 'none' : unseen.join(', ')}`);
  return blanks > 0 || concepts === 0 ? 1 : 0;
}
