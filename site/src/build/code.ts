/* code.ts -- source lines, highlighted at build by Shiki.
 *
 * Only the kinds of the tokens are kept (keyword, comment, name of a function
 * that is defined): the colours are the style sheet's.
 */
import { createHighlighterCoreSync, type HighlighterCore } from 'shiki/core';
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript';
import c from 'shiki/langs/c.mjs';
import cmake from 'shiki/langs/cmake.mjs';
import shell from 'shiki/langs/shellscript.mjs';
import python from 'shiki/langs/python.mjs';
import theme from 'shiki/themes/github-light-high-contrast.mjs';
import type { CodeLine, Piece } from '../components/site-data';

let shiki: HighlighterCore | null = null;
function highlighter(): HighlighterCore {
  shiki ??= createHighlighterCoreSync({ themes: [theme], langs: [c, cmake, shell, python], engine: createJavaScriptRegexEngine() });
  return shiki;
}

function language(file: string): string {
  if (/\.[ch]$|\.def$/.test(file)) return 'c';
  if (/\.py$/.test(file)) return 'python';
  if (/CMakeLists\.txt$|\.cmake$/.test(file)) return 'cmake';
  if (/\.sh$|^run$|^test$|^tools\/[^.]+$/.test(file)) return 'shellscript';
  return 'text';
}

type Kind = Piece[0];
function kindOf(scopes: readonly string[]): Kind {
  if (scopes.some((s) => s.startsWith('comment'))) return 'c';
  const last = scopes[scopes.length - 1] ?? '';
  if (/^(keyword\.(control|operator\.sizeof)|storage\.(type|modifier))/.test(last)) return 'k';
  if (last.startsWith('entity.name.function') && scopes.some((s) => s.includes('function.definition') || s.startsWith('meta.function.c'))) return 'f';
  return '';
}

/** Joins neighbours of one kind. */
function joined(pieces: readonly Piece[]): Piece[] {
  const result: Piece[] = [];
  for (const [kind, text] of pieces) {
    const last = result[result.length - 1];
    if (last && last[0] === kind) result[result.length - 1] = [kind, last[1] + text];
    else result.push([kind, text]);
  }
  return result;
}

/** A comment of labels at the end of a line: one label or more. */
const trailing = /\s*\/\*\s*([a-z]+\.[a-z0-9]+(?:[\s,]+[a-z]+\.[a-z0-9]+)*)\s*\*\/\s*$/;

/** Takes trailing labels off the line's text: they are drawn as links. */
export function cutLabels(line: string): { text: string; labels: string[] } {
  const match = trailing.exec(line);
  if (!match) return { text: line, labels: [] };
  return { text: line.slice(0, match.index), labels: (match[1] as string).split(/[\s,]+/) };
}

const done = new Map<string, CodeLine[]>();

/** All lines of a file, from 1. `known` says which words are labels. */
export function highlight(file: string, text: string, known: (label: string) => boolean): CodeLine[] {
  const ready = done.get(file);
  if (ready) return ready;
  const source = text.endsWith('\n') ? text.slice(0, -1) : text;
  // No time limit: on a busy machine it would cut a line short, and the page would differ.
  const tokens = highlighter().codeToTokensBase(source, { lang: language(file), theme: 'github-light-high-contrast', includeExplanation: 'scopeName', tokenizeTimeLimit: 0 });
  const lines = source.split('\n').map((line, i): CodeLine => {
    const cut = cutLabels(line);
    const labels = cut.labels.every(known) ? cut.labels : [];
    const length = labels.length > 0 ? cut.text.length : line.length;
    const pieces: Piece[] = [];
    let used = 0;
    for (const token of tokens[i] ?? []) {
      for (const part of token.explanation ?? [{ content: token.content, scopes: [] }]) {
        const piece = part.content.slice(0, Math.max(0, length - used));
        used += part.content.length;
        if (piece !== '') pieces.push([kindOf(part.scopes.map((s) => s.scopeName)), piece]);
      }
    }
    return { n: i + 1, pieces: joined(pieces), labels };
  });
  done.set(file, lines);
  return lines;
}
