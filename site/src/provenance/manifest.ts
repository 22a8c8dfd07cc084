/* manifest.ts -- manifest.json of an exported model: what a page's numbers come from.
 * docs/formats.md describes it; `vitrine export` writes it.
 */
import { FormatError } from './safetensors';

export interface Manifest {
  readonly vitrine: { readonly version: string; readonly commit: string; readonly tree: string; readonly build: string };
  readonly source: 'actual-model-output';
  readonly model: {
    readonly layers: number; readonly channels: number; readonly heads: number; readonly ff: number;
    readonly context: number; readonly vocabulary: number; readonly tied: boolean; readonly parameters: number;
  };
  readonly settings: Readonly<Record<string, unknown>>;
  readonly step: number;
  readonly corpus: Readonly<Record<string, unknown>>;
  readonly tokenizer_rebuilt: { readonly equal: boolean | null; readonly why: string };
  readonly text: string;
  readonly tokens: readonly number[];
  readonly targets: readonly number[];
  readonly loss: number;
  readonly files: Readonly<Record<string, { readonly sha256: string; readonly bytes: number }>>;
  readonly tensors: { readonly sha256: string; readonly count: number; readonly names: readonly string[] };
  readonly checks: Readonly<Record<string, number | string>>;
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function need(ok: boolean, field: string, expected: string): asserts ok {
  if (!ok) throw new FormatError(`manifest.json, ${field}: expected ${expected}`);
}

/** Checks what the pages rely on. */
export function readManifest(text: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FormatError('manifest.json is not JSON');
  }
  need(isObject(value), 'the whole', 'an object');
  const { vitrine, source, model, files, tensors, tokens, targets } = value;
  need(isObject(vitrine) && typeof vitrine.commit === 'string', 'vitrine.commit', 'text');
  need(source === 'actual-model-output', 'source', '"actual-model-output"');
  need(isObject(model), 'model', 'an object of sizes');
  for (const size of ['layers', 'channels', 'heads', 'ff', 'context', 'vocabulary']) {
    const n = model[size];
    need(typeof n === 'number' && Number.isInteger(n) && n >= 1 && n < 2 ** 31, `model.${size}`, 'a size of at least 1');
  }
  need(typeof model.tied === 'boolean', 'model.tied', 'true or false');
  need(isObject(files), 'files', 'an object');
  for (const [name, file] of Object.entries(files)) {
    need(isObject(file) && typeof file.sha256 === 'string' && /^[0-9a-f]{64}$/.test(file.sha256), `files.${name}.sha256`, '64 hexadecimal digits');
  }
  need(isObject(tensors) && Array.isArray(tensors.names) && typeof tensors.sha256 === 'string', 'tensors', 'sha256 and names');
  const vocabulary = model.vocabulary as number;
  const id = (lowest: number) => (n: unknown): boolean => typeof n === 'number' && Number.isInteger(n) && n >= lowest && n < vocabulary;
  need(Array.isArray(tokens) && tokens.every(id(0)), 'tokens', `ids from 0 to ${vocabulary - 1}`);
  need(Array.isArray(targets) && targets.length === tokens.length && targets.every(id(-1)), 'targets', 'one id, or -1, for each token');
  return value as unknown as Manifest;
}
