/* playground.test.ts -- the playground's address, its text of draws, and what it takes of foreign files. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadEngine } from '../src/engine';
import type { Sizes } from '../src/engine/types';
import { collect } from '../src/playground/OwnFiles';
import { pieces } from '../src/playground/Draw';
import { formatPlay, parsePlay, settlePlay, START, type Play } from '../src/playground/state';
import { expectedShapes, meant, readCheckpoint, type OwnFile } from '../src/provenance/checkpoint';
import { readTokenizerFile, readVocabularyAndMerges } from '../src/provenance/tokenizer-file';

describe('address', () => {
  const play: Play = { text: 'a & b = c,\n100 %', layer: 2, head: 1, token: 5, read: 3, temperature: 1.25, topK: 0, topP: 0.5, seed: 2147483647, drawn: 20 };

  it('restores what it wrote', () => {
    expect(parsePlay(formatPlay(play))).toEqual({ state: play, notes: [] });
    expect(parsePlay(formatPlay(START))).toEqual({ state: START, notes: [] });
    expect(formatPlay(START)).toBe('#play');
  });
  it('leaves out what it does not understand, and says so', () => {
    for (const bad of ['t=3', 't=-1', 't=1e9', 'k=101', 'p=1.5', 'seed=4294967296', 'drawn=9999', 'cell=1', 'cell=1,2,3', 'layer=x', 'nonsense', 'text=%E0%A4', '__proto__=1'])
      expect(parsePlay(`#play?${bad}&head=1`), bad).toEqual({ state: { ...START, head: 1 }, notes: [bad] });
    expect(parsePlay('#lab?head=1')).toBeNull();
    expect(parsePlay('#playing')).toBeNull();
  });
  it('keeps a long text out', () => {
    expect(formatPlay({ ...START, text: 'x'.repeat(2001) })).toBe('#play');
    expect(parsePlay(`#play?text=${'x'.repeat(2001)}`)?.notes.length).toBe(1);
  });
  it('settles within a model and a text', () => {
    expect(settlePlay(play, 2, 1, 4)).toMatchObject({ layer: 1, head: 0, token: null, read: null });
    expect(settlePlay(play, 9, 9, 6)).toMatchObject({ layer: 2, head: 1, token: 5, read: 3 });
  });
});

describe('text of draws', () => {
  const draw = (...bytes: number[]) => ({ id: 0, token: '', probability: 1, bytes: Uint8Array.from(bytes) });

  it('holds a character until all of its bytes are there, and never loses one', () => {
    // U+1F60A over two tokens, then a lone byte (RFC 3629; the Encoding Standard says U+FFFD for each)
    const split = [draw(0xf0, 0x9f), draw(0x98, 0x8a), draw(0x41)];
    expect(pieces(split, true)).toEqual(['', '\u{1f60a}', 'A']);
    expect(pieces(split.slice(0, 1), false)).toEqual(['']);
    expect(pieces(split.slice(0, 1), true)).toEqual(['\ufffd']);
    expect(pieces([draw(0x80), draw(0x41)], true)).toEqual(['\ufffd', 'A']);
  });
});

/** A safetensors file, as its definition says: length, header, data. */
function safetensors(tensors: ReadonlyMap<string, readonly number[]>, change: (header: Record<string, { dtype: string; shape: number[]; data_offsets: number[] }>) => void = () => undefined): Uint8Array<ArrayBuffer> {
  const header: Record<string, { dtype: string; shape: number[]; data_offsets: number[] }> = {};
  let at = 0;
  for (const [name, shape] of tensors) {
    const bytes = 4 * shape.reduce((n, s) => n * s, 1);
    header[name] = { dtype: 'F32', shape: [...shape], data_offsets: [at, at + bytes] };
    at += bytes;
  }
  change(header);
  const text = new TextEncoder().encode(JSON.stringify(header));
  const file = new Uint8Array(8 + text.length + at);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  return file;
}

const characters = ((): string[] => {
  const printable = (b: number): boolean => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCodePoint(printable(b) ? b : next++));
})();

/** Ids in GPT-2's order: bytes by their printable stand-ins first; one merge, "th"; one special. */
const foreign = ((): { vocab: Record<string, number>; merges: string } => {
  const order = [...characters].sort((a, b) => (a.codePointAt(0) as number) - (b.codePointAt(0) as number));
  return { vocab: Object.fromEntries([...order.map((c, k) => [c, k] as const), ['th', 256], ['<|endoftext|>', 257]]), merges: '#version: 0.2\nt h\n' };
})();
const tokenizerJson = (change: Record<string, unknown> = {}): string => JSON.stringify({ model: { type: 'BPE', vocab: foreign.vocab, merges: [['t', 'h']], ...change } });

const sizes: Sizes = { L: 2, C: 4, NH: 2, FF: 16, T: 8, V: 258, tied: true };
const config = { model_type: 'gpt2', activation_function: 'gelu_new', n_layer: 2, n_embd: 4, n_head: 2, n_positions: 8, vocab_size: 258, layer_norm_epsilon: 1e-5 };
const file = (name: string, content: Uint8Array<ArrayBuffer> | string): OwnFile => ({ name, bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content });
const good = (): OwnFile[] => [file('model.safetensors', safetensors(expectedShapes(sizes))), file('tokenizer.json', tokenizerJson()), file('config.json', JSON.stringify(config))];
/** The file with one entry of its header again at the header's end, its name spelt as said. */
function twice(name: string, spelt = name): Uint8Array<ArrayBuffer> {
  const bytes = safetensors(expectedShapes(sizes)), length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = new TextDecoder().decode(bytes.subarray(8, 8 + length));
  const text = new TextEncoder().encode(`${header.slice(0, -1)},"${spelt}":${JSON.stringify((JSON.parse(header) as Record<string, unknown>)[name])}}`);
  const out = new Uint8Array(8 + text.length + bytes.length - 8 - length);
  new DataView(out.buffer).setBigUint64(0, BigInt(text.length), true);
  out.set(text, 8);
  out.set(bytes.subarray(8 + length), 8 + text.length);
  return out;
}
const replaced = (name: string, content: Uint8Array<ArrayBuffer> | string): OwnFile[] => good().map((f) => (f.name === name ? file(name, content) : f));

describe('own files', () => {
  it('takes a checkpoint, with config.json or with the heads said', () => {
    const found = readCheckpoint(good(), null);
    expect(found.sizes).toEqual(sizes);
    expect(found.used).toEqual(['model.safetensors', 'tokenizer.json', 'config.json']);
    expect(readCheckpoint(good().slice(0, 2), 2).sizes).toEqual(sizes);
  });
  it('takes GPT-2 as published: no prefix, vocab.json and merges.txt, tensors beside the parameters', () => {
    const plain = new Map([...expectedShapes(sizes)].map(([name, shape]) => [name.replace('transformer.', ''), shape]));
    plain.set('h.0.attn.bias', [1, 1, 8, 8]);
    const files = [file('model.safetensors', safetensors(plain)), file('vocab.json', JSON.stringify(foreign.vocab)), file('merges.txt', foreign.merges), file('config.json', JSON.stringify(config))];
    expect(readCheckpoint(files, null).sizes).toEqual(sizes);
  });
  const refused: readonly (readonly [string, OwnFile[], number | null, RegExp])[] = [
    ['no weights', good().slice(1), null, /^model\.safetensors is missing/],
    ['no tokenizer', [good()[0] as OwnFile], 2, /^tokenizer\.json is missing/],
    ['no heads', good().slice(0, 2), null, /config\.json is missing.*heads/],
    ['heads that do not divide', good().slice(0, 2), 3, /heads: 3; expected a divisor of the model's width, 4/],
    ['another kind', replaced('config.json', JSON.stringify({ ...config, model_type: 'llama' })), null, /model_type "llama"; expected "gpt2"/],
    ['another activation', replaced('config.json', JSON.stringify({ ...config, activation_function: 'relu' })), null, /activation_function "relu"/],
    ['sizes that differ', replaced('config.json', JSON.stringify({ ...config, n_layer: 12 })), null, /n_layer is 12; the tensors say 2/],
    ['a missing tensor', replaced('model.safetensors', safetensors(new Map([...expectedShapes(sizes)].filter(([name]) => name !== 'transformer.h.1.mlp.c_proj.bias')))), null, /no tensor transformer\.h\.1\.mlp\.c_proj\.bias/],
    ['a wrong shape', replaced('model.safetensors', safetensors(expectedShapes(sizes), (h) => { (h['transformer.h.0.attn.c_attn.weight'] as { shape: number[] }).shape = [12, 4]; })), null, /tensor transformer\.h\.0\.attn\.c_attn\.weight: shape \(12, 4\); expected \(4, 12\)/],
    ['a size without end', replaced('model.safetensors', safetensors(expectedShapes(sizes), (h) => { (h['transformer.wte.weight'] as { shape: number[] }).shape = [2 ** 40, 4]; })), null, /transformer\.wte\.weight/],
    ['offsets beyond the file', replaced('model.safetensors', safetensors(expectedShapes(sizes), (h) => { (h['transformer.wte.weight'] as { data_offsets: number[] }).data_offsets = [0, 2 ** 50]; })), null, /transformer\.wte\.weight: bytes 0 to/],
    ['two tensors at one place', replaced('model.safetensors', safetensors(expectedShapes(sizes), (h) => { (h['transformer.h.0.ln_2.bias'] as { data_offsets: number[] }).data_offsets = (h['transformer.h.0.ln_1.bias'] as { data_offsets: number[] }).data_offsets; })), null, /tensor transformer\.h\.0\.ln_2\.bias: begins at byte/],
    ['bytes between tensors', replaced('model.safetensors', safetensors(expectedShapes(sizes), (h) => { delete h['transformer.h.1.mlp.c_proj.bias']; })), null, /begins at byte \d+ of the data; expected/],
    ['bytes behind the last tensor', replaced('model.safetensors', Uint8Array.from([...safetensors(expectedShapes(sizes)), 0, 0, 0, 0])), null, /4 bytes behind the last tensor/],
    ['a name that stands twice', replaced('model.safetensors', twice('transformer.ln_f.bias')), null, /tensor transformer\.ln_f\.bias stands twice/],
    ['the same, written otherwise', replaced('model.safetensors', twice('transformer.ln_f.bias', '\\u0074ransformer.ln_f.bias')), null, /tensor transformer\.ln_f\.bias stands twice/],
    ['an inner width that differs', replaced('config.json', JSON.stringify({ ...config, n_inner: 7 })), null, /n_inner is 7; the tensors say 16/],
    ['a head that is missing', replaced('config.json', JSON.stringify({ ...config, tie_word_embeddings: false })), null, /no tensor lm_head\.weight/],
    ['a header that is too long', replaced('model.safetensors', Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 127, 1, 2)), null, /header/],
    ['a model that no page can hold', [file('tokenizer.json', tokenizerJson()), file('model.safetensors', safetensors(new Map([['transformer.wte.weight', [9e6, 4]], ['transformer.wpe.weight', [8, 4]], ['transformer.h.0.ln_1.weight', [4]], ['transformer.h.0.mlp.c_fc.bias', [16]]])))], 2, /are 72000\d+ numbers; the 32-bit module of a page takes at most 67108863/],
    ['no JSON', replaced('tokenizer.json', '{'), null, /^tokenizer\.json is not JSON/],
    ['no UTF-8', replaced('tokenizer.json', Uint8Array.of(0x22, 0xff, 0x22)), null, /^tokenizer\.json is not text in UTF-8/],
    ['another tokenizer', replaced('tokenizer.json', tokenizerJson({ type: 'WordPiece' })), null, /model\.type "WordPiece"/],
    ['tokens of another number', replaced('tokenizer.json', tokenizerJson({ vocab: { ...foreign.vocab, e: foreign.vocab['e'], the: 258 }, merges: [['t', 'h'], ['th', 'e']] })), null, /has 259 tokens; the model's embedding has 258/],
  ];
  for (const [what, files, heads, message] of refused)
    it(`refuses ${what}, and says which`, () => expect(() => readCheckpoint(files, heads)).toThrow(message));

  it('refuses a number that is none', () => {
    const weights = safetensors(expectedShapes(sizes));
    new DataView(weights.buffer).setFloat32(weights.length - 4, NaN, true);
    const found = readCheckpoint(replaced('model.safetensors', weights), null);
    expect(() => found.tensor('transformer.ln_f.bias')).toThrow(/tensor transformer\.ln_f\.bias: number 3 is NaN/);
    expect(found.tensor('transformer.ln_f.weight').length).toBe(4);
  });
  it('knows files by their names, and lets later ones replace earlier ones', () => {
    expect(meant('my-model.safetensors')).toBe('model.safetensors');
    expect(meant('state.safetensors')).toBeNull();
    expect(meant('README.md')).toBeNull();
    const named = (name: string): File => ({ name }) as File;
    expect(collect([named('model.safetensors'), named('tokenizer.json')], [named('other.safetensors')]).map((f) => f.name)).toEqual(['tokenizer.json', 'other.safetensors']);
  });
});

describe('tokenizer files', () => {
  it('reads both forms alike', () => {
    const one = readTokenizerFile(tokenizerJson()), other = readVocabularyAndMerges(JSON.stringify(foreign.vocab), foreign.merges);
    expect(one).toEqual(other);
    expect(one.order.end).toBe(257);
    expect([...one.order.bytes].slice(33, 36)).toEqual([0, 1, 2]); // "!" is the first printable byte
  });
  it('refuses what is no tokenizer', () => {
    const broken: readonly (readonly [Record<string, unknown>, RegExp])[] = [
      [{ vocab: { ...foreign.vocab, th: -1 } }, /token "th" has id -1/],
      [{ vocab: { ...foreign.vocab, th: 1e9 } }, /token "th" has id 1000000000; there are 258 tokens/],
      [{ vocab: { ...foreign.vocab, th: 3 } }, /two tokens have the same id/],
      [{ vocab: { ...foreign.vocab, th: '256' } }, /token "th" has id "256"/],
      [{ merges: [['t', 'q']] }, /merge 0: "tq" is no token/],
      [{ merges: [['th', 'e']] }, /merge 0: "th" is no earlier token/],
      [{ merges: [['t']] }, /merge 0: \["t"\]; expected two tokens/],
      [{ merges: [] }, /2 tokens are neither bytes nor merges/],
    ];
    for (const [change, message] of broken) expect(() => readTokenizerFile(tokenizerJson(change)), String(message)).toThrow(message);
  });

  const wasm = new URL('../../build/wasm/vitrine.wasm', import.meta.url);
  it.skipIf(!existsSync(wasm))('encodes by them, with the ids of the file', async () => {
    const engine = await loadEngine(readFileSync(wasm));
    const { merges, special, order } = readTokenizerFile(tokenizerJson());
    const t = engine.openTokenizer(merges, special, order);
    const ids = [...t.encode('the')];
    expect(ids).toEqual([256, foreign.vocab['e']]);
    expect(t.decode(Int32Array.from(ids))).toBe('the');
  });
});
