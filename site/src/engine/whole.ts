/* whole.ts -- what completes an engine: models, tokenizers, batches, draws, the code lab. */
import { lab, labCheck, labScaling, labSoften, labVerdict } from './codelab';
import { batch, splitDocuments } from './data';
import { drawToken, listParameters, openModel } from './model';
import type { Module } from './module';
import { openTokenizer, trainTokenizer } from './tokenizer';
import type { Engine } from './types';

/** What core.ts gives. */
type CoreName = 'sha256' | 'call' | 'elementary' | 'attention' | 'attentionDerivative' | 'learningRate' | 'normals' | 'uniforms';

export function complete(engine: Engine, module: Module): void {
  const rest: Omit<Engine, CoreName> = {
    openModel: (sizes, tensor) => openModel(module, sizes, tensor),
    parameters: (sizes) => listParameters(module, sizes),
    openTokenizer: (merges, special, order) => openTokenizer(module, merges, special, order),
    trainTokenizer: (text, merges) => trainTokenizer(module, text, merges),
    draw: (logits, filters, u) => drawToken(module, logits, filters, u),
    batch: (tokens, step, options) => batch(module, tokens, step, options),
    splitDocuments: (documents, seed) => splitDocuments(module, documents, seed),
    lab: (options) => lab(module, options),
    labCheck: (options) => labCheck(module, options),
    labVerdict: (options) => labVerdict(module, options),
    labSoften: (options, temperatures) => labSoften(module, options, temperatures),
    labScaling: (seed) => labScaling(module, seed),
  };
  Object.assign(engine, rest);
}
