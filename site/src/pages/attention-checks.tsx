/* attention-checks.tsx -- every gradient of the layer found two other ways, entry by entry,
 * with the largest gap of each tensor. */
import type { JSX } from 'preact';
import { defineIsland } from '../components/island';
import { fmt, sci } from '../components/numbers';
import { Scroll } from '../components/Scroll';
import { Tex } from '../components/Tex';
import type { Engine } from '../engine/types';
import { differentiable, largest, need, runAttention, type AttentionRun } from './attention-run';
import '../style/blocks.css';

/** Steps of the two ways. */
const CENTRAL = 1e-5, COMPLEX = 1e-30;

export interface CheckRow {
  readonly name: string;
  readonly tex: string;
  readonly what: string;
  /** How many entries were compared, and how many there are. */
  readonly compared: number;
  readonly of: number;
  readonly largest: number;
  readonly central: number;
  readonly complex: number;
}

/** Distances of every entry's derivative by hand from the two others: the largest of each tensor. */
export function checkAll(engine: Engine, run: AttentionRun): readonly CheckRow[] {
  return differentiable.map(({ name, tex, what }) => {
    const gradient = need(run.tensors, `d${name}`).data;
    const gaps = Array.from(gradient, (_, i) => {
      const both = Float64Array.of(CENTRAL, COMPLEX), d = engine.attentionDerivative(run.inputs, name, i, both);
      return { central: d.hand - (d.central[0] as number), complex: d.hand - (d.complex[1] as number) };
    });
    return {
      name, tex, what, compared: gaps.length, of: run.inputs[name].length, largest: largest(gradient),
      central: largest(gaps.map((g) => g.central)), complex: largest(gaps.map((g) => g.complex)),
    };
  });
}

/** Above the gaps of a right gradient (1e-11 and 1e-16), far below those of a wrong one. */
const CENTRAL_MOST = 1e-8, COMPLEX_MOST = 1e-13;

/** What is said below holds, or the page is not made: the first gradient that is not what the other ways find. */
export function requireAgreement(rows: readonly CheckRow[]): void {
  for (const r of rows) {
    const ok = r.compared === r.of && r.central <= CENTRAL_MOST && r.complex <= COMPLEX_MOST;   // NaN is not
    if (!ok) throw new Error(`the gradient of ${r.name} in attention_backward: ${r.compared} of ${r.of} entries compared; gaps ${r.central} from the central difference, ${r.complex} from the complex step; expected at most ${CENTRAL_MOST} and ${COMPLEX_MOST}`);
  }
}

function View({ loaded }: { loaded: readonly CheckRow[] }): JSX.Element {
  const sum = (of: (r: CheckRow) => number): number => loaded.reduce((n, r) => n + of(r), 0);
  return (
    <div data-source="example">
      <p class="block-words">
        Each entry is found by the backward pass, by a <a href="verification.html#finite-differences">central difference</a> with
        a step of {sci(CENTRAL, 0)}, and by the <a href="verification.html#complex-step">complex step</a> with one of {sci(COMPLEX, 0)}. The
        difference cannot come closer than it does: it subtracts. The complex step agrees to the last digits.
      </p>
      <Scroll label="Largest gap of each gradient from two other ways to find it">
        <table class="data">
          <caption class="vh">Largest gap of each gradient from two other ways to find it</caption>
          <thead><tr>
            <th scope="col">Gradient of</th><th scope="col" class="num">Entries compared</th><th scope="col" class="num">Largest entry</th>
            <th scope="col" class="num">Gap, central difference</th><th scope="col" class="num">Gap, complex step</th>
          </tr></thead>
          <tbody>
            {loaded.map((r) => (
              <tr key={r.name}>
                <th scope="row"><Tex tex={r.tex} /> {r.what}</th><td class="num">{r.compared} of {r.of}</td><td class="num">{fmt(r.largest)}</td><td class="num">{sci(r.central)}</td><td class="num">{sci(r.complex)}</td>
              </tr>
            ))}
            <tr class="sum">
              <th scope="row">all</th><td class="num">{sum((r) => r.compared)} of {sum((r) => r.of)}</td><td class="num">{fmt(largest(loaded.map((r) => r.largest)))}</td>
              <td class="num">{sci(largest(loaded.map((r) => r.central)))}</td><td class="num">{sci(largest(loaded.map((r) => r.complex)))}</td>
            </tr>
          </tbody>
        </table>
      </Scroll>
    </div>
  );
}

export const island = defineIsland<Record<string, never>, readonly CheckRow[]>({
  load: async (_, engine) => {
    const rows = checkAll(engine, runAttention(engine));
    requireAgreement(rows);
    return rows;
  },
  view: View,
  inert: true,
});
