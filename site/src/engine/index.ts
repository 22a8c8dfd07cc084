/* index.ts -- makes the engine of types.ts from the module's bytes, in Node as in the
 * browser. */
import { attention, attentionDerivative } from './attention';
import { lab, labCheck, labScaling, labSoften, labVerdict } from './codelab';
import { batch, splitDocuments } from './data';
import { callDefinition } from './definitions';
import { integer, Module } from './module';
import { drawToken, listParameters, openModel } from './model';
import { openTokenizer, trainTokenizer } from './tokenizer';
import type { Engine } from './types';

export { EngineError } from './module';

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

export async function loadEngine(bytes: BufferSource): Promise<Engine> {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const module = new Module(instance);
  return {
    sha256: await sha256(bytes),
    call: (scalar, name, ...args) => callDefinition(module, scalar, name, args),
    elementary: (name, x) => module.call(`page_${name}`, x),
    attention: (inputs) => attention(module, inputs),
    attentionDerivative: (inputs, parameter, entry, steps) =>
      attentionDerivative(module, inputs, parameter, entry, steps),
    openModel: (sizes, tensor) => openModel(module, sizes, tensor),
    parameters: (sizes) => listParameters(module, sizes),
    openTokenizer: (merges, special, order) => openTokenizer(module, merges, special, order),
    trainTokenizer: (text, merges) => trainTokenizer(module, text, merges),
    draw: (logits, filters, u) => drawToken(module, logits, filters, u),
    batch: (tokens, step, options) => batch(module, tokens, step, options),
    splitDocuments: (documents, seed) => splitDocuments(module, documents, seed),
    learningRate: (step, steps, warmup, max, min) =>
      module.within((scope) => {
        const out = scope.room(8);
        module.must('page_learning_rate', out, step, steps, warmup, max, min);
        return module.doubles(out, 1)[0]!;
      }),
    lab: (options) => lab(module, options),
    labCheck: (options) => labCheck(module, options),
    labVerdict: (options) => labVerdict(module, options),
    labSoften: (options, temperatures) => labSoften(module, options, temperatures),
    labScaling: (seed) => labScaling(module, seed),
    normals: (seed, count) => random(module, seed, count, true),
    uniforms: (seed, count) => random(module, seed, count, false),
  };
}
