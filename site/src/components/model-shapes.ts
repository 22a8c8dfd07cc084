/* model-shapes.ts -- shapes of the trained model's tensors, for all flows of a page at once.
 *
 * Loaded on request, and through verify.ts: of a file whose hash differs nothing is shown.
 */
import type { Engine } from '../engine/types';

export interface ModelShapes {
  readonly shapes: ReadonlyMap<string, readonly number[]>;
  /** Which model it is: its checkpoint's hash, shortened. */
  readonly words: string;
}

/** The letters of a shape: "(T, H, d_h)" has three. */
const lettersOf = (letters: string): string[] => letters.replace(/[()\s]/g, '').split(',').filter((l) => l !== '');

/**
 * A tensor of a window in the form that a concept gives it: a row of channels is, in the
 * same memory, one of heads side by side.  How many heads, the weights' own shape says.
 * "(n)" is any tensor as the row of all its numbers, which is how the optimizer reads it.
 * null where there is no such tensor, or it has another number of dimensions.
 */
export function shapeIn(shapes: ReadonlyMap<string, readonly number[]>, name: string, letters: string): readonly number[] | null {
  const shape = shapes.get(name), wanted = lettersOf(letters), heads = shapes.get('h.0.att')?.[0];
  if (shape === undefined || shape.length === wanted.length) return shape ?? null;
  if (wanted.length === 1 && wanted[0] === 'n') return [shape.reduce((a, b) => a * b, 1)];
  const [T, C] = shape;
  return wanted.length === 3 && wanted[1] === 'H' && shape.length === 2 && heads !== undefined ? [T as number, heads, (C as number) / heads] : null;
}

type Listener = (shapes: ModelShapes | null, message: string) => void;

const listeners = new Set<Listener>();
let loading: Promise<ModelShapes> | null = null;

function tell(shapes: ModelShapes | null, message: string): void {
  for (const listener of listeners) listener(shapes, message);
}

/** Calls back at each change; returns what ends that. */
export function onModelShapes(listener: Listener): () => void {
  listeners.add(listener);
  return () => { listeners.delete(listener); };
}

async function load(engine: Engine): Promise<ModelShapes> {
  const { loadVerified } = await import('../provenance/verify');
  const found = await loadVerified('data/lab/', engine);
  const file = found.files.find((f) => f.name === 'model.safetensors');
  const shapes = new Map([...found.window].map(([name, t]) => [name, t.shape] as const));
  found.model.close();
  found.tokenizer.close();
  const verdict = found.files.every((f) => f.verdict === 'match') ? 'verified' : 'cannot be verified here';
  return { shapes, words: `checkpoint ${file?.expected.slice(0, 12) ?? ''}, ${verdict}` };
}

/** Asks for the model's sizes, or for the example's again. */
export function requestModelShapes(model: boolean, engine: Engine): void {
  if (!model) return tell(null, '');
  tell(null, 'Loading the model\u2026');
  loading ??= load(engine);
  loading.then((shapes) => tell(shapes, ''), (error: unknown) => {
    loading = null;
    tell(null, error instanceof Error ? error.message : String(error));
  });
}
