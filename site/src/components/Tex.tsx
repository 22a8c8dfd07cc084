/* Tex.tsx -- mathematics inside a view.
 *
 * LaTeX becomes MathML when the site is built.  The browser is given the
 * finished elements of every text that a page can show, as a dictionary in the
 * page, so no mathematics library is loaded and nothing is parsed as HTML.
 */
import { createContext, h, type ComponentChild, type JSX } from 'preact';
import { useContext } from 'preact/hooks';

/** A MathML element as data: tag, attributes (0: none), children. */
export type MathTree = string | readonly [tag: string, attributes: Readonly<Record<string, string>> | 0, ...children: MathTree[]];

/** Gives the tree of a LaTeX text; `display` makes it a block. Throws or returns null when it is not known. */
export type Typeset = (tex: string, display: boolean) => MathTree | null;

export const TypesetContext = createContext<Typeset>(() => null);

/** The key of a text in the page's dictionary. */
export function texKey(tex: string, display: boolean): string {
  return display ? `${tex}\u0001` : tex;
}

export function drawTree(tree: MathTree): ComponentChild {
  if (typeof tree === 'string') return tree;
  const [tag, attributes, ...children] = tree;
  return h(tag as 'mrow', (attributes === 0 ? null : attributes) as JSX.HTMLAttributes, ...children.map(drawTree));
}

/** Typeset LaTeX. `display` for an equation of its own. */
export function Tex({ tex, display = false }: { tex: string; display?: boolean }): JSX.Element {
  const tree = useContext(TypesetContext)(tex, display);
  if (tree === null) {
    console.error(`no typeset form of "${tex}" came with this page: name it in the island's tex()`);
    return <code>{tex}</code>;
  }
  return <>{drawTree(tree)}</>;
}
