/* bits-page.ts -- what the page computes for tools/bits: the same text runs in Node and in Chromium.
 *
 * The numbers and their order are those of tests/bits_dump.c, whose lists of names come in.
 */
import { loadEngine } from '../src/engine/index';
import type { AttentionParameter, Sizes } from '../src/engine/types';
import { toAttentionInputs } from '../src/examples/attention-inputs';

/** Files as text, or as base64 of their bytes; the model's may be empty. */
export interface Task {
  readonly wasm: string;
  /** Lines "example|window NAME COUNT", and "example|window PARAMETER ENTRY". */
  readonly tensors: string;
  readonly steps: string;
  /** Lines "ID TARGET"; empty: no window. */
  readonly tokens: string;
  readonly config: string;
  readonly model: string;
}
/** The bytes of tensors.f64 and steps.f64, as base64. */
export interface Numbers {
  readonly tensors: string;
  readonly steps: string;
}

const STEP = Float64Array.of(1e-30);

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

/** Little-endian, as base64. */
function base64Of(numbers: readonly Float64Array[]): string {
  const view = new DataView(new ArrayBuffer(8 * numbers.reduce((sum, n) => sum + n.length, 0)));
  let at = 0;
  for (const list of numbers) for (const x of list) { view.setFloat64(at, x, true); at += 8; }
  const parts: string[] = [];
  for (let i = 0; i < view.byteLength; i += 0x8000) {
    parts.push(String.fromCharCode(...new Uint8Array(view.buffer, i, Math.min(0x8000, view.byteLength - i))));
  }
  return btoa(parts.join(''));
}

interface Line { readonly of: string; readonly name: string; readonly number: number }
const linesOf = (text: string): Line[] => text.trim().split('\n').map((line) => {
  const [of, name, number] = line.split(' ');
  if (!of || !name || !number) throw new Error(`a line "${line}": expected example or window, a name and a number`);
  return { of, name, number: Number(number) };
});

/** A tensor of a safetensors file of floats, by its name. */
function safetensors(file: Uint8Array): (name: string) => Float32Array {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const size = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + size))) as
    Record<string, { dtype: string; data_offsets: [number, number] } | undefined>;
  return (name) => {
    const entry = header[name];
    if (!entry || entry.dtype !== 'F32') throw new Error(`model.safetensors has no float tensor ${name}`);
    const [from, to] = entry.data_offsets;
    const out = new Float32Array((to - from) / 4);
    for (let i = 0; i < out.length; i++) out[i] = view.getFloat32(8 + size + from + 4 * i, true);
    return out;
  };
}

function sizesOf(config: string): Sizes {
  const c = JSON.parse(config) as Record<string, number | boolean | null | undefined>;
  const integer = (key: string): number => {
    const value = c[key];
    if (!Number.isInteger(value)) throw new Error(`config.json: ${key}: expected an integer`);
    return value as number;
  };
  const C = integer('n_embd');
  return {
    L: integer('n_layer'), C, NH: integer('n_head'), FF: c.n_inner ? integer('n_inner') : 4 * C,
    T: integer('n_positions'), V: integer('vocab_size'), tied: c.tie_word_embeddings !== false,
  };
}

export async function compute(task: Task): Promise<Numbers> {
  const engine = await loadEngine(bytesOf(task.wasm));
  const tensors: Float64Array[] = [], steps: Float64Array[] = [];
  const take = (from: ReadonlyMap<string, { data: Float64Array }>, lines: readonly Line[]): void => {
    for (const line of lines) {
      const tensor = from.get(line.name);
      if (!tensor || tensor.data.length !== line.number) throw new Error(`${line.of}: ${line.name}: expected ${line.number} numbers, found ${tensor?.data.length ?? 'none'}`);
      tensors.push(tensor.data);
    }
  };
  const names = linesOf(task.tensors), entries = linesOf(task.steps);
  const inputs = toAttentionInputs();
  take(engine.attention(inputs), names.filter((line) => line.of === 'example'));
  for (const line of entries.filter((e) => e.of === 'example')) {
    steps.push(engine.attentionDerivative(inputs, line.name as AttentionParameter, line.number, STEP).complex);
  }
  if (task.tokens !== '') {
    const rows = task.tokens.trim().split('\n').map((line) => line.split(' ').map(Number));
    const ids = Int32Array.from(rows, (row) => row[0] ?? -1), targets = Int32Array.from(rows, (row) => row[1] ?? -1);
    const model = engine.openModel(sizesOf(task.config), safetensors(bytesOf(task.model)));
    take(model.run(ids, targets), names.filter((line) => line.of === 'window'));
    for (const line of entries.filter((e) => e.of === 'window')) {
      steps.push(model.derivative(ids, targets, line.name, line.number, STEP).complex);
    }
    model.close();
  }
  return { tensors: base64Of(tensors), steps: base64Of(steps) };
}
