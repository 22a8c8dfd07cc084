/* tokenizer-file.ts -- tokenizer.json (Hugging Face's format of a byte-level BPE):
 * merges as pairs of ids, in the order in which they were learned.  Ids may be in any
 * order: ours are the bytes, then the merges; GPT-2's bytes have another.  The older
 * pair of files, vocab.json and merges.txt, says the same.
 */
import type { IdOrder } from '../engine/types';
import { FormatError } from './safetensors';

/** GPT-2's printable stand-ins: each byte is one character, so that a token can be a JSON string. */
function byteCharacters(): string[] {
  const printable = (b: number): boolean => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCodePoint(printable(b) ? b : next++));
}

export interface TokenizerFile {
  /** Pairs of ids. */
  readonly merges: Int32Array;
  readonly special: readonly string[];
  readonly order: IdOrder;
}

type Fields = Readonly<Record<string, unknown>>;
const isObject = (v: unknown): v is Fields => typeof v === 'object' && v !== null && !Array.isArray(v);

/** Any file's text, cut for a message. */
const quoted = (v: unknown): string => {
  const text = JSON.stringify(v) ?? String(v);
  return text.length > 60 ? `${text.slice(0, 60)}\u2026` : text;
};

function json(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FormatError(`${file} is not JSON`);
  }
}

/** token -> id; every id from 0 on, each once. */
function readVocabulary(file: string, vocab: Fields, more: readonly (readonly [string, unknown])[]): Map<string, number> {
  const ids = new Map<string, number>();
  for (const [token, id] of [...Object.entries(vocab), ...more]) {
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0) throw new FormatError(`${file}: token ${quoted(token)} has id ${quoted(id)}; expected a number from 0 on`);
    ids.set(token, id);
  }
  if (new Set(ids.values()).size !== ids.size) throw new FormatError(`${file}: two tokens have the same id`);
  for (const [token, id] of ids) if (id >= ids.size) throw new FormatError(`${file}: token ${quoted(token)} has id ${id}; there are ${ids.size} tokens`);
  return ids;
}

function build(file: string, ids: Map<string, number>, merges: readonly unknown[]): TokenizerFile {
  const find = (token: unknown, what: string): number => {
    const id = typeof token === 'string' ? ids.get(token) : undefined;
    if (id === undefined) throw new FormatError(`${file}: ${what}: ${quoted(token)} is no token`);
    return id;
  };
  const bytes = Int32Array.from(byteCharacters(), (character, byte) => find(character, `byte ${byte}`));
  const there = new Set<number>(bytes);
  const pairs = new Int32Array(2 * merges.length), made = new Int32Array(merges.length);
  merges.forEach((merge, i) => {
    const pair: readonly unknown[] = Array.isArray(merge) ? merge : typeof merge === 'string' ? merge.split(' ') : [];
    if (pair.length !== 2) throw new FormatError(`${file}: merge ${i}: ${quoted(merge)}; expected two tokens`);
    pair.forEach((half, k) => {
      const id = find(half, `merge ${i}`);
      if (!there.has(id)) throw new FormatError(`${file}: merge ${i}: ${quoted(half)} is no earlier token`);
      pairs[2 * i + k] = id;
    });
    made[i] = find(`${String(pair[0])}${String(pair[1])}`, `merge ${i}`);
    there.add(made[i] as number);
  });
  const special = [...ids].filter(([, id]) => !there.has(id)).map(([token]) => token);
  if (special.length !== 1) throw new FormatError(`${file}: ${special.length} tokens are neither bytes nor merges (${special.slice(0, 3).map(quoted).join(', ')}); expected one, the end of a text`);
  return { merges: pairs, special, order: { bytes, made, end: ids.get(special[0] as string) as number } };
}

/** tokenizer.json */
export function readTokenizerFile(text: string): TokenizerFile {
  const file = 'tokenizer.json';
  const value = json(file, text);
  const model = isObject(value) ? value.model : undefined;
  if (!isObject(value) || !isObject(model) || !isObject(model.vocab) || !Array.isArray(model.merges)) {
    throw new FormatError(`${file}: expected model.vocab and model.merges of a byte-level BPE`);
  }
  if (typeof model.type === 'string' && model.type !== 'BPE') throw new FormatError(`${file}: model.type ${quoted(model.type)}; expected "BPE"`);
  const added = Array.isArray(value.added_tokens) ? value.added_tokens.filter(isObject) : [];
  const more = added.flatMap((t) => (typeof t.content === 'string' ? [[t.content, t.id] as const] : []));
  return build(file, readVocabulary(file, model.vocab, more), model.merges);
}

/** vocab.json and merges.txt (a merge a line, a first line of comment), as GPT-2 was published. */
export function readVocabularyAndMerges(vocab: string, merges: string): TokenizerFile {
  const value = json('vocab.json', vocab);
  if (!isObject(value)) throw new FormatError('vocab.json: expected an object of tokens and ids');
  const lines = merges.split('\n').filter((line, i) => line.trim() !== '' && !(i === 0 && line.startsWith('#')));
  return build('merges.txt', readVocabulary('vocab.json', value, []), lines.map((line) => line.trimEnd()));
}
