/* mathml.ts -- LaTeX to MathML at build, by Temml, as a tree (components/Tex.tsx).
 *
 * Temml writes well-formed text; it is parsed here, so that nothing downstream
 * handles markup as text.
 */
import temml from 'temml';
import type { MathTree } from '../components/Tex';

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'", '#39': "'", nbsp: '\u00a0' };

function plain(text: string): string {
  return text.replace(/&([a-z]+|#x?[0-9a-f]+);/gi, (whole, name: string) => {
    const known = entities[name];
    if (known !== undefined) return known;
    if (name.startsWith('#x')) return String.fromCodePoint(parseInt(name.slice(2), 16));
    if (name.startsWith('#')) return String.fromCodePoint(parseInt(name.slice(1), 10));
    throw new Error(`unknown entity ${whole} in MathML`);
  });
}

/** Parses the well-formed elements that Temml writes: one root. */
export function parseMathML(markup: string): MathTree {
  const token = /<(\/?)([a-z]+)((?:\s+[a-zA-Z-]+="[^"]*")*)\s*(\/?)>|([^<]+)/gy;
  const root: unknown[] = ['', 0];
  const stack: unknown[][] = [root];
  let match: RegExpExecArray | null;
  let end = 0;
  while ((match = token.exec(markup)) !== null) {
    end = token.lastIndex;
    const [, closing, tag, attributes, empty, text] = match;
    const top = stack[stack.length - 1] as unknown[];
    if (text !== undefined) top.push(plain(text));
    else if (closing) {
      if (stack.pop()?.[0] !== tag) throw new Error(`MathML: </${tag}> closes nothing`);
    } else {
      const found: Record<string, string> = {};
      for (const [, name, value] of (attributes ?? '').matchAll(/\s+([a-zA-Z-]+)="([^"]*)"/g)) found[name as string] = plain(value as string);
      const node: unknown[] = [tag, Object.keys(found).length > 0 ? found : 0];
      top.push(node);
      if (!empty) stack.push(node);
    }
  }
  if (end !== markup.length || stack.length !== 1 || root.length !== 3) throw new Error(`MathML is not one well-formed element: ${markup.slice(0, 60)}`);
  return root[2] as MathTree;
}

/** Groups of one element that say nothing: their element stands for itself (MathML Core draws both alike). */
const plainGroup = (node: MathTree): node is readonly [string, 0, MathTree] => Array.isArray(node) && node[0] === 'mrow' && node[1] === 0 && node.length === 3 && typeof node[2] !== 'string';

/** Takes off what browsers draw the same without: attributes of no effect, groups of one. */
export function simplify(node: MathTree): MathTree {
  if (typeof node === 'string') return node;
  const [tag, attributes, ...children] = node;
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(attributes === 0 ? {} : attributes)) {
    if (name === 'fence' || name === 'separator') continue; // only for readers of semantics, by the text of the standard
    if (tag === 'math' && (name === 'class' || name === 'style')) continue; // our style sheet says it
    kept[name] = value;
  }
  const inner = children.map(simplify).map((child) => (plainGroup(child) ? child[2] : child));
  return [tag, Object.keys(kept).length > 0 ? kept : 0, ...inner];
}

const done = new Map<string, MathTree>();

/** Typesets LaTeX; throws with Temml's message, in one line, where it is wrong. */
export function typeset(tex: string, display: boolean): MathTree {
  const key = `${display ? 'd' : 'i'}${tex}`;
  const known = done.get(key);
  if (known) return known;
  let markup: string;
  try {
    markup = temml.renderToString(tex, { displayMode: display, throwOnError: true, strict: true, trust: false });
  } catch (error) {
    const message = error instanceof Error ? error.message.replace(/\s+/g, ' ').trim() : String(error);
    throw new Error(`LaTeX "${tex}": ${message}`);
  }
  const tree = simplify(parseMathML(markup));
  done.set(key, tree);
  return tree;
}
