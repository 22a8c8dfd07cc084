/* module.ts -- the instance of vitrine.wasm: its memory, its calls, its failures.
 *
 * The module's memory is one buffer that may grow at any call, after which older views
 * of it are empty: a view is made where it is used, and what leaves this folder is a copy.
 */

/** A failure that the C code reported in one line. */
export class EngineError extends Error {
  override name = 'EngineError';
}

export type Numbers = Float64Array | Float32Array | Int32Array | Uint8Array;
type Callee = (...args: number[]) => number;

const MOST_BYTES = 2 ** 31 - 2 ** 16;

/** What one call put into the module's memory; freed together. */
export class Scope {
  readonly #module: Module;
  readonly #taken: number[] = [];

  constructor(module: Module) {
    this.#module = module;
  }

  /** Zeroed room for so many bytes. */
  room(bytes: number): number {
    const at = this.#module.alloc(bytes);
    this.#taken.push(at);
    return at;
  }

  put(data: Numbers): number {
    const at = this.room(data.byteLength);
    this.#module.bytes().set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    return at;
  }

  /** Freed with the rest: what a C function allocated and handed over. */
  own(at: number): number {
    this.#taken.push(at);
    return at;
  }

  end(): void {
    for (const at of this.#taken) this.#module.call('page_free', at);
    this.#taken.length = 0;
  }
}

export class Module {
  readonly #exports: WebAssembly.Exports;
  readonly #memory: WebAssembly.Memory;

  constructor(instance: WebAssembly.Instance) {
    this.#exports = instance.exports;
    this.#memory = instance.exports['memory'] as WebAssembly.Memory;
  }

  has(name: string): boolean {
    return typeof this.#exports[name] === 'function';
  }

  /** Calls an export; numbers in, number out. */
  call(name: string, ...args: number[]): number {
    const callee = this.#exports[name];
    if (typeof callee !== 'function') throw new EngineError(`vitrine.wasm has no ${name}`);
    return (callee as Callee)(...args);
  }

  /** The same for a function that reports failure by its status. */
  must(name: string, ...args: number[]): void {
    if (this.call(name, ...args) !== 0) throw this.failure();
  }

  /** The same for a function that reports failure by a null pointer. */
  mustMake(name: string, ...args: number[]): number {
    const at = this.call(name, ...args) >>> 0;
    if (at === 0) throw this.failure();
    return at;
  }

  failure(): EngineError {
    return new EngineError(this.text(this.call('page_error')));
  }

  alloc(bytes: number): number {
    if (!Number.isSafeInteger(bytes) || bytes < 0 || bytes > MOST_BYTES) {
      throw new EngineError(`${bytes} bytes: expected at most ${MOST_BYTES}`);
    }
    const at = this.call('page_alloc', bytes) >>> 0;
    if (at === 0) throw new EngineError(`out of memory: ${bytes} bytes`);
    return at;
  }

  /** Runs `work` with memory that is freed behind it, also when it throws. */
  within<T>(work: (scope: Scope) => T): T {
    const scope = new Scope(this);
    try {
      return work(scope);
    } finally {
      scope.end();
    }
  }

  bytes(): Uint8Array {
    return new Uint8Array(this.#memory.buffer);
  }

  doubles(at: number, count: number): Float64Array {
    return new Float64Array(this.#memory.buffer, at, count).slice();
  }

  floats(at: number, count: number): Float32Array {
    return new Float32Array(this.#memory.buffer, at, count).slice();
  }

  ints(at: number, count: number): Int32Array {
    return new Int32Array(this.#memory.buffer, at, count).slice();
  }

  words(at: number, count: number): Uint32Array {
    return new Uint32Array(this.#memory.buffer, at, count).slice();
  }

  copy(at: number, count: number): Uint8Array {
    return new Uint8Array(this.#memory.buffer, at, count).slice();
  }

  /** A C string. */
  text(at: number): string {
    const bytes = this.bytes();
    return new TextDecoder().decode(bytes.slice(at, bytes.indexOf(0, at)));
  }
}

/** What page_model_stage and page_lab_tensor answer: name, data, rank, sizes, count. */
export function readTensors(
  module: Module,
  answer: (i: number, out: number) => number,
): Map<string, { name: string; shape: number[]; data: Float64Array }> {
  return module.within((scope) => {
    const out = scope.room(32);
    const tensors = new Map<string, { name: string; shape: number[]; data: Float64Array }>();
    for (let i = 0; answer(i, out) !== 0; i++) {
      const w = module.words(out, 8);
      const name = module.text(w[0]!);
      tensors.set(name, {
        name,
        shape: Array.from(w.slice(3, 3 + w[2]!)),
        data: module.doubles(w[1]!, w[6]!),
      });
    }
    return tensors;
  });
}

/** A 32-bit integer argument; C would take other numbers modulo 2^32. */
export function integer(x: number, what: string, least = 0): number {
  if (!Number.isInteger(x) || x < least || x > 2 ** 31 - 1) {
    throw new EngineError(`${what}: ${x}: expected an integer from ${least} to 2^31 - 1`);
  }
  return x;
}
