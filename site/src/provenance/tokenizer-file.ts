/* tokenizer-file.ts -- tokenizer.json (Hugging Face's format of a byte-level BPE):
 * merges as pairs of ids, in the order in which they were learned.
 */
import { FormatError } from './safetensors';

/** GPT-2's printable stand-ins: each byte is one character, so that a token can be a JSON string. */
function byteCharacters(): string[] {
  const printable = (b: number): boolean => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCodePoint(printable(b) ? b : next++));
}

export interface TokenizerFile {
  /** Pairs of ids; merge i makes id 256 + i. */
  readonly merges: Int32Array;
  readonly special: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;
const isObject = (v: unknown): v is Fields => typeof v === 'object' && v !== null && !Array.isArray(v);

export function readTokenizerFile(text: string): TokenizerFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FormatError('tokenizer.json is not JSON');
  }
  const model = isObject(value) ? value.model : undefined;
  if (!isObject(model) || !isObject(model.vocab) || !Array.isArray(model.merges)) {
    throw new FormatError('tokenizer.json: expected model.vocab and model.merges');
  }
  const vocab = new Map(Object.entries(model.vocab));
  byteCharacters().forEach((character, byte) => {
    if (vocab.get(character) !== byte) {
      throw new FormatError(`tokenizer.json: byte ${byte} has id ${String(vocab.get(character))}; expected ids 0 to 255 to be the bytes`);
    }
  });
  const merges = new Int32Array(2 * model.merges.length);
  model.merges.forEach((merge: unknown, i: number) => {
    const pair = Array.isArray(merge) ? merge : typeof merge === 'string' ? merge.split(' ') : [];
    const [left, right] = pair as unknown[];
    const made = typeof left === 'string' && typeof right === 'string' && pair.length === 2 ? vocab.get(left + right) : undefined;
    if (made !== 256 + i) throw new FormatError(`tokenizer.json: merge ${i} makes id ${String(made)}; expected ${256 + i}`);
    for (const [k, half] of [left, right].entries()) {
      const id = vocab.get(half as string);
      if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id >= 256 + i) {
        throw new FormatError(`tokenizer.json: merge ${i}: ${JSON.stringify(half)} is no earlier token`);
      }
      merges[2 * i + k] = id;
    }
  });
  const first = 256 + model.merges.length;
  const special: string[] = [];
  for (const [token, id] of vocab) {
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0) throw new FormatError(`tokenizer.json: token ${JSON.stringify(token)} has id ${String(id)}`);
    if (id >= first + 1024) throw new FormatError(`tokenizer.json: token ${JSON.stringify(token)} has id ${id}; ${first} ids are bytes and merges`);
    if (id >= first) special[id - first] = token;
  }
  for (let i = 0; i < special.length; i++) {
    if (special[i] === undefined) throw new FormatError(`tokenizer.json: no token has id ${first + i}`);
  }
  return { merges, special };
}
