/* verification-steps.tsx -- one derivative by both kinds of step, down to the smallest
 * numbers that a double can hold. */
import type { JSX } from 'preact';
import { Digits } from '../components/Digits';
import { defineIsland } from '../components/island';
import { sci } from '../components/numbers';
import type { Derivative } from '../engine/types';
import { toAttentionInputs } from '../examples/attention-inputs';
import '../style/lab.css';
import { Scroll } from '../components/Scroll';
import '../style/blocks.css';

/** The last ones are below the smallest normal double: there the step itself has few digits. */
const STEPS = Float64Array.of(1e-1, 1e-4, 1e-8, 1e-12, 1e-16, 1e-30, 1e-100, 1e-300, 1e-320);
const ENTRY = 4;

function View({ loaded }: { loaded: Derivative }): JSX.Element {
  return (
    <div data-source="example">
      <p class="block-words">
        The derivative of one entry of the query weights, at ever smaller steps. The central difference runs out of digits, then the step no longer
        changes the entry at all and the difference is zero. The complex step stays, until the step is so small that a double cannot hold it with all its digits.
      </p>
      <Scroll label="One derivative by central difference and by complex step, over the step">
        <table class="data three">
          <caption class="vh">One derivative by central difference and by complex step, over the step</caption>
          <thead><tr><th scope="col">Step</th><th scope="col">Central difference</th><th scope="col">Complex step</th></tr></thead>
          <tbody>
            {Array.from(STEPS, (h, k) => (
              <tr key={k}><th scope="row" class="nw">{sci(h, 0)}</th><td><Digits value={loaded.central[k] as number} like={loaded.hand} /></td><td><Digits value={loaded.complex[k] as number} like={loaded.hand} /></td></tr>
            ))}
            <tr class="sum"><th scope="row">by hand</th><td colSpan={2}><Digits value={loaded.hand} /></td></tr>
          </tbody>
        </table>
      </Scroll>
    </div>
  );
}

export const island = defineIsland<Record<string, never>, Derivative>({
  load: async (_, engine) => engine.attentionDerivative(toAttentionInputs(), 'Wq', ENTRY, STEPS),
  view: View,
  inert: true,
});
