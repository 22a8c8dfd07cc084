/* island.ts -- what a live part of a page is.
 *
 * An island is drawn twice with the same result: at build, in Node, into the
 * page's HTML; and in the browser, where it wakes up and answers.  Both times
 * it is given the same properties and an engine, so the first view is the same
 * and no number waits for a script.
 *
 * pages/islands.ts names every island; a content file or pages.yaml asks for
 * one by that name.
 */
import type { JSX } from 'preact';
import type { Engine } from '../engine/types';
import type { Place, SiteData } from './site-data';

/** What a view is given. `Props` is plain JSON: it travels in the page. */
export interface ViewProps<Props, Loaded> {
  readonly props: Props;
  readonly loaded: Loaded;
  readonly engine: Engine;
}

export interface Island<Props, Loaded = undefined> {
  /** Drawn at build and never woken: HTML answers by itself. Its properties do not travel. */
  readonly inert?: boolean;
  /**
   * At build only: adds to the properties what the browser cannot know, such as
   * lines of source and their links.  The result must be plain JSON.
   */
  readonly prepare?: (props: Props, site: SiteData, place: Place) => Props | Promise<Props>;
  /** In both places, before the first view: imports, runs of the C code.  Must not touch the document. */
  readonly load?: (props: Props, engine: Engine) => Promise<Loaded>;
  /**
   * Every LaTeX text that the view may ever show by <Tex>, beyond those of its first view:
   * they are typeset at build and travel with the page.
   */
  readonly tex?: (props: Props, loaded: Loaded) => readonly string[];
  readonly view: (p: ViewProps<Props, Loaded>) => JSX.Element;
  /** True where all controls are buttons, and its code may wait: when one is pressed, all parts of its name wake, then the press is done. */
  readonly waits?: boolean;
  /** True where single definitions and the attention layer are all it asks of the engine: a page of such parts starts without the rest. */
  readonly core?: boolean;
}

/** An island whose types are known to itself only. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyIsland = Island<any, any>;

/** Keeps the types of an island together: `export const island = defineIsland({...})`. */
export function defineIsland<Props, Loaded = undefined>(island: Island<Props, Loaded>): Island<Props, Loaded> {
  return island;
}
