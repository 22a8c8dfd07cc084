/* site-data.ts -- what the build knows about the sources, for those who draw.
 *
 * It comes from map.json (labels, functions, files of the C tree) and from the
 * content.  Nobody types a line number: ask here.
 */
import type { Measured } from './measured';

export interface Span {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}
export interface MapLabel {
  /** Where the equation is stated: a line of a header comment. */
  readonly equation: Span;
  /** The lines that compute it. */
  readonly lines: readonly (Span & { readonly function: string | null })[];
  readonly tests: readonly { readonly file: string; readonly line: number; readonly name: string }[];
}
export interface MapCall {
  readonly file: string;
  readonly line: number;
  readonly function: string;
}
export interface MapFunction {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly calledBy: readonly MapCall[];
  readonly calls: readonly string[];
  readonly testedBy: readonly { readonly file: string; readonly line: number; readonly name: string }[];
}
/** build/site-work/map.json */
export interface SourceMap {
  readonly commit: string;
  readonly modified: boolean;
  /** Start of a link to a file at the commit, or null where the tree has no remote. */
  readonly link: string | null;
  readonly labels: Readonly<Record<string, MapLabel>>;
  readonly functions: Readonly<Record<string, MapFunction>>;
  readonly files: Readonly<Record<string, string>>;
}

/** One line of source, cut into kinds: '' plain, 'k' keyword, 'c' comment, 'f' name of a defined function. */
export type Piece = readonly [kind: '' | 'k' | 'c' | 'f', text: string];
export interface CodeLine {
  readonly n: number;
  readonly pieces: readonly Piece[];
  /** Labels that trail the line; drawn apart, as links. */
  readonly labels: readonly string[];
}
export interface CodeExcerpt {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  /** The file at this line. */
  readonly href: string;
  readonly lines: readonly CodeLine[];
}

/** The page that is being drawn. */
export interface Place {
  readonly page: string;
}

export interface SiteData {
  readonly map: SourceMap;
  /** The text of a file of the tree. Throws where there is none. */
  text(file: string): string;
  /** Lines of a file, highlighted. Throws where the file or the range does not exist. */
  code(file: string, start: number, end: number): CodeExcerpt;
  /** All lines of a function. */
  codeOfFunction(name: string): CodeExcerpt;
  /** Puts a file of its own beside the pages, for a part that fetches it when it is wanted; returns its address. */
  more(name: string, ending: string, text: string): string;
  /** Link to a line of a file, from any page. */
  lineHref(file: string, line: number): string;
  /** Where the site shows the equation with this label: "attention.html#eq-attn.softmax"; null where no page shows it. */
  equationHref(label: string): string | null;
  /** The LaTeX of the equation with this label as the content gives it, or null. */
  equationTex(label: string): string | null;
  /** Figures that the project's own tools printed. Throws where they are missing. */
  measured(): Measured;
}
