/* blocks.ts -- the two live parts that every concept has: its example and its flow of shapes. */
import type { Block, Concept, Source } from '../components/content';
import type { ShapesProps } from '../components/Shapes';

/** What an example says of its numbers. */
export interface About {
  readonly source?: Source;
  readonly note?: string;
}

const examples = new WeakMap<Concept, Block>();
/** `about` counts when the block is made: it is asked first where the example has been opened. */
export function exampleBlock(c: Concept, about: About = {}): Block {
  let block = examples.get(c);
  if (!block) {
    const { use, tensor, cell, head } = c.example;
    // A vector's cell is named by one number: it is a matrix of one row to the view.
    block = { island: 'example', title: `${c.title}: example`, source: about.source ?? 'example', note: about.note, props: { use, tensor, cell: cell.length === 1 ? [0, ...cell] : cell, ...(head === undefined ? {} : { head }) } };
    examples.set(c, block);
  }
  return block;
}

const shapes = new WeakMap<Concept, Block>();
/** The sizes come from the example's run: `sizeOf` is asked when the block is made first. */
export function makeShapesBlock(c: Concept, sizeOf: (tensor: string) => readonly number[] | null, source: Source = 'example'): Block {
  const props: ShapesProps = {
    ...(source === 'example' ? {} : { source }),
    flow: c.shapes.map((s) => ({ tex: s.tex, letters: s.letters, then: s.then ?? '', model: s.model ?? null, size: sizeOf(s.tensor) })),
  };
  const block: Block = { island: 'shapes', title: `${c.title}: shapes`, props: props as unknown as Record<string, unknown> };
  shapes.set(c, block);
  return block;
}
export function shapesBlock(c: Concept): Block {
  return shapes.get(c) ?? makeShapesBlock(c, () => null);
}
