/* codelab.ts -- code lab 01: src/wasm/lab_exports.c. */
import { integer, readTensors, type Module } from './module';
import type { LabRun } from './types';

export interface LabOptions {
  readonly seed: number;
  readonly heads: number;
  readonly temperature: number;
  readonly scalar: 'f64' | 'f32';
}

/** The widths of the experiment: vt_lab's. */
const D_HEADS = [16, 64, 256, 1024];
const TENSORS = ['Wq', 'Wk', 'Wv', 'Wo', 'X'];
const POSITIONS = 6;

function withRun<T>(module: Module, o: LabOptions, work: (handle: number) => T): T {
  const handle = module.mustMake('page_lab_new', o.seed, integer(o.heads, 'heads', 1), o.temperature,
    o.scalar === 'f32' ? 1 : 0);
  try {
    return work(handle);
  } finally {
    module.call('page_lab_free', handle);
  }
}

export function lab(module: Module, options: LabOptions): LabRun {
  return withRun(module, options, (handle) => {
    const tensors = readTensors(module, (i, out) => module.call('page_lab_tensor', handle, i, out));
    const targets = module.ints(module.call('page_lab_targets', handle), POSITIONS);
    tensors.set('targets', { name: 'targets', shape: [POSITIONS], data: Float64Array.from(targets) });
    return { tensors, loss: module.call('page_lab_loss', handle) };
  });
}

export function labCheck(
  module: Module,
  options: LabOptions,
): readonly { tensor: string; central: number; complex: number }[] {
  return withRun(module, options, (handle) =>
    module.within((scope) => {
      const n = TENSORS.length;
      const central = scope.room(8 * n), complex = scope.room(8 * n);
      module.must('page_lab_check', handle, central, complex);
      const a = module.doubles(central, n), b = module.doubles(complex, n);
      return TENSORS.map((tensor, i) => ({ tensor, central: a[i]!, complex: b[i]! }));
    }),
  );
}

export function labScaling(module: Module, seed: number): readonly {
  dHead: number; deviation: number; error: number; rawMax: number; scaledMax: number;
  rawGradient: number; scaledGradient: number;
}[] {
  return module.within((scope) => {
    const out = scope.room(56);
    return D_HEADS.map((dHead) => {
      module.must('page_lab_scaling', dHead, seed, out);
      const [deviation, error, rawMax, scaledMax, rawGradient, scaledGradient] = module.doubles(out, 7);
      return {
        dHead, deviation: deviation!, error: error!, rawMax: rawMax!, scaledMax: scaledMax!,
        rawGradient: rawGradient!, scaledGradient: scaledGradient!,
      };
    });
  });
}
