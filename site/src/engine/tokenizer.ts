/* tokenizer.ts -- byte-pair encoding: src/wasm/tokenizer_exports.c. */
import { EngineError, integer, type Module } from './module';
import type { IdOrder, Tokenizer } from './types';

/** The longest piece whose merges are shown one by one. */
const LONGEST_PIECE = 4096;

const utf8 = new TextEncoder();

class OpenTokenizer implements Tokenizer {
  readonly size: number;
  readonly #module: Module;
  readonly #byteIds: Int32Array;
  #handle: number;

  constructor(module: Module, handle: number, byteIds: Int32Array) {
    this.#module = module;
    this.#handle = handle;
    this.#byteIds = byteIds;
    this.size = module.call('page_bpe_vocab', handle);
  }

  #open(): number {
    if (this.#handle === 0) throw new EngineError('the tokenizer was closed');
    return this.#handle;
  }

  encode(text: string): Int32Array {
    const module = this.#module, handle = this.#open(), bytes = utf8.encode(text);
    return module.within((scope) => {
      const count = scope.room(4);
      const ids = scope.own(module.mustMake('page_bpe_encode', handle, scope.put(bytes), bytes.length, count));
      return module.ints(ids, module.words(count, 1)[0]!);
    });
  }

  bytes(id: number): Uint8Array {
    const module = this.#module, handle = this.#open();
    return module.within((scope) => {
      const length = scope.room(4);
      const at = Number.isInteger(id) && id >= 0 && id < this.size
        ? module.call('page_bpe_piece', handle, id, length) : 0;
      if (at === 0) throw new EngineError(`token ${id}: expected an id of 0 to ${this.size - 1}`);
      return module.copy(at, module.words(length, 1)[0]!);
    });
  }

  decode(ids: Int32Array): string {
    const module = this.#module, handle = this.#open();
    return module.within((scope) => {
      const length = scope.room(4);
      const at = scope.own(module.mustMake('page_bpe_decode', handle, scope.put(ids), ids.length, length));
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(module.copy(at, module.words(length, 1)[0]!));
    });
  }

  split(text: string): readonly { start: number; end: number }[] {
    const module = this.#module, bytes = utf8.encode(text);
    return module.within((scope) => {
      const lengths = scope.room(4 * bytes.length);
      const words = module.call('page_split', scope.put(bytes), bytes.length, lengths);
      let start = 0;
      return Array.from(module.words(lengths, words), (length) => {
        const range = { start, end: start + length };
        start = range.end;
        return range;
      });
    });
  }

  merges(piece: string): readonly { ids: readonly number[]; at: number; rank: number }[] {
    const module = this.#module, handle = this.#open(), bytes = utf8.encode(piece);
    if (bytes.length > LONGEST_PIECE) {
      throw new EngineError(`a piece of ${bytes.length} bytes: expected at most ${LONGEST_PIECE}`);
    }
    return module.within((scope) => {
      const ids = scope.put(Int32Array.from(bytes, (b) => this.#byteIds[b]!)), rank = scope.room(4);
      const steps: { ids: readonly number[]; at: number; rank: number }[] = [];
      for (let n = bytes.length; n > 1; n--) {
        const before = Array.from(module.ints(ids, n));
        const at = module.call('page_bpe_step', handle, ids, n, rank);
        if (at < 0) break;
        steps.push({ ids: before, at, rank: module.ints(rank, 1)[0]! });
      }
      return steps;
    });
  }

  close(): void {
    this.#module.call('page_bpe_free', this.#handle);
    this.#handle = 0;
  }
}

export function openTokenizer(
  module: Module,
  merges: Int32Array,
  special: readonly string[],
  order?: IdOrder,
): Tokenizer {
  const n = merges.length / 2;
  if (!Number.isInteger(n)) throw new EngineError(`${merges.length} ids of merges: expected pairs`);
  if (special.length !== 1) throw new EngineError(`${special.length} special tokens: expected one`);
  if (order && (order.bytes.length !== 256 || order.made.length !== n)) {
    throw new EngineError(`an order of ${order.bytes.length} bytes and ${order.made.length} merges: ` +
      `expected 256 and ${n}`);
  }
  const handle = module.within((scope) =>
    module.mustMake('page_bpe_new', scope.put(merges), n, order ? scope.put(order.bytes) : 0,
      order ? scope.put(order.made) : 0, order ? integer(order.end, 'the special id') : 0),
  );
  return new OpenTokenizer(module, handle, order ? order.bytes.slice() : Int32Array.from({ length: 256 }, (_, i) => i));
}

export function trainTokenizer(
  module: Module,
  text: string,
  merges: number,
): { merges: Int32Array; counts: Int32Array } {
  const bytes = utf8.encode(text);
  return module.within((scope) => {
    const handle = module.mustMake('page_bpe_train', scope.put(bytes), bytes.length, integer(merges, 'merges'));
    try {
      const n = module.call('page_bpe_merges', handle), out = scope.room(32);
      const pairs = new Int32Array(2 * n), counts = new Int32Array(n);
      for (let rank = 0; module.call('page_bpe_merge', handle, rank, out) !== 0; rank++) {
        const [left, right, , count] = module.doubles(out, 4);
        pairs[2 * rank] = left!;
        pairs[2 * rank + 1] = right!;
        counts[rank] = count!;
      }
      return { merges: pairs, counts };
    } finally {
      module.call('page_bpe_free', handle);
    }
  });
}
