/* core.ts -- the part of the engine that every page starts with: single definitions and
 * one attention layer.  Models, tokenizers and the code lab are completed from
 * whole.ts, at once (index.ts) or when they are wanted (later.ts). */
import { attention, attentionDerivative } from './attention';
import { callDefinition } from './definitions';
import { EngineError, integer, Module } from './module';
import type { Engine } from './types';

type Subtle = Pick<SubtleCrypto, 'digest'>;

/** The platform's digests; null in a browser on plain http, which has none. */
async function subtle(): Promise<Subtle | null> {
  if (globalThis.crypto?.subtle) return globalThis.crypto.subtle;
  if (typeof process === 'undefined' || !process.versions?.node) return null;
  const name = 'node:crypto';                   // Node 18 has no global crypto; a browser never comes here
  const { webcrypto } = (await import(/* @vite-ignore */ name)) as { webcrypto: { subtle: Subtle } };
  return webcrypto.subtle;
}

async function sha256(bytes: BufferSource): Promise<string | null> {
  const digests = await subtle();
  if (!digests) return null;
  const hash = new Uint8Array(await digests.digest('SHA-256', bytes));
  return Array.from(hash, (b) => b.toString(16).padStart(2, '0')).join('');
}

function random(module: Module, seed: readonly number[], count: number, normal: boolean): Float64Array {
  return module.within((scope) => {
    const out = scope.room(8 * integer(count, 'count'));
    module.must('page_random', out, count, scope.put(Float64Array.from(seed)), seed.length, normal ? 1 : 0);
    return module.doubles(out, count);
  });
}

const absent = (): never => {
  throw new EngineError('this engine has single definitions only: await whole(engine) first');
};

/** Engines that may be completed yet, with their instances. */
export const partial = new WeakMap<Engine, Module>();

export async function loadCore(bytes: BufferSource): Promise<{ readonly engine: Engine; readonly module: Module }> {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const module = new Module(instance);
  const engine: Engine = {
    sha256: await sha256(bytes),
    call: (scalar, name, ...args) => callDefinition(module, scalar, name, args),
    elementary: (name, x) => module.call(`page_${name}`, x),
    attention: (inputs) => attention(module, inputs),
    attentionDerivative: (inputs, parameter, entry, steps) =>
      attentionDerivative(module, inputs, parameter, entry, steps),
    learningRate: (step, steps, warmup, max, min) =>
      module.within((scope) => {
        const out = scope.room(8);
        module.must('page_learning_rate', out, step, steps, warmup, max, min);
        return module.doubles(out, 1)[0]!;
      }),
    normals: (seed, count) => random(module, seed, count, true),
    uniforms: (seed, count) => random(module, seed, count, false),
    openModel: absent, parameters: absent, openTokenizer: absent, trainTokenizer: absent, draw: absent, batch: absent, splitDocuments: absent,
    lab: absent, labCheck: absent, labVerdict: absent, labSoften: absent, labScaling: absent,
  };
  partial.set(engine, module);
  return { engine, module };
}
