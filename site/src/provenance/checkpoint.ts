/* checkpoint.ts -- a visitor's own checkpoint: files from the disk, which may be anybody's.
 *
 * model.safetensors and tokenizer.json (or GPT-2's vocab.json and merges.txt), config.json
 * for what stands nowhere else.  Every size is taken from the tensors' shapes and
 * every tensor's shape is compared before the model is given memory.  A message says which
 * file, which tensor, and what was expected.
 */
import type { Sizes } from '../engine/types';
import { FormatError, floats, readSafetensors, type RawTensor } from './safetensors';
import { readTokenizerFile, readVocabularyAndMerges, type TokenizerFile } from './tokenizer-file';

export interface Checkpoint {
  readonly sizes: Sizes;
  readonly tokenizer: TokenizerFile;
  /** A tensor by its name in the library's list. */
  readonly tensor: (file: string) => Float32Array;
  readonly parameters: number;
  /** Which of the files were used. */
  readonly used: readonly string[];
}

export interface OwnFile {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Numbers of a model, its embedding counted twice, that the library's check of sizes allows where an address has 32 bits. */
const MOST_NUMBERS = Math.floor((2 ** 32 - 1) / 64);
/** More than a browser's 32-bit module can hold beside its own arrays. */
export const LARGEST_FILE = 1.6e9;
export const KNOWN_FILES = ['model.safetensors', 'tokenizer.json', 'vocab.json', 'merges.txt', 'config.json'] as const;

/** The file that a name means; null where none is meant. */
export function meant(name: string): (typeof KNOWN_FILES)[number] | null {
  const plain = name.toLowerCase();
  const exact = KNOWN_FILES.find((known) => known === plain);
  if (exact) return exact;
  return plain.endsWith('.safetensors') && !plain.startsWith('state') && !plain.startsWith('window') ? 'model.safetensors' : null;
}

const PREFIX = 'transformer.';
const shapeText = (shape: readonly number[]): string => `(${shape.join(', ')})`;

/** The names as the library has them: the published GPT-2 leaves the prefix out. */
function named(tensors: ReadonlyMap<string, RawTensor>): ReadonlyMap<string, RawTensor> {
  if (!tensors.has('wte.weight')) return tensors;
  return new Map([...tensors].map(([name, t]) => [name === 'lm_head.weight' ? name : PREFIX + name, t]));
}

function need(tensors: ReadonlyMap<string, RawTensor>, name: string, rank: number): RawTensor {
  const t = tensors.get(name);
  if (!t) throw new FormatError(`model.safetensors has no tensor ${name}; expected the names of a GPT-2 (Hugging Face's)`);
  if (t.shape.length !== rank || t.shape.some((s) => s < 1)) throw new FormatError(`model.safetensors, tensor ${name}: shape ${shapeText(t.shape)}; expected ${rank} sizes of at least 1`);
  return t;
}

type Fields = Readonly<Record<string, unknown>>;

function readConfig(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FormatError('config.json is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new FormatError('config.json: expected an object');
  return value as Fields;
}

/** What the library computes: one activation, one epsilon. Unknown ones are refused, never guessed. */
function checkKind(config: Fields): void {
  const { model_type: type, activation_function: activation, layer_norm_epsilon: epsilon, scale_attn_weights: scaled, scale_attn_by_inverse_layer_idx: byLayer } = config;
  if (type !== undefined && type !== 'gpt2') throw new FormatError(`config.json: model_type ${JSON.stringify(type)}; expected "gpt2"`);
  if (activation !== undefined && activation !== 'gelu_new' && activation !== 'gelu_pytorch_tanh') throw new FormatError(`config.json: activation_function ${JSON.stringify(activation)}; expected "gelu_new", the tanh form`);
  if (epsilon !== undefined && epsilon !== 1e-5) throw new FormatError(`config.json: layer_norm_epsilon ${JSON.stringify(epsilon)}; expected 1e-05`);
  if (scaled === false || byLayer === true) throw new FormatError('config.json: attention is scaled in another way; expected division by the root of the head\u2019s width');
}

/** Heads stand in no shape: from config.json, or as the visitor says. */
function headsOf(config: Fields | null, said: number | null, channels: number): number {
  const found = config ? config.n_head : said;
  if (found === null) throw new FormatError('config.json is missing, and no tensor says how many heads there are: add it, or fill in the number of heads');
  if (typeof found !== 'number' || !Number.isInteger(found) || found < 1 || channels % found !== 0) {
    throw new FormatError(`${config ? 'config.json: n_head' : 'heads'}: ${JSON.stringify(found)}; expected a divisor of the model's width, ${channels}`);
  }
  return found;
}

function sizesOf(tensors: ReadonlyMap<string, RawTensor>, config: Fields | null, heads: number | null): Sizes {
  const [V, C] = need(tensors, `${PREFIX}wte.weight`, 2).shape as [number, number];
  const [T] = need(tensors, `${PREFIX}wpe.weight`, 2).shape as [number, number];
  let L = 0;
  while (tensors.has(`${PREFIX}h.${L}.ln_1.weight`)) L++;
  if (L === 0) throw new FormatError(`model.safetensors has no tensor ${PREFIX}h.0.ln_1.weight; expected at least one layer`);
  const FF = need(tensors, `${PREFIX}h.0.mlp.c_fc.bias`, 1).shape[0] as number;
  const sizes: Sizes = { L, C, NH: headsOf(config, heads, C), FF, T, V, tied: !tensors.has('lm_head.weight') };
  const said: readonly (readonly [string, number])[] = [['n_layer', L], ['n_embd', C], ['n_positions', T], ['vocab_size', V]];
  for (const [field, found] of said) {
    const value = config?.[field];
    if (value !== undefined && value !== found) throw new FormatError(`config.json: ${field} is ${JSON.stringify(value)}; the tensors say ${found}`);
  }
  const numbers = L * C * (4 * C + 2 * FF + 16) + (2 * V + T + 2) * C;
  if (numbers > MOST_NUMBERS) throw new FormatError(`model.safetensors: ${L} layers of width ${C} and ${V} tokens are ${numbers} numbers; the 32-bit module of a page takes at most ${MOST_NUMBERS}`);
  const { n_inner: inner, tie_word_embeddings: tie } = config ?? {};
  if (inner !== undefined && inner !== null && inner !== FF) throw new FormatError(`config.json: n_inner is ${JSON.stringify(inner)}; the tensors say ${FF}`);
  if (tie === false && sizes.tied) throw new FormatError('model.safetensors has no tensor lm_head.weight; config.json says that the head has weights of its own');
  return sizes;
}

/** Every tensor of a GPT-2 of these sizes, as files hold it. */
export function expectedShapes({ L, C, FF, T, V, tied }: Sizes): ReadonlyMap<string, readonly number[]> {
  const shapes = new Map<string, readonly number[]>([[`${PREFIX}wte.weight`, [V, C]], [`${PREFIX}wpe.weight`, [T, C]]]);
  for (let l = 0; l < L; l++) {
    const put = (name: string, ...shape: number[]): void => { shapes.set(`${PREFIX}h.${l}.${name}`, shape); };
    put('ln_1.weight', C); put('ln_1.bias', C);
    put('attn.c_attn.weight', C, 3 * C); put('attn.c_attn.bias', 3 * C);
    put('attn.c_proj.weight', C, C); put('attn.c_proj.bias', C);
    put('ln_2.weight', C); put('ln_2.bias', C);
    put('mlp.c_fc.weight', C, FF); put('mlp.c_fc.bias', FF);
    put('mlp.c_proj.weight', FF, C); put('mlp.c_proj.bias', C);
  }
  shapes.set(`${PREFIX}ln_f.weight`, [C]).set(`${PREFIX}ln_f.bias`, [C]);
  if (!tied) shapes.set('lm_head.weight', [V, C]);
  return shapes;
}

function checked(t: RawTensor): Float32Array {
  const values = floats(t);
  const bad = values.findIndex((x) => !Number.isFinite(x));
  if (bad >= 0) throw new FormatError(`model.safetensors, tensor ${t.name}: number ${bad} is ${values[bad]}; expected finite numbers`);
  return values;
}

const decode = (file: OwnFile): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(file.bytes);
  } catch {
    throw new FormatError(`${file.name} is not text in UTF-8`);
  }
};

/** Reads and checks the files; `heads` is what the visitor filled in where there is no config.json. */
export function readCheckpoint(files: readonly OwnFile[], heads: number | null): Checkpoint {
  const byKind = new Map(files.flatMap((f) => { const kind = meant(f.name); return kind ? [[kind, f] as const] : []; }));
  const [weights, tokens, vocab, merges, settings] = KNOWN_FILES.map((kind) => byKind.get(kind));
  if (!weights) throw new FormatError('model.safetensors is missing: the weights');
  if (!tokens && !(vocab && merges)) throw new FormatError('tokenizer.json is missing (or vocab.json with merges.txt): without it no text becomes tokens');
  const tensors = named(readSafetensors(weights.bytes));
  const config = settings ? readConfig(decode(settings)) : null;
  if (config) checkKind(config);
  const sizes = sizesOf(tensors, config, heads);
  const shapes = expectedShapes(sizes);
  for (const [name, shape] of shapes) {
    const t = need(tensors, name, shape.length);
    if (t.shape.some((s, k) => s !== shape[k])) throw new FormatError(`model.safetensors, tensor ${name}: shape ${shapeText(t.shape)}; expected ${shapeText(shape)}`);
  }
  const tokenizer = tokens ? readTokenizerFile(decode(tokens)) : readVocabularyAndMerges(decode(vocab as OwnFile), decode(merges as OwnFile));
  const ids = tokenizer.merges.length / 2 + 257;
  if (ids !== sizes.V) throw new FormatError(`${tokens ? 'tokenizer.json' : 'merges.txt'} has ${ids} tokens; the model's embedding has ${sizes.V}`);
  return {
    sizes, tokenizer,
    tensor: (file) => {
      const t = tensors.get(file);
      if (!t) throw new FormatError(`model.safetensors has no tensor ${file}`);
      return checked(t);
    },
    parameters: [...shapes.values()].reduce((n, shape) => n + shape.reduce((m, s) => m * s, 1), 0),
    used: [weights, tokens ?? vocab, tokens ? undefined : merges, settings].flatMap((f) => (f ? [f.name] : [])),
  };
}
