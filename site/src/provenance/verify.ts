/* verify.ts -- loads an exported model and says whether it is what its manifest names.
 *
 * Each file's sha256 is recomputed here, in the page.  A file that differs is an
 * error, and nothing of the folder is used.  On plain http a browser has no
 * digest: then the verdict is "cannot", never "match".
 */
import { whole } from '../engine/later';
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

/** A verified model, ready to run. */
export interface Verified {
  readonly folder: string;
  readonly manifest: Manifest;
  /** manifest.json itself, compared with manifest.sha256. */
  readonly manifestFile: VerifiedFile;
  readonly files: readonly VerifiedFile[];
  readonly sizes: Sizes;
  readonly model: Model;
  /** A parameter by its name in the code ("h.0.qkvw"), as the checkpoint holds it. */
  readonly parameter: (name: string) => Float64Array;
  readonly tokenizer: Tokenizer;
}
/** The same with all files of its folder. */
export interface VerifiedModel extends Verified {
  /** The exported tensors, as the native program computed them. */
  readonly window: Tensors;
  readonly metrics: string;
}

/** Some file is not what the manifest names: `files` says which. */
export class MismatchError extends Error {
  constructor(readonly files: readonly VerifiedFile[]) {
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

/** A folder's manifest. */
export interface Folder {
  readonly manifest: Manifest;
  readonly manifestFile: VerifiedFile;
}

/** The manifest, compared with its own hash in manifest.sha256 before anything in it is believed. */
export async function fetchManifest(folder: string): Promise<Folder> {
  const [bytes, seal] = await Promise.all([fetchBytes(`${folder}manifest.json`), fetchBytes(`${folder}manifest.sha256`)]);
  const line = text(seal), known = /^([0-9a-f]{64}) {2}manifest\.json\n$/.exec(line);
  const manifestFile = await check('manifest.json', bytes, known?.[1] ?? line.slice(0, 64));
  if (manifestFile.verdict === 'mismatch' || !known) throw new MismatchError([{ ...manifestFile, verdict: 'mismatch' }]);
  return { manifest: readManifest(text(bytes)), manifestFile };
}

interface Contents {
  readonly files: readonly VerifiedFile[];
  readonly file: (name: string) => Uint8Array<ArrayBuffer>;
}

/** Fetches and verifies the files of a folder that its manifest names and `wanted` takes; nothing is handed out where one differs. */
async function fetchVerified(folder: string, manifest: Manifest, wanted: (name: string) => boolean): Promise<Contents> {
  const contents = new Map<string, Uint8Array<ArrayBuffer>>();
  const files = await Promise.all(Object.entries(manifest.files).filter(([name]) => wanted(name)).map(async ([name, { sha256: expected }]) => {
    const bytes = await fetchBytes(folder + name);
    contents.set(name, bytes);
    return check(name, bytes, expected);
  }));
  if (files.some((f) => f.verdict === 'mismatch')) throw new MismatchError(files);
  return {
    files,
    file: (name) => {
      const bytes = contents.get(name);
      if (!bytes) throw new FormatError(`manifest.json names no ${name}`);
      return bytes;
    },
  };
}

function open(folder: string, known: Folder, { files, file }: Contents, engine: Engine): Verified {
  const m = known.manifest.model;
  const sizes: Sizes = { L: m.layers, C: m.channels, NH: m.heads, FF: m.ff, T: m.context, V: m.vocabulary, tied: m.tied };
  const parameters = readSafetensors(file('model.safetensors'));
  const model = engine.openModel(sizes, (name) => {
    const t = parameters.get(name);
    if (!t) throw new FormatError(`model.safetensors has no tensor ${name}`);
    return floats(t);
  });
  const { merges, special, order } = readTokenizerFile(text(file('tokenizer.json')));
  return {
    ...known, folder, sizes, model, files: [known.manifestFile, ...files],
    parameter: (name) => {
      const found = model.parameters.find((p) => p.name === name);
      const t = found ? parameters.get(found.file) : undefined;
      if (!t) throw new FormatError(`the model has no parameter ${name}`);
      return numbers(t);
    },
    tokenizer: engine.openTokenizer(merges, special, order),
  };
}

/** Fetches, verifies and opens the model in `folder` (an address that ends in "/"), with its window and its log. */
export async function loadVerified(folder: string, engine: Engine): Promise<VerifiedModel> {
  await whole(engine);
  const known = await fetchManifest(folder);
  const contents = await fetchVerified(folder, known.manifest, () => true);
  const window = new Map<string, Tensor>();
  for (const [name, t] of readSafetensors(contents.file('window.safetensors'))) {
    window.set(name, { name, shape: t.shape, data: numbers(t) });
  }
  return { ...open(folder, known, contents, engine), window, metrics: text(contents.file('metrics.jsonl')) };
}

/** Files that a model does not need to run: of the playground's model they are far larger than the model. */
const BESIDE = ['window.safetensors', 'metrics.jsonl'];

/** The same without window and log: what it takes to run the model. */
export async function loadModel(folder: string, engine: Engine): Promise<Verified> {
  await whole(engine);
  const known = await fetchManifest(folder);
  return open(folder, known, await fetchVerified(folder, known.manifest, (name) => !BESIDE.includes(name)), engine);
}

/** The log of the run that made the model, verified. */
export async function loadLog(folder: string): Promise<Folder & { readonly file: VerifiedFile; readonly log: string }> {
  const known = await fetchManifest(folder);
  if (!Object.hasOwn(known.manifest.files, 'metrics.jsonl')) throw new FormatError('this model came without the log of its run');
  const { files, file } = await fetchVerified(folder, known.manifest, (name) => name === 'metrics.jsonl');
  return { ...known, file: files[0] as VerifiedFile, log: text(file('metrics.jsonl')) };
}
