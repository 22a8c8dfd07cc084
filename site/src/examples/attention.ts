/* attention.ts -- the illustrative example: one attention layer, six words, two heads.
 *
 * Forward and backward run in the C code (src/lab/attention_example.c); this module
 * gives each tensor a title, and each cell its ledger.
 */
import type { Engine, Tensors } from '../engine/types';
import type { AttentionInputs } from '../engine/types';
import { attentionNumbers, attentionTokens, toAttentionInputs, type AttentionNumbers } from './attention-inputs';
import type { AttentionLayer, LayerTensor } from './attention-layer';
import { LEDGERS } from './attention-ledgers';
import { LETTERS, MASKED, TENSORS } from './attention-tensors';
import type { Example, ExampleTensor } from './types';

function data(tensors: Tensors, name: string): Float64Array {
  const t = tensors.get(name);
  if (!t) throw new Error(`the attention layer has no tensor ${name}`);
  return t.data;
}

/** Runs the layer. */
export function exampleLayer(engine: Engine, inputs: AttentionInputs, tokens: readonly string[] = attentionTokens): AttentionLayer {
  const tensors = engine.attention(inputs);
  const { T, C, H } = inputs;
  return { source: 'example', T, C, H, HS: C / H, tokens, engine, tensor: (name) => data(tensors, name) };
}

const READS = 'reads from \u00b7 queries, i';
const IS_READ = 'is read \u00b7 keys, j';
const counted = (n: number): string[] => Array.from({ length: n }, (_, k) => String(k));

function shapeOf(layer: AttentionLayer, name: LayerTensor): number[] {
  const { T, C, H } = layer;
  return { TC: [T, C], CC: [C, C], C: [C], HTT: [H, T, T] }[TENSORS[name].form];
}

function toExampleTensor(layer: AttentionLayer, name: LayerTensor): ExampleTensor {
  const f = TENSORS[name];
  const positions = f.row !== 'channel';
  return {
    id: name, tex: f.tex, title: f.title, shape: shapeOf(layer, name), letters: LETTERS[f.form], data: layer.tensor(name),
    scale: name === 'A' ? 'weight' : 'signed',
    rows: f.form === 'C' ? [''] : positions ? layer.tokens : counted(layer.C),
    columns: f.form === 'HTT' ? layer.tokens : counted(layer.C),
    rowAxis: positions ? (f.row === 'reads' ? READS : IS_READ) : f.form === 'C' ? '' : 'channel of the input',
    columnAxis: f.form === 'HTT' ? 'is read \u2192 keys, j' : 'channel',
    masked: MASKED.has(name) ? (row, column) => column > row % layer.T : undefined,
    input: f.label === null, label: f.label,
    ledger: (row, column) => LEDGERS[name](layer, row, column),
  };
}

/* Splitting into heads and merging move nothing: (T, d) and (T, H, d_h) are the same memory. */
function headView(layer: AttentionLayer, id: string, of: 'Q' | 'K' | 'V' | 'O', title: string, label: string): ExampleTensor {
  const { T, C, H, HS } = layer;
  return {
    id, tex: `${of}^{(h)}`, title, shape: [T, H, HS], letters: '(T, H, d\u2095)', data: layer.tensor(of), scale: 'signed',
    rows: Array.from({ length: H }, (_, h) => `head ${h}`), columns: counted(HS), rowAxis: 'head', columnAxis: 'channel of the head', label,
    ledger: (row, column) => {
      const t = Math.floor(row / H);
      const h = row % H;
      const x = h * HS + column;
      const value = layer.tensor(of)[t * C + x] as number;
      return {
        columns: ['head', 'channel', `${of}[${t},${x}]`], operators: ['', ',', '='],
        rows: [{ head: layer.tokens[t] ?? String(t), cells: [String(h), String(column), value], chosen: true }],
        sentence: `${id}[${t},${h},${column}] is ${of}[${t},${x}]: ${h} \u00d7 ${HS} + ${column} = ${x}`,
      };
    },
  };
}

/** Every tensor of a layer, in the order of computation. */
export function layerTensors(layer: AttentionLayer): ExampleTensor[] {
  const all = (Object.keys(TENSORS) as LayerTensor[]).map((name) => toExampleTensor(layer, name));
  return [
    ...all,
    headView(layer, 'Qh', 'Q', 'queries by head', 'attn.split'),
    headView(layer, 'Kh', 'K', 'keys by head', 'attn.split'),
    headView(layer, 'Vh', 'V', 'values by head', 'attn.split'),
    headView(layer, 'Oh', 'O', 'outputs by head', 'attn.merge'),
  ];
}

export const example: Example = {
  id: 'attention',
  core: true,
  inputs: attentionNumbers,
  run: (engine, inputs) => layerTensors(exampleLayer(engine, toAttentionInputs(inputs as unknown as AttentionNumbers))),
};
