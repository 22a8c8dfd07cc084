/* attention.ts -- one attention layer with every tensor: src/lab/attention_example.h. */
import { EngineError, integer, type Module, type Scope } from './module';
import type { AttentionInputs, AttentionParameter, Derivative, Tensor, Tensors } from './types';

interface Info {
  readonly name: string;
  readonly input: boolean;
  readonly shape: readonly number[];
  readonly offset: number;
  readonly count: number;
}

/** Names, shapes and places of the layer's tensors in its block. */
function layout(module: Module, scope: Scope, T: number, C: number, H: number): readonly Info[] {
  const out = scope.room(32);
  const list: Info[] = [];
  while (module.call('page_attention_tensor', out, list.length, T, C, H) !== 0) {
    const w = module.words(out, 8);
    list.push({
      name: module.text(w[0]!),
      input: w[1] === 0,
      shape: Array.from(w.slice(3, 3 + w[2]!)),
      offset: w[6]!,
      count: w[7]!,
    });
  }
  return list;
}

/** A block with the inputs written and everything computed. */
function run(module: Module, scope: Scope, inputs: AttentionInputs): { block: number; list: readonly Info[] } {
  const T = integer(inputs.T, 'T', 1), C = integer(inputs.C, 'C', 1), H = integer(inputs.H, 'H', 1);
  const count = module.call('page_attention_count', T, C, H) >>> 0;
  if (count === 0) throw module.failure();
  const block = scope.room(count * 8);
  const list = layout(module, scope, T, C, H);
  for (const info of list) {
    if (!info.input) continue;
    const data = (inputs as unknown as Record<string, unknown>)[info.name];
    if (!(data instanceof Float64Array) || data.length !== info.count) {
      throw new EngineError(`${info.name}: expected a Float64Array of ${info.count} (${info.shape.join(' x ')})`);
    }
    new Float64Array(module.bytes().buffer, block + info.offset * 8, info.count).set(data);
  }
  module.must('page_attention_run', block, T, C, H);
  return { block, list };
}

export function attention(module: Module, inputs: AttentionInputs): Tensors {
  return module.within((scope) => {
    const { block, list } = run(module, scope, inputs);
    return new Map<string, Tensor>(
      list.map((i) => [i.name, { name: i.name, shape: i.shape, data: module.doubles(block + i.offset * 8, i.count) }]),
    );
  });
}

export function attentionDerivative(
  module: Module,
  inputs: AttentionInputs,
  parameter: AttentionParameter,
  entry: number,
  steps: Float64Array,
): Derivative {
  return module.within((scope) => {
    const { block, list } = run(module, scope, inputs);
    const of = list.find((i) => i.name === parameter && i.input);
    const gradient = list.find((i) => i.name === `d${parameter}` && !i.input);
    if (!of || !gradient) throw new EngineError(`${parameter}: expected a parameter of the layer`);
    if (!Number.isInteger(entry) || entry < 0 || entry >= of.count) {
      throw new EngineError(`${parameter}: entry ${entry}, expected 0 to ${of.count - 1}`);
    }
    const n = steps.length;
    const central = scope.room(n * 8), complex = scope.room(n * 8);
    module.must('page_attention_derivative', central, complex, block, inputs.T, inputs.C, inputs.H,
      of.offset + entry, scope.put(steps), n);
    return {
      hand: module.doubles(block + (gradient.offset + entry) * 8, 1)[0]!,
      central: module.doubles(central, n),
      complex: module.doubles(complex, n),
    };
  });
}
