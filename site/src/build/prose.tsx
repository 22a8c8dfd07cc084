/* prose.tsx -- inline text of the content: `code`, *emphasis*, $LaTeX$, [text](href).
 * A backslash before one of these signs takes its meaning away.  Everything else is text.
 */
import type { ComponentChild, JSX } from 'preact';
import { drawTree } from '../components/Tex';
import { useBuild } from './context';
import { typeset } from './mathml';

export type InlinePart =
  | { readonly kind: 'text' | 'code' | 'tex'; readonly text: string }
  | { readonly kind: 'em'; readonly inner: readonly InlinePart[] }
  | { readonly kind: 'link'; readonly href: string; readonly inner: readonly InlinePart[] };

function closing(text: string, sign: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\\' && sign !== '`' && sign !== '$') i++;
    else if (text[i] === sign) return i;
  }
  throw new Error(`"${sign}" opened at "${text.slice(from - 1, from + 20)}" is not closed`);
}

/** Cuts inline text into its parts; throws where a sign is not closed. */
export function parseInline(text: string): InlinePart[] {
  const parts: InlinePart[] = [];
  let plain = '';
  const flush = (): void => {
    if (plain !== '') parts.push({ kind: 'text', text: plain });
    plain = '';
  };
  for (let i = 0; i < text.length; i++) {
    const c = text[i] as string;
    const next = text[i + 1] ?? '';
    if (c === '\\' && '`*$[]\\'.includes(next) && next !== '') {
      plain += next;
      i++;
    } else if (c === '`' || c === '$') {
      const end = closing(text, c, i + 1);
      flush();
      parts.push({ kind: c === '`' ? 'code' : 'tex', text: text.slice(i + 1, end) });
      i = end;
    } else if (c === '*') {
      const end = closing(text, '*', i + 1);
      flush();
      parts.push({ kind: 'em', inner: parseInline(text.slice(i + 1, end)) });
      i = end;
    } else if (c === '[') {
      const end = closing(text, ']', i + 1);
      if (text[end + 1] !== '(') {
        plain += c;
        continue;
      }
      const stop = closing(text, ')', end + 2);
      flush();
      parts.push({ kind: 'link', href: text.slice(end + 2, stop), inner: parseInline(text.slice(i + 1, end)) });
      i = stop;
    } else plain += c;
  }
  flush();
  return parts;
}

/** All links of a text, with those inside emphasis. */
export function linksOf(parts: readonly InlinePart[]): string[] {
  return parts.flatMap((p) => (p.kind === 'link' ? [p.href] : p.kind === 'em' ? linksOf(p.inner) : []));
}

function draw(parts: readonly InlinePart[], href: (href: string) => string): ComponentChild[] {
  return parts.map((p) => {
    switch (p.kind) {
      case 'text': return p.text;
      case 'code': return <code>{p.text}</code>;
      case 'tex': return drawTree(typeset(p.text, false));
      case 'em': return <em>{draw(p.inner, href)}</em>;
      case 'link': return <a href={href(p.href)}>{draw(p.inner, href)}</a>;
    }
  });
}

/** Inline text, in the paragraph that is around it. */
export function Inline({ text }: { text: string }): JSX.Element {
  return <>{draw(parseInline(text), useBuild().href)}</>;
}

/** Text whose paragraphs are set apart by an empty line. */
export function Prose({ text }: { text: string }): JSX.Element {
  return <>{text.split(/\n\s*\n/).map((p) => <p><Inline text={p} /></p>)}</>;
}
