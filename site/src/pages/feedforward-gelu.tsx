/* feedforward-gelu.tsx -- GELU and its slope, as curves: both by the C definitions. */
import type { JSX } from 'preact';
import { Curve, grid } from '../components/Curve';
import { defineIsland } from '../components/island';
import { definitions, geluBackward } from '../examples/definitions';

interface Curves { readonly x: Float64Array; readonly y: Float64Array; readonly slope: Float64Array }

function View({ loaded }: { loaded: Curves }): JSX.Element {
  return <Curve {...loaded} start={24} names={{ x: 'x', y: 'GELU(x)', slope: 'slope at x' }}
    label="GELU and its slope. Left of zero GELU dips a little below zero and returns to it; right of zero it joins the line y = x. Its slope goes from zero to one, a little below and a little above on the way." />;
}

export const island = defineIsland<Record<string, never>, Curves>({
  load: async (_, engine) => {
    const x = grid(-4, 4, 0.125);
    return { x, y: definitions(engine, 'f64').gelu(x), slope: geluBackward(engine, new Float64Array(x.length).fill(1), x) };
  },
  view: View,
  core: true,
});
