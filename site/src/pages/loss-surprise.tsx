/* loss-surprise.tsx -- the loss of one position while the logit of the right token
 * moves and all others stay: every place of the curve is a row of one call.
 */
import type { JSX } from 'preact';
import { Curve, grid } from '../components/Curve';
import { defineIsland } from '../components/island';
import type { Engine } from '../engine/types';
import { definitions } from '../examples/definitions';
import { VOCABULARY } from '../examples/embedding';
import { runExample } from '../components/ExampleView';

interface Curves {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly slope: Float64Array;
  readonly p: Float64Array;
  /** Where the example's own logit is. */
  readonly start: number;
  readonly token: string;
  readonly before: string;
}

/** The position whose row is taken: "cat", after which "sat" came. */
const ROW = 1, TARGET = 2;

async function curves(engine: Engine): Promise<Curves> {
  const logits = (await runExample('loss', engine)).find((t) => t.id === 'l');
  if (!logits) throw new Error('loss-surprise: the example "loss" has no tensor "l"');
  const V = logits.shape[1]!, row = logits.data.slice(ROW * V, (ROW + 1) * V);
  const x = grid(-4, 6, 0.125), N = x.length;
  const l = new Float64Array(N * V), target = new Int32Array(N).fill(TARGET);
  x.forEach((v, n) => { l.set(row, n * V); l[n * V + TARGET] = v; });
  const d = definitions(engine, 'f64');
  const { loss, lse } = d.crossentropy(l, target, N, V), p = d.softmax(l, N, V), dl = new Float64Array(N * V);
  engine.call('f64', 'crossentropy_backward', dl, new Float64Array(N).fill(1), lse, l, target, 1, N, V);
  const right = (t: Float64Array): Float64Array => x.map((_, n) => t[n * V + TARGET]!);
  return { x, y: loss, slope: right(dl), p: right(p), start: x.findIndex((v) => v >= row[TARGET]!), token: VOCABULARY[TARGET], before: VOCABULARY[ROW] };
}

function View({ loaded: { token, before, p, ...curve } }: { loaded: Curves }): JSX.Element {
  return <Curve {...curve} names={{ x: `logit of "${token}"`, y: 'loss', slope: 'its gradient' }}
    more={(k) => [{ name: `probability of "${token}"`, value: p[k]! }]}
    label={`Loss at the position of "${before}", over the logit of the right token "${token}". A low logit gives a large loss that falls in a straight line; a high one gives a loss near zero. The gradient goes from minus one to zero.`} />;
}

export const island = defineIsland<Record<string, never>, Curves>({ load: (_, engine) => curves(engine), view: View, inert: true });
