/* safetensors.ts -- reads a .safetensors file, which may be anybody's.
 *
 * The format: 8 bytes of length N (little-endian), N bytes of JSON, then the
 * tensors' bytes.  The JSON maps a name to {"dtype", "shape", "data_offsets"}.
 * Everything that the file claims is checked before it is used; an error says
 * which tensor, and what was expected.
 */

export interface RawTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** What is wrong with a file, in one line. */
export class FormatError extends Error {}

const SIZES: Readonly<Record<string, number>> = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, I16: 2, I8: 1, U8: 1, BOOL: 1 };
const HEADER_LIMIT = 100_000_000;

function natural(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function entry(name: string, value: unknown, data: Uint8Array): RawTensor {
  if (typeof value !== 'object' || value === null) throw new FormatError(`tensor ${name}: expected an object with dtype, shape, data_offsets`);
  const { dtype, shape, data_offsets: offsets } = value as Record<string, unknown>;
  const size = typeof dtype === 'string' && Object.hasOwn(SIZES, dtype) ? SIZES[dtype] : undefined;
  if (typeof dtype !== 'string' || size === undefined) throw new FormatError(`tensor ${name}: dtype ${JSON.stringify(dtype)}; expected one of ${Object.keys(SIZES).join(', ')}`);
  if (!Array.isArray(shape) || !shape.every(natural)) throw new FormatError(`tensor ${name}: shape ${JSON.stringify(shape)}; expected a list of sizes`);
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(natural)) throw new FormatError(`tensor ${name}: data_offsets; expected two positions`);
  const [begin, end] = offsets as [number, number];
  const count = (shape as number[]).reduce((n, s) => n * s, 1);
  if (end < begin || end > data.length) throw new FormatError(`tensor ${name}: bytes ${begin} to ${end}; the file has ${data.length} bytes of tensors`);
  if (end - begin !== count * size) throw new FormatError(`tensor ${name}: ${end - begin} bytes; shape ${JSON.stringify(shape)} of ${dtype} needs ${count * size}`);
  return { name, dtype, shape: shape as number[], bytes: data.subarray(begin, end) };
}

/** The names at the top of the header, as often as they stand there: JSON.parse keeps only the last of two. */
function namesOf(text: string): readonly string[] {
  const names: string[] = [];
  let depth = 0;
  for (const [piece] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"\s*:?|[{}[\]]/g)) {
    if (piece === '{' || piece === '[') depth++;
    else if (piece === '}' || piece === ']') depth--;
    else if (depth === 1 && piece.endsWith(':')) names.push(JSON.parse(piece.slice(0, -1)) as string);
  }
  return names;
}

/** The tensors' bytes are all of the data, each once: no overlap, no gap, nothing behind. */
function checkCover(tensors: Iterable<RawTensor>, data: Uint8Array): void {
  const begin = (t: RawTensor): number => t.bytes.byteOffset - data.byteOffset;
  let at = 0;
  for (const t of [...tensors].sort((a, b) => begin(a) - begin(b) || a.bytes.length - b.bytes.length)) {
    if (begin(t) !== at) throw new FormatError(`tensor ${t.name}: begins at byte ${begin(t)} of the data; expected ${at}, where the one before it ends`);
    at += t.bytes.length;
  }
  if (at !== data.length) throw new FormatError(`${data.length - at} bytes behind the last tensor; expected none`);
}

/** All tensors of a file, by name, in the order of the header. */
export function readSafetensors(file: Uint8Array): ReadonlyMap<string, RawTensor> {
  if (file.length < 8) throw new FormatError(`${file.length} bytes; expected a header of 8 bytes or more`);
  const length = Number(new DataView(file.buffer, file.byteOffset, 8).getBigUint64(0, true));
  if (length > HEADER_LIMIT || length > file.length - 8) throw new FormatError(`a header of ${length} bytes; the file has ${file.length - 8} after its first 8`);
  let header: unknown, text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(file.subarray(8, 8 + length));
    header = JSON.parse(text);
  } catch {
    throw new FormatError('the header is not JSON in UTF-8');
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header)) throw new FormatError('the header is not a JSON object');
  const names = namesOf(text), known = new Set<string>();
  for (const name of names) {
    if (known.has(name)) throw new FormatError(`tensor ${name} stands twice in the header`);
    known.add(name);
  }
  const data = file.subarray(8 + length);
  const tensors = new Map<string, RawTensor>();
  for (const [name, value] of Object.entries(header)) {
    if (name !== '__metadata__') tensors.set(name, entry(name, value, data));
  }
  checkCover(tensors.values(), data);
  return tensors;
}

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -14 * (fraction / 1024);
}

/** The numbers of a tensor, as double; each dtype of numbers is exact in it. */
export function numbers(t: RawTensor): Float64Array {
  const view = new DataView(t.bytes.buffer, t.bytes.byteOffset, t.bytes.byteLength);
  const size = SIZES[t.dtype] ?? 1;
  const word = new DataView(new ArrayBuffer(4));
  const read: Readonly<Record<string, (at: number) => number>> = {
    F64: (at) => view.getFloat64(at, true),
    F32: (at) => view.getFloat32(at, true),
    F16: (at) => half(view.getUint16(at, true)),
    BF16: (at) => { word.setUint32(0, view.getUint16(at, true) << 16 >>> 0); return word.getFloat32(0); },
  };
  const get = read[t.dtype];
  if (!get) throw new FormatError(`tensor ${t.name}: ${t.dtype}; expected F32, F64, F16 or BF16`);
  return Float64Array.from({ length: t.bytes.length / size }, (_, i) => get(i * size));
}

/** The same, as float: what the fast kernels take. */
export function floats(t: RawTensor): Float32Array {
  if (t.dtype === 'F32' && t.bytes.byteOffset % 4 === 0) {
    return new Float32Array(t.bytes.buffer, t.bytes.byteOffset, t.bytes.length / 4).slice();
  }
  return Float32Array.from(numbers(t));
}
