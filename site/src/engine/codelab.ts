/* codelab.ts -- code lab 01: src/wasm/lab_exports.c. */
import { integer, readTensors, type Module } from './module';
import type { LabOptions, LabRun, LabScaling, LabVerdict } from './types';

/** The widths of the experiment: vt_lab's. */
const D_HEADS = [16, 64, 256, 1024];
const TENSORS = ['Wq', 'Wk', 'Wv', 'Wo', 'X'];
const POSITIONS = 6, VOCABULARY = 10;

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

export function labVerdict(module: Module, options: LabOptions): LabVerdict {
  return withRun(module, options, (handle) =>
    module.within((scope) => {
      const out = scope.room(8 * 11);
      module.call('page_lab_verdict', handle, out);
      const n = module.doubles(out, 11), at = (i: number): number => n[i]!;
      return {
        central: { pass: at(0) === 1, share: at(1) },
        complex: { pass: at(2) === 1, share: at(3) },
        float: { pass: at(4) === 1, worst: at(5), mean: at(6), within: at(7), still: at(8), loss: at(9), spacing: at(10) },
      };
    }),
  );
}

export function labSoften(
  module: Module,
  options: LabOptions,
  temperatures: readonly number[],
): readonly { temperature: number; probabilities: Float64Array; entropy: number }[] {
  return withRun(module, options, (handle) =>
    module.within((scope) => {
      const out = scope.room(8 * (VOCABULARY + 1));
      return temperatures.map((temperature) => {
        module.call('page_lab_soften', handle, temperature, out);
        const n = module.doubles(out, VOCABULARY + 1);
        return { temperature, probabilities: n.slice(0, VOCABULARY), entropy: n[VOCABULARY]! };
      });
    }),
  );
}

export function labScaling(module: Module, seed: number): readonly LabScaling[] {
  return module.within((scope) => {
    const out = scope.room(8 * 11);
    return D_HEADS.map((dHead) => {
      module.must('page_lab_scaling', dHead, seed, out);
      const n = module.doubles(out, 11), measure = (i: number) => ({ value: n[2 * i]!, error: n[2 * i + 1]! });
      return {
        dHead, rows: n[10]!, deviation: measure(0), rawMax: measure(1), scaledMax: measure(2),
        rawGradient: measure(3), scaledGradient: measure(4),
      };
    });
  });
}
