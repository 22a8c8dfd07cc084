/* content.ts -- the content of the site as types: what a YAML file holds once it has been checked.
 * The checks are in build/content.ts; the numbers of sections and equations are added by build/numbering.ts.
 */

/** Where the numbers of a case come from. */
export type Source = 'example' | 'model' | 'codelab' | 'measured' | 'input';

/** A live part: an island with its properties. */
export interface Block {
  readonly island: string;
  readonly title?: string;
  /** Words before the island. */
  readonly text?: string;
  /** With a source, the island is put in a case that carries its tag; without, it brings its own. */
  readonly source?: Source;
  /** Said on the case's frame, beside the source. */
  readonly note?: string | undefined;
  readonly props: Readonly<Record<string, unknown>>;
}

export interface Equation {
  readonly title: string;
  readonly tex: string;
  /** The label of the lines that compute it; null for a derived equation. */
  readonly label: string | null;
  /** The name of its anchor: the label, or the id of a derived one. */
  readonly id: string;
  readonly derived: boolean;
  /** The label that a derived equation follows from. */
  readonly from: string | null;
  /** Its number in the book: "5.12". */
  readonly number: string;
}

export interface Symbol {
  readonly tex: string;
  readonly meaning: string;
  readonly code: string;
  readonly shape: string;
}

export interface ExampleUse {
  readonly use: string;
  readonly tensor: string;
  readonly cell: readonly number[];
  readonly head?: number;
  readonly text?: string;
}

export interface Shape {
  /** Tensor of the example whose shape is shown. */
  readonly tensor: string;
  /** Tensor of a window of the trained model, as src/model/gpt_window.h names them: layer 0 stands for all. */
  readonly model?: string;
  readonly tex: string;
  readonly letters: string;
  /** What happens on the way to the next one. */
  readonly then?: string;
}

export interface Literature {
  readonly paper: string;
  readonly where: string;
}

export interface Concept {
  readonly page: string;
  readonly file: string;
  readonly id: string;
  readonly title: string;
  readonly what: string;
  readonly why: string;
  readonly equations: readonly Equation[];
  readonly symbols: readonly Symbol[];
  readonly example: ExampleUse;
  readonly shapes: readonly Shape[];
  /** Functions or labels whose lines are shown. */
  readonly implementation: readonly string[];
  /** Functions whose callers and tests are listed. */
  readonly where: readonly string[];
  readonly status: string;
  readonly literature: readonly Literature[];
  readonly sections: readonly Block[];
  /** Its number in the book: "5.6". */
  readonly number: string;
}

/** Where a page stands in the navigation. */
export type Group = 'home' | 'flow' | 'block' | 'inside' | 'tool';

export interface Page {
  readonly id: string;
  readonly title: string;
  /** Its short name in the navigation. */
  readonly nav: string;
  readonly lede: string;
  /** One line in the list of pages. */
  readonly line: string;
  readonly group: Group;
  readonly source: Source;
  /** Live parts before and after the concepts. */
  readonly head: readonly Block[];
  readonly foot: readonly Block[];
  readonly concepts: readonly Concept[];
  /** Number of its chapter in the book; null for pages without concepts. */
  readonly chapter: number | null;
}

export interface Paper {
  readonly authors: string;
  readonly title: string;
  readonly year: number;
  /** Journal, conference or report. */
  readonly venue?: string;
  readonly link?: string;
}

export interface Content {
  readonly pages: readonly Page[];
  readonly papers: Readonly<Record<string, Paper>>;
}

/** The visible words of each source. */
export const sourceWords: Readonly<Record<Source, string>> = {
  example: 'Illustrative example',
  model: 'Actual model output',
  codelab: 'Code lab',
  measured: 'Measured',
  input: 'Your input',
};
