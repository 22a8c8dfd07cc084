/* later.ts -- completes an engine when more than single definitions is wanted. */
import { partial } from './core';
import type { Engine } from './types';

/** A whole engine stays as it is. */
export async function whole(engine: Engine): Promise<Engine> {
  const module = partial.get(engine);
  if (module) {
    const { complete } = await import('./whole');
    complete(engine, module);
    partial.delete(engine);
  }
  return engine;
}
