/* model-layer.ts -- one layer of a trained model as an attention layer: the exported
 * window as the native program computed it, or the visitor's own text, run here in
 * double.  Weights are those of the checkpoint. */
import type { Engine, Tensors } from '../engine/types';
import { columnsOf, type AttentionLayer, type LayerTensor } from '../examples/attention-layer';

/** A number array of the checkpoint, by its name in the code: "h.0.qkvw". */
export type Parameter = (name: string) => Float64Array;

export interface ModelRun {
  readonly tensors: Tensors;
  readonly parameter: Parameter;
  readonly C: number;
  readonly H: number;
  readonly T: number;
  readonly L: number;
  /** Visible texts. */
  readonly tokens: readonly string[];
}

const STAGES: Readonly<Partial<Record<LayerTensor, string>>> = {
  Xn: 'ln1', Q: 'q', K: 'k', V: 'v', scores: 'scores', scaled: 'scaled', masked: 'masked', A: 'att', O: 'values', out: 'attproj',
  dOut: 'dattproj', dO: 'dvalues', dA: 'datt', dS: 'dscaled', dQ: 'dq', dK: 'dk', dV: 'dv', dXn: 'dln1',
};
/* q, k, v are column blocks of one tensor: (C, 3C), and 3C of biases. */
const BLOCKS: Readonly<Partial<Record<LayerTensor, readonly [name: string, block: number]>>> = {
  Wq: ['qkvw', 0], Wk: ['qkvw', 1], Wv: ['qkvw', 2], bq: ['qkvb', 0], bk: ['qkvb', 1], bv: ['qkvb', 2],
};
const PATHS: Readonly<Partial<Record<LayerTensor, readonly [gradient: LayerTensor, weight: LayerTensor]>>> = {
  dXq: ['dQ', 'Wq'], dXk: ['dK', 'Wk'], dXv: ['dV', 'Wv'],
};

/** The file's entry of one entry of Wq, bq ...: for Model.derivative. */
export function parameterEntry(name: LayerTensor, layer: number, row: number, column: number, C: number): readonly [parameter: string, entry: number] {
  const block = BLOCKS[name];
  if (block) return [`h.${layer}.${block[0]}`, row * 3 * C + block[1] * C + column];
  if (name === 'Wo') return [`h.${layer}.attprojw`, row * C + column];
  return [`h.${layer}.attprojb`, column];
}

/** dM W^T by the library's linear layer: one of the three paths to the input. */
function path(engine: Engine, run: ModelRun, dm: Float64Array, x: Float64Array, w: Float64Array): Float64Array {
  const { T, C } = run;
  const dx = new Float64Array(T * C);
  engine.call('f64', 'linear_backward', dx, new Float64Array(C * C), null, dm, x, w, T, C, C);
  return dx;
}

export function modelLayer(engine: Engine, run: ModelRun, layer: number): AttentionLayer {
  const { T, C, H } = run;
  const known = new Map<LayerTensor, Float64Array>();
  const stage = (name: string): Float64Array => {
    const t = run.tensors.get(name);
    if (!t) throw new Error(`the window has no tensor ${name}`);
    return t.data;
  };
  const find = (name: LayerTensor): Float64Array => {
    const plain = STAGES[name];
    if (plain) return stage(`h.${layer}.${plain}`);
    const gradient = name.startsWith('dW') || name.startsWith('db');
    const of = (gradient ? name.slice(1) : name) as LayerTensor;
    const read = (parameter: string): Float64Array => (gradient ? stage(`grad.${parameter}`) : run.parameter(parameter));
    const block = BLOCKS[of];
    if (block) return columnsOf(read(`h.${layer}.${block[0]}`), 3 * C, block[1] * C, C);
    if (of === 'Wo') return read(`h.${layer}.attprojw`);
    if (of === 'bo') return read(`h.${layer}.attprojb`);
    const way = PATHS[name];
    if (way) return path(engine, run, tensor(way[0]), tensor('Xn'), tensor(way[1]));
    throw new Error(`an attention layer has no tensor ${name}`);
  };
  const tensor = (name: LayerTensor): Float64Array => {
    const ready = known.get(name);
    if (ready) return ready;
    const data = find(name);
    known.set(name, data);
    return data;
  };
  return { source: 'model', T, C, H, HS: C / H, tokens: run.tokens, engine, tensor };
}
