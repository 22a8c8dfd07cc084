/* index.ts -- makes the whole engine of types.ts from the module's bytes, in Node as in the
 * browser.  A page begins with less (core.ts). */
import { loadCore } from './core';
import type { Engine } from './types';
import { complete } from './whole';

export { EngineError } from './module';

export async function loadEngine(bytes: BufferSource): Promise<Engine> {
  const { engine, module } = await loadCore(bytes);
  complete(engine, module);
  return engine;
}
