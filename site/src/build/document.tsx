/* document.tsx -- the HTML document around a page: head, policy, style sheets, the page's dictionary of mathematics. */
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { MathTree } from '../components/Tex';
import type { Assets } from './assets';

/** frame-ancestors works in a header only: the server sends it. */
export const policy = [
  "default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "style-src 'self' 'unsafe-inline'", "img-src 'self' data: blob:",
  "connect-src 'self'", "worker-src 'self'", "font-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'",
].join('; ');

export interface DocumentParts {
  readonly title: string;
  readonly description: string;
  /** '' for pages at the top, '../' one folder below. */
  readonly base: string;
  readonly assets: Assets;
  /** Names of the islands on the page: their style sheets are linked. */
  readonly islands: Iterable<string>;
  /** Asked once the body is drawn: whether its parts want all of the engine. */
  readonly whole: () => boolean;
  readonly dictionary: Readonly<Record<string, MathTree>>;
  /** false: the page needs no script but the theme's. */
  readonly scripts: boolean;
  /** Style sheets in the page: then no other file is asked for. */
  readonly style?: string;
  readonly body: VNode;
}

function attribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}

/** JSON that may stand in a script element: no "<" in it. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

/** Properties of islands in single quotes: JSON is full of double ones, which cost six signs each otherwise. */
export function lighterProps(html: string): string {
  return html.replace(/ data-props="([^"]*)"/g, (_, json: string) => ` data-props='${json.replaceAll("'", '&#39;').replaceAll('&quot;', '"')}'`);
}

/** Leaves out the end tags that HTML lets out: the parser puts the same tree together. */
export function lighterTags(html: string): string {
  return html.replace(/<\/(?:li|t[drh]|tbody|thead|d[td]|option)>/g, '');
}

export function renderDocument(d: DocumentParts): string {
  const body = lighterTags(lighterProps(renderToString(d.body))); // first: it fills the dictionary
  const files = d.style === undefined ? [
    `<link rel="icon" href="${d.base}icon.svg">`,
    ...d.assets.styles(d.islands).map((f) => `<link rel="stylesheet" href="${d.base}${f}">`),
    `<script src="${d.base}${d.assets.theme}"></script>`,
  ] : ['<link rel="icon" href="data:,">', `<style>${d.style}</style>`];
  const math = Object.keys(d.dictionary).length > 0 ? [`<script type="application/json" id="tex">${jsonText(d.dictionary)}</script>`] : [];
  return [
    '<!doctype html>',
    `<html lang="en-GB"${d.scripts && !d.whole() ? ' data-engine="core"' : ''}>`,
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${attribute(policy)}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${attribute(d.title)}</title>`,
    `<meta name="description" content="${attribute(d.description)}">`,
    ...files,
    ...(d.scripts ? [`<script type="module" src="${d.base}${d.assets.entry}"></script>`] : []),
    '</head>',
    `<body>${body}${math.join('')}</body>`,
    '</html>',
    '',
  ].join('\n');
}
