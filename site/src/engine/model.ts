/* model.ts -- a checkpoint in the module's memory: src/wasm/model_exports.c and
 * generate_exports.c. */
import { EngineError, integer, readTensors, type Module } from './module';
import type { Derivative, Filters, Generation, Model, NextToken, Sizes, Tensors } from './types';

type Parameter = Model['parameters'][number];

/** enum gpt_start of src/model/config.h. */
const STARTS = ['zeros', 'ones', 'matrix', 'residual matrix'];

function readParameters(module: Module, handle: number): readonly Parameter[] {
  return module.within((scope) => {
    const out = scope.room(44);
    const list: Parameter[] = [];
    while (module.call('page_model_tensor', handle, list.length, out) !== 0) {
      const w = module.words(out, 11);
      const vector = w[5] === 1;
      list.push({
        name: module.text(w[0]!),
        file: module.text(w[1]!),
        shape: vector ? [w[4]!] : [w[3]!, w[4]!],
        count: w[10]!,
        decay: w[8] === 1,
        start: STARTS[w[7]!] ?? '',
      });
    }
    return list;
  });
}

/** The next token's distribution, and the id that u draws from it. */
export function drawToken(module: Module, logits: Float64Array, filters: Filters, u: number): { next: NextToken; id: number } {
  if (!(u >= 0 && u < 1)) throw new EngineError(`u ${u}: expected a number from 0 to below 1`);
  return module.within((scope) => {
    const V = logits.length;
    const row = scope.put(Float32Array.from(logits));       // the fast kernels' floats, widened for the page
    const plain = scope.room(V * 8), drawn = scope.room(V * 8);
    const order = scope.room(V * 4), cut = scope.room(V), id = scope.room(4);
    module.must('page_next', row, V, filters.temperature, filters.topK, filters.topP, u, plain, drawn, order, cut, id);
    return {
      id: module.ints(id, 1)[0]!,
      next: {
        plain: module.doubles(plain, V),
        drawn: module.doubles(drawn, V),
        order: module.ints(order, V),
        cut: module.copy(cut, V),
      },
    };
  });
}

export function nextToken(module: Module, logits: Float64Array, filters: Filters): NextToken {
  return drawToken(module, logits, filters, 0).next;
}

class OpenGeneration implements Generation {
  readonly #module: Module;
  readonly #filters: Filters;
  readonly #V: number;
  #handle: number;

  constructor(module: Module, handle: number, V: number, filters: Filters) {
    this.#module = module;
    this.#handle = handle;
    this.#V = V;
    this.#filters = { ...filters };
  }

  logits(): Float64Array {
    if (this.#handle === 0) throw new EngineError('the generation was closed');
    return Float64Array.from(this.#module.floats(this.#module.call('page_generation_logits', this.#handle), this.#V));
  }

  step(): { id: number; probability: number; next: NextToken } | null {
    const module = this.#module;
    const next = nextToken(module, this.logits(), this.#filters);
    const id = module.within((scope) => {
      const out = scope.room(4);
      module.must('page_generation_step', this.#handle, out);
      return module.ints(out, 1)[0]!;
    });
    return id === this.#V - 1 ? null : { id, probability: next.drawn[id]!, next };
  }

  close(): void {
    this.#module.call('page_generation_free', this.#handle);
    this.#handle = 0;
  }
}

class OpenModel implements Model {
  readonly sizes: Sizes;
  readonly parameters: readonly Parameter[];
  readonly #module: Module;
  #handle: number;

  constructor(module: Module, handle: number, sizes: Sizes) {
    this.#module = module;
    this.#handle = handle;
    this.sizes = { ...sizes };
    this.parameters = readParameters(module, handle);
  }

  #open(): number {
    if (this.#handle === 0) throw new EngineError('the model was closed');
    return this.#handle;
  }

  #window(ids: Int32Array, targets: Int32Array): number {
    if (ids.length !== targets.length) {
      throw new EngineError(`${ids.length} ids and ${targets.length} targets: expected as many`);
    }
    return integer(ids.length, 'tokens', 1);
  }

  fill(tensor: (file: string) => Float32Array): void {
    this.parameters.forEach((p, i) => {
      const data = tensor(p.file);
      if (!(data instanceof Float32Array)) throw new EngineError(`${p.file}: expected a Float32Array`);
      this.#module.within((scope) =>
        this.#module.must('page_model_set', this.#open(), i, scope.put(data), data.length),
      );
    });
  }

  run(ids: Int32Array, targets: Int32Array): Tensors {
    const module = this.#module, handle = this.#open(), T = this.#window(ids, targets);
    module.within((scope) => module.must('page_model_window', handle, scope.put(ids), scope.put(targets), T));
    return readTensors(module, (i, out) => module.call('page_model_stage', handle, i, out));
  }

  loss(ids: Int32Array, targets: Int32Array): number {
    const module = this.#module, handle = this.#open(), T = this.#window(ids, targets);
    module.within((scope) => module.must('page_model_window', handle, scope.put(ids), scope.put(targets), T));
    return module.call('page_model_loss', handle);
  }

  derivative(
    ids: Int32Array,
    targets: Int32Array,
    parameter: string,
    entry: number,
    steps: Float64Array,
  ): Derivative {
    const module = this.#module, handle = this.#open(), T = this.#window(ids, targets);
    const index = this.parameters.findIndex((p) => p.name === parameter);
    if (index < 0) throw new EngineError(`${parameter}: the model has no such parameter`);
    return module.within((scope) => {
      const n = steps.length;
      const hand = scope.room(8), central = scope.room(n * 8), complex = scope.room(n * 8);
      module.must('page_model_derivative', handle, hand, central, complex, scope.put(ids), scope.put(targets), T,
        index, integer(entry, `${parameter}: entry`), scope.put(steps), n);
      return {
        hand: module.doubles(hand, 1)[0]!,
        central: module.doubles(central, n),
        complex: module.doubles(complex, n),
      };
    });
  }

  glance(ids: Int32Array): { att: Float32Array; logits: Float64Array } {
    const module = this.#module, handle = this.#open(), T = ids.length;
    const { L, NH, V } = this.sizes;
    if (T < 1 || T > this.sizes.T) throw new EngineError(`${T} tokens: expected 1 to ${this.sizes.T}`);
    return module.within((scope) => {
      const att = scope.room(L * NH * T * T * 4), logits = scope.room(V * 4);
      module.must('page_model_glance', handle, att, logits, scope.put(ids), T);
      return { att: module.floats(att, L * NH * T * T), logits: Float64Array.from(module.floats(logits, V)) };
    });
  }

  generate(prompt: Int32Array, filters: Filters, seed: number, window?: number): Generation {
    const module = this.#module, handle = this.#open();
    const made = module.within((scope) =>
      module.mustMake('page_generation_new', handle, scope.put(prompt), prompt.length,
        integer(window ?? this.sizes.T, 'window', 1), seed, filters.temperature, filters.topK, filters.topP),
    );
    return new OpenGeneration(module, made, this.sizes.V, filters);
  }

  next(logits: Float64Array, filters: Filters): NextToken {
    return nextToken(this.#module, logits, filters);
  }

  close(): void {
    this.#module.call('page_model_free', this.#handle);
    this.#handle = 0;
  }
}

function newModel(module: Module, sizes: Sizes): OpenModel {
  const { L, C, NH, FF, T, V, tied } = sizes;
  const letters = [L, C, NH, FF, T, V].map((n, i) => integer(n, ['L', 'C', 'NH', 'FF', 'T', 'V'][i]!, 1));
  return new OpenModel(module, module.mustMake('page_model_new', ...letters, tied ? 1 : 0), sizes);
}

/** What a model of these sizes has; its numbers are not asked for. */
export function listParameters(module: Module, sizes: Sizes): readonly Parameter[] {
  const model = newModel(module, sizes);
  model.close();
  return model.parameters;
}

export function openModel(module: Module, sizes: Sizes, tensor: (file: string) => Float32Array): Model {
  const model = newModel(module, sizes);
  try {
    model.fill(tensor);
  } catch (error) {
    model.close();
    throw error;
  }
  return model;
}
