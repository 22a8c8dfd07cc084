/* verify.ts -- loads an exported model and says whether it is what its manifest names.
 *
 * Each file's sha256 is recomputed here, in the page.  A file that differs is an
 * error, and nothing of the folder is used.  On plain http a browser has no
 * digest: then the verdict is "cannot", never "match".
 */
import type { Engine, Model, Sizes, Tensor, Tensors, Tokenizer } from '../engine/types';
import { readManifest, type Manifest } from './manifest';
import { FormatError, floats, numbers, readSafetensors } from './safetensors';
import { readTokenizerFile } from './tokenizer-file';

export type Verdict = 'match' | 'mismatch' | 'cannot';

export interface VerifiedFile {
  readonly name: string;
  readonly expected: string;
  readonly found: string | null;
  readonly verdict: Verdict;
  readonly bytes: number;
}

export interface VerifiedModel {
  readonly folder: string;
  readonly manifest: Manifest;
  /** sha256 of manifest.json itself. */
  readonly manifestHash: string | null;
  readonly files: readonly VerifiedFile[];
  readonly sizes: Sizes;
  readonly model: Model;
  /** A parameter by its name in the code ("h.0.qkvw"), as the checkpoint holds it. */
  readonly parameter: (name: string) => Float64Array;
  readonly tokenizer: Tokenizer;
  /** The exported tensors, as the native program computed them. */
  readonly window: Tensors;
  readonly metrics: string;
}

/** Some file is not what the manifest names: `files` says which. */
export class MismatchError extends Error {
  constructor(readonly files: readonly VerifiedFile[], readonly manifest: Manifest) {
    const wrong = files.filter((f) => f.verdict === 'mismatch').map((f) => f.name);
    super(`${wrong.join(', ')}: the sha256 differs from the manifest's; no number of this model is shown`);
  }
}

export async function sha256(bytes: BufferSource): Promise<string | null> {
  const subtle = globalThis.crypto?.subtle;
  if (!subtle) return null;
  const hash = new Uint8Array(await subtle.digest('SHA-256', bytes));
  return Array.from(hash, (b) => b.toString(16).padStart(2, '0')).join('');
}

async function fetchBytes(url: string): Promise<Uint8Array<ArrayBuffer>> {
  const answer = await fetch(url);
  if (!answer.ok) throw new FormatError(`${url}: the server answered ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

async function check(name: string, bytes: Uint8Array<ArrayBuffer>, expected: string): Promise<VerifiedFile> {
  const found = await sha256(bytes);
  return { name, expected, found, verdict: found === null ? 'cannot' : found === expected ? 'match' : 'mismatch', bytes: bytes.length };
}

/** The sha256 over the tensors' little-endian doubles, in the order of `names`. */
export async function tensorsHash(tensors: Tensors, names: readonly string[]): Promise<string | null> {
  const chosen = names.map((name) => {
    const t = tensors.get(name);
    if (!t) throw new FormatError(`tensor ${name} is missing`);
    return t;
  });
  const all = new DataView(new ArrayBuffer(8 * chosen.reduce((n, t) => n + t.data.length, 0)));
  let at = 0;
  for (const t of chosen) for (const x of t.data) { all.setFloat64(at, x, true); at += 8; }
  return sha256(all);
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** Fetches, verifies and opens the model in `folder` (a relative address that ends in "/"). */
export async function loadVerified(folder: string, engine: Engine): Promise<VerifiedModel> {
  const manifestBytes = await fetchBytes(`${folder}manifest.json`);
  const manifest = readManifest(text(manifestBytes));
  const contents = new Map<string, Uint8Array<ArrayBuffer>>();
  const files = await Promise.all(Object.entries(manifest.files).map(async ([name, { sha256: expected }]) => {
    const bytes = await fetchBytes(folder + name);
    contents.set(name, bytes);
    return check(name, bytes, expected);
  }));
  if (files.some((f) => f.verdict === 'mismatch')) throw new MismatchError(files, manifest);

  const file = (name: string): Uint8Array<ArrayBuffer> => {
    const bytes = contents.get(name);
    if (!bytes) throw new FormatError(`manifest.json names no ${name}`);
    return bytes;
  };
  const m = manifest.model;
  const sizes: Sizes = { L: m.layers, C: m.channels, NH: m.heads, FF: m.ff, T: m.context, V: m.vocabulary, tied: m.tied };
  const parameters = readSafetensors(file('model.safetensors'));
  const model = engine.openModel(sizes, (name) => {
    const t = parameters.get(name);
    if (!t) throw new FormatError(`model.safetensors has no tensor ${name}`);
    return floats(t);
  });
  const { merges, special } = readTokenizerFile(text(file('tokenizer.json')));
  const window = new Map<string, Tensor>();
  for (const [name, t] of readSafetensors(file('window.safetensors'))) {
    window.set(name, { name, shape: t.shape, data: numbers(t) });
  }
  return {
    folder, manifest, files, sizes, model, window,
    parameter: (name) => {
      const known = model.parameters.find((p) => p.name === name);
      const t = known ? parameters.get(known.file) : undefined;
      if (!t) throw new FormatError(`the model has no parameter ${name}`);
      return numbers(t);
    },
    manifestHash: await sha256(manifestBytes),
    tokenizer: engine.openTokenizer(merges, special),
    metrics: text(file('metrics.jsonl')),
  };
}
