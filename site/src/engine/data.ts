/* data.ts -- what a step is trained on: src/wasm/data_exports.c. */
import { integer, type Module } from './module';
import type { Batch, BatchOptions } from './types';

export function batch(module: Module, tokens: Int32Array, step: number, options: BatchOptions): Batch {
  const rows = integer(options.batch, 'batch', 1), seq = integer(options.seq, 'seq', 1);
  return module.within((scope) => {
    const x = scope.room(4 * rows * seq), y = scope.room(4 * rows * seq), out = scope.room(24);
    module.must('page_batch', x, y, out, scope.put(tokens), tokens.length, seq, integer(options.stride, 'stride'), rows,
      options.seed, step);
    const [used, windows, perEpoch] = module.doubles(out, 3);
    return { x: module.ints(x, rows * seq), y: module.ints(y, rows * seq), rows: used!, windows: windows!, perEpoch: perEpoch! };
  });
}

export function splitDocuments(module: Module, documents: number, seed: number): Uint8Array {
  return module.within((scope) => {
    const flags = scope.room(integer(documents, 'documents', 1));
    module.must('page_split_documents', flags, documents, seed);
    return module.copy(flags, documents);
  });
}
