/* site-data.ts -- the build's answer to components/site-data.ts, from map, tree and content. */
import { createHash } from 'node:crypto';
import type { Content, Equation } from '../components/content';
import { readMeasured, type Measured } from '../components/measured';
import type { CodeExcerpt, SiteData, SourceMap } from '../components/site-data';
import { cutLabels, highlight } from './code';
import type { Tree } from './map';

/** File of the source viewer that shows a file of the tree. */
export function viewerFile(file: string): string {
  return `source/${file.replaceAll('/', '--')}.html`;
}

/** What a line that goes on ends with. */
const goesOn = (text: string): boolean => /[,(+\-*=?&|]$/.test(text) && !text.endsWith('*/');

/** The statement of a line (from 1): a call may be written over several, with its label at the end of the last. */
export function statementAt(lines: readonly string[], line: number): string {
  const text = (n: number): string => cutLabels(lines[n - 1] ?? '').text.trim();
  let first = line, last = line;
  while (first > 1 && goesOn(text(first - 1))) first--;
  while (last < lines.length && goesOn(text(last))) last++;
  return Array.from({ length: last - first + 1 }, (_, k) => text(first + k)).join(' ');
}

export class Sources implements SiteData {
  /** Files that a link or an excerpt named: each gets a page in the source viewer. */
  readonly named = new Set<string>();
  /** Files that parts fetch when they are wanted: text by address. */
  readonly extra = new Map<string, string>();
  private readonly equations = new Map<string, { href: string; equation: Equation }>();

  /** `figures` is the text of measured.json; null where there is none. */
  constructor(readonly map: SourceMap, private readonly tree: Tree, content: Content, private readonly figures: string | null) {
    for (const page of content.pages) for (const concept of page.concepts) for (const equation of concept.equations) {
      if (!this.equations.has(equation.id)) this.equations.set(equation.id, { href: `${page.id}.html#eq-${equation.id}`, equation });
    }
  }

  text(file: string): string {
    return this.tree.text(file);
  }

  code(file: string, start: number, end: number): CodeExcerpt {
    const lines = highlight(file, this.tree.text(file), (label) => label in this.map.labels);
    if (start < 1 || end < start || end > lines.length) throw new Error(`${file}: lines ${start} to ${end} are not all there (it has ${lines.length})`);
    return { file, start, end, href: this.lineHref(file, start), lines: lines.slice(start - 1, end) };
  }

  codeOfFunction(name: string): CodeExcerpt {
    const f = this.map.functions[name];
    if (!f) throw new Error(`no function "${name}" in the map`);
    return this.code(f.file, f.start, f.end);
  }

  more(name: string, ending: string, text: string): string {
    const address = `assets/${name}-${createHash('sha256').update(text).digest('hex').slice(0, 8)}.${ending}`;
    this.extra.set(address, text);
    return address;
  }

  lineHref(file: string, line: number): string {
    this.tree.line(file, line);
    this.named.add(file);
    return this.map.link === null ? `${viewerFile(file)}#L${line}` : `${this.map.link}${file}#L${line}`;
  }

  /** The statement that a line belongs to, on one line and without labels. */
  statement(file: string, line: number): string {
    return statementAt(this.tree.text(file).split('\n'), line);
  }

  equationHref(label: string): string | null {
    return this.equations.get(label)?.href ?? null;
  }

  equationTex(label: string): string | null {
    return this.equations.get(label)?.equation.tex ?? null;
  }

  measured(): Measured {
    if (this.figures === null) throw new Error('build/site-work/measured.json is missing: tools/measure-for-site build/vitrine build/site-work/measured.json makes it');
    return readMeasured(this.figures);
  }

  equationTitle(label: string): string | null {
    return this.equations.get(label)?.equation.title ?? null;
  }

  equationNumber(label: string): string | null {
    return this.equations.get(label)?.equation.number ?? null;
  }
}
