/* tokenizer.ts -- a tokenizer learned from a few short sentences, and a text encoded with it.
 *
 * Words, merges, counts and ids are the C code's.  The counts of pairs that were
 * not merged are sums of products over its words: weight times occurrences, by
 * linear_forward.  Occurrences are read off the ids that C gives each word after
 * the merges so far.
 */
import type { Engine, Tokenizer } from '../engine/types';
import type { Example, ExampleTensor, Ledger, LedgerRow } from './types';
import file from '../../content/inputs/tokenizer.json';
import { visible } from '../components/Tokens';
import { computed, counting, range } from './arithmetic';
import { definitions } from './definitions';

const SPECIAL = ['<|endoftext|>'];
const utf8 = new TextEncoder();

/** Pairs that stand side by side in the table of counts. */
const COMPARED = 5;

export const tokenizerText: { readonly corpus: string; readonly text: string; readonly merges: number } = file;

export interface Word { readonly text: string; readonly bytes: Uint8Array; readonly weight: number }

/** The distinct words of a text, in the order in which they first come, and how often each occurs. */
export function distinctWords(tokenizer: Tokenizer, text: string): readonly Word[] {
  const bytes = utf8.encode(text), decoder = new TextDecoder();
  const found = new Map<string, { bytes: Uint8Array; weight: number }>();
  for (const { start, end } of tokenizer.split(text)) {
    const piece = bytes.slice(start, end), key = decoder.decode(piece);
    const known = found.get(key);
    if (known) known.weight++;
    else found.set(key, { bytes: piece, weight: 1 });
  }
  return Array.from(found, ([word, rest]) => ({ text: word, ...rest }));
}

/** Occurrences of the pair, counted as joining from left to right finds them. */
function occurrences(ids: ArrayLike<number>, left: number, right: number): number {
  let n = 0;
  for (let i = 0; i + 1 < ids.length; i++) {
    if (ids[i] !== left || ids[i + 1] !== right) continue;
    n++;
    i++;
  }
  return n;
}

interface Candidate { readonly left: number; readonly right: number; readonly inWord: Float64Array; readonly count: number }

/** memcmp order, a prefix first. */
function compare(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}

/** Every pair of adjacent tokens inside words, in the order of bpe.best. */
function candidates(engine: Engine, tokenizer: Tokenizer, words: readonly Word[]): readonly Candidate[] {
  const d = definitions(engine, 'f64');
  const weights = Float64Array.from(words, (w) => w.weight), ids = words.map((w) => tokenizer.encode(w.text));
  const seen = new Map<string, Candidate>();
  for (const list of ids) for (let i = 0; i + 1 < list.length; i++) {
    const left = list[i]!, right = list[i + 1]!, key = `${left} ${right}`;
    if (seen.has(key)) continue;
    const inWord = Float64Array.from(ids, (word) => occurrences(word, left, right));
    seen.set(key, { left, right, inWord, count: d.dot(weights, inWord)[0]! });
  }
  return [...seen.values()].sort((p, q) => q.count - p.count || compare(tokenizer.bytes(p.left), tokenizer.bytes(q.left))
    || compare(tokenizer.bytes(p.right), tokenizer.bytes(q.right)));
}

/** What the byte at `at` is part of: its character, and which byte of it. */
function characterAt(text: string, at: number): string {
  let begin = 0;
  for (const character of text) {
    const length = utf8.encode(character).length;
    if (at < begin + length) return length === 1 ? `"${character}"` : `"${character}", byte ${at - begin} of ${length}`;
    begin += length;
  }
  return '';
}

const quoted = (bytes: Uint8Array): string => `"${visible(bytes)}"`;
const hex = (b: number): string => b.toString(16).toUpperCase().padStart(2, '0');

function run(engine: Engine): readonly ExampleTensor[] {
  const { corpus, text, merges: most } = tokenizerText;
  const { merges, counts } = engine.trainTokenizer(corpus, most);
  const M = counts.length, bytes = utf8.encode(text);
  const open: Tokenizer[] = [];
  const after = (n: number): Tokenizer => {                 /* the tokenizer of the first n merges */
    const t = engine.openTokenizer(merges.slice(0, 2 * n), SPECIAL);
    open.push(t);
    return t;
  };
  try {
    const tokenizer = after(M), words = distinctWords(tokenizer, corpus);
    const pieces = tokenizer.split(text), ids = tokenizer.encode(text);
    /* ledgers are asked for later, when the tokenizers are closed: what they need is kept */
    const token = range(tokenizer.size).map((id) => tokenizer.bytes(id));
    const inCorpus = tokenizer.split(corpus).map((p) => visible(utf8.encode(corpus).slice(p.start, p.end)));
    const name = (id: number): string => quoted(token[id]!);
    const pairName = (left: number, right: number): string => `${name(left)} ${name(right)}`;
    const pairs = range(M).map((r) => candidates(engine, after(r), words));
    const compared = Math.min(COMPARED, ...pairs.map((p) => p.length));
    const pieceText = pieces.map((p) => visible(bytes.slice(p.start, p.end)));
    const steps = pieces.map((p) => tokenizer.merges(new TextDecoder().decode(bytes.slice(p.start, p.end))));

    /* which piece each token of the text comes from */
    const tokenPiece: number[] = [];
    pieces.forEach((p, k) => range(tokenizer.encode(new TextDecoder().decode(bytes.slice(p.start, p.end))).length).forEach(() => tokenPiece.push(k)));
    const longest = steps.reduce((best, s, k) => (s.length > steps[best]!.length ? k : best), 0);
    const shown = steps[longest]!;
    const rankOf = (left: number, right: number): number => range(M).find((r) => merges[2 * r] === left && merges[2 * r + 1] === right) ?? Infinity;
    const byteNames = Array.from(bytes, (_, i) => visible(bytes.slice(i, i + 1)));
    const tokenNames = Array.from(ids, (id) => visible(tokenizer.bytes(id)));
    const mergeNames = range(M).map((r) => visible(tokenizer.bytes(256 + r)));
    const back = Float64Array.from(utf8.encode(tokenizer.decode(ids)));
    const owner: number[] = [];
    ids.forEach((id, k) => tokenizer.bytes(id).forEach(() => owner.push(k)));

    const countLedger = (r: number, column: number): Ledger => {
      const pair = pairs[r]![column]!;
      const rows: LedgerRow[] = words.map((w, k) => ({
        head: `"${visible(w.bytes)}"`, cells: [w.weight, pair.inWord[k]!, w.weight * pair.inWord[k]!], ...(pair.inWord[k]! > 0 ? { chosen: true } : {}),
      }));
      return {
        columns: ['times in the text', 'pairs in the word', 'product'], operators: ['', '×', '='], rows,
        total: { head: 'sum', cells: [null, null, pair.count] },
        sentence: `count(${pairName(pair.left, pair.right)}) = ${pair.count}${column === 0 ? ': the pair that merge ' + r + ' joins' : ''}`,
      };
    };
    const one = (t: { id: string; tex: string; title: string; letters: string; data: Float64Array; columns: readonly string[]; columnAxis: string }, label: string | null,
      ledger: (column: number) => Ledger): ExampleTensor => counting(computed({ ...t, shape: [t.data.length] }, label, (_, column) => ledger(column)));

    return [
      one({ id: 'bytes', tex: 'b', title: 'Bytes of the text', letters: '(n)', data: Float64Array.from(bytes), columns: byteNames, columnAxis: 'byte' }, 'bpe.byte',
        (i) => ({
          columns: ['value'],
          rows: [{ head: characterAt(text, i), cells: [`0x${hex(bytes[i]!)}`] }],
          total: { head: `b[${i}]`, cells: [bytes[i]!] },
          sentence: `b[${i}] = ${bytes[i]}: a token of its own, before any merge`,
        })),
      counting(computed({ id: 'pieces', tex: 'w', title: 'Words: the first byte of each, and the byte behind it', shape: [pieces.length, 2], letters: '(words, 2)',
        data: Float64Array.from(pieces.flatMap((p) => [p.start, p.end])), rows: pieceText, rowAxis: 'word', columns: ['begins', 'ends'], columnAxis: 'byte' }, 'bpe.split',
        (k, column) => {
          const p = pieces[k]!;
          return {
            columns: ['byte'],
            rows: range(p.end - p.start).map((i) => ({ head: byteNames[p.start + i]!, cells: [p.start + i] })),
            total: { head: column === 0 ? 'begins' : 'ends', cells: [column === 0 ? p.start : p.end] },
            sentence: `word ${k} is "${pieceText[k]}", bytes ${p.start} to ${p.end - 1}`,
          };
        })),
      one({ id: 'weights', tex: '\\mathrm{weight}', title: 'How often each distinct word stands in the training text', letters: '(distinct words)',
        data: Float64Array.from(words, (w) => w.weight), columns: words.map((w) => visible(w.bytes)), columnAxis: 'word' }, 'bpe.split',
        (k) => ({
          columns: ['found'],
          rows: inCorpus.flatMap((w, i) => (w === visible(words[k]!.bytes) ? [{ head: `word ${i}`, cells: [1] }] : [])),
          total: { head: 'sum', cells: [words[k]!.weight] },
          sentence: `"${visible(words[k]!.bytes)}" occurs ${words[k]!.weight} times`,
        })),
      counting(computed({ id: 'counts', tex: '\\mathrm{count}', title: 'Pairs of largest count before each merge', shape: [M, compared], letters: '(M, pairs)',
        data: Float64Array.from(pairs.flatMap((p) => p.slice(0, compared).map((c) => c.count))), rows: mergeNames.map((m, r) => `${r}: ${m}`), rowAxis: 'merge',
        columns: range(compared).map((k) => (k === 0 ? 'joined' : `next ${k}`)), columnAxis: 'pairs in order' }, 'bpe.count', countLedger)),
      one({ id: 'best', tex: '\\max\\mathrm{count}', title: 'Count of the pair that each merge joins', letters: '(M)', data: Float64Array.from(counts), columns: mergeNames, columnAxis: 'merge' }, 'bpe.best',
        (r) => ({
          columns: ['count'],
          rows: pairs[r]!.slice(0, compared).map((p, k) => ({ head: pairName(p.left, p.right), cells: [p.count], ...(k === 0 ? { chosen: true } : {}) })),
          total: { head: 'largest', cells: [counts[r]!] },
          sentence: `merge ${r} joins ${pairName(merges[2 * r]!, merges[2 * r + 1]!)}, which occurs ${counts[r]} times${pairs[r]![1]?.count === counts[r] ? '; of equal counts the smallest bytes go first' : ''}`,
        })),
      counting(computed({ id: 'merges', tex: 'a,\\, b \\to z', title: 'What each merge joins, and the id that it makes', shape: [M, 3], letters: '(M, 3)',
        data: Float64Array.from(range(M).flatMap((r) => [merges[2 * r]!, merges[2 * r + 1]!, 256 + r])), rows: mergeNames, rowAxis: 'merge', columns: ['a', 'b', 'z'], columnAxis: 'id' }, 'bpe.merge',
        (r, column) => {
          const three = [merges[2 * r]!, merges[2 * r + 1]!, 256 + r] as const;
          return {
            columns: ['bytes', 'id'],
            rows: [{ head: 'a', cells: [name(three[0]), three[0]], chosen: column === 0 }, { head: 'b', cells: [name(three[1]), three[1]], chosen: column === 1 },
              { head: 'z', cells: [name(three[2]), three[2]], chosen: column === 2 }],
            total: { head: ['a', 'b', 'z'][column]!, cells: [null, three[column]!] },
            sentence: `bytes(${three[2]}) = ${name(three[0])} then ${name(three[1])} = ${name(three[2])}`,
          };
        })),
      one({ id: 'ranks', tex: '\\mathrm{rank}', title: `Merges inside the word "${pieceText[longest]}", in the order in which they are done`, letters: '(steps)',
        data: Float64Array.from(shown, (s) => s.rank), columns: shown.map((_, k) => `step ${k}`), columnAxis: 'step' }, 'bpe.rank',
        (k) => {
          const s = shown[k]!;
          return {
            columns: ['rank of the pair'],
            rows: range(s.ids.length - 1).map((i) => {
              const rank = rankOf(s.ids[i]!, s.ids[i + 1]!);
              return { head: pairName(s.ids[i]!, s.ids[i + 1]!), cells: [rank === Infinity ? 'no merge' : rank], ...(i === s.at ? { chosen: true } : {}) };
            }),
            total: { head: 'least', cells: [s.rank] },
            sentence: `step ${k}: ${Array.from(s.ids, name).join(' ')}; rank ${s.rank} is the least, so ${pairName(s.ids[s.at]!, s.ids[s.at + 1]!)} becomes ${name(256 + s.rank)}`,
          };
        }),
      one({ id: 'ids', tex: '\\mathrm{id}', title: 'Ids of the text', letters: '(T)', data: Float64Array.from(ids), columns: tokenNames, columnAxis: 'token' }, 'bpe.encode',
        (k) => {
          const piece = tokenPiece[k]!, done = steps[piece]!;
          return {
            columns: ['tokens of the word', 'rank'],
            rows: done.length === 0 ? [{ head: 'no merge', cells: [quoted(token[ids[k]!]!), ''] }]
              : done.map((s, i) => ({ head: `step ${i}`, cells: [Array.from(s.ids, (id) => visible(token[id]!)).join('\u2009|\u2009'), s.rank] })),
            total: { head: quoted(token[ids[k]!]!), cells: [null, ids[k]!] },
            sentence: `word "${pieceText[piece]}" after ${done.length} ${done.length === 1 ? 'merge' : 'merges'}; this token has id ${ids[k]}`,
          };
        }),
      one({ id: 'back', tex: '\\mathrm{decode}', title: 'Bytes that the ids give back', letters: '(n)', data: back, columns: byteNames, columnAxis: 'byte' }, 'bpe.decode',
        (i) => {
          const k = owner[i]!, from = owner.indexOf(k);
          return {
            columns: ['byte'],
            rows: Array.from(token[ids[k]!]!, (b, j) => ({ head: `byte ${j} of token ${ids[k]}`, cells: [b], ...(from + j === i ? { chosen: true } : {}) })),
            total: { head: characterAt(text, i), cells: [back[i]!] },
            sentence: `token ${ids[k]} is ${name(ids[k]!)}; its byte ${i - from} is ${back[i]}, the text's ${bytes[i]}`,
          };
        }),
    ];
  } finally {
    open.forEach((t) => t.close());
  }
}

export const example: Example = {
  id: 'tokenizer',
  inputs: { corpus: Array.from(utf8.encode(tokenizerText.corpus)), text: Array.from(utf8.encode(tokenizerText.text)), merges: [tokenizerText.merges] },
  run,
};
