/* Next.tsx -- where to go from the code lab. */
import type { JSX } from 'preact';
import { defineIsland } from '../components/island';
import { Part } from './Part';

interface Props {
  readonly kernels?: string;
}

function View({ props }: { props: Props }): JSX.Element {
  return (
    <Part title="What to do next">
      <dl class="kv next">
        <dt><a href="attention.html#lab">The attention lab</a></dt><dd>The same computation with biases and several heads, step by step beside its source, on an example or on a trained model.</dd>
        <dt><a href="verification.html">Verification</a></dt><dd>Where a step is too small or too large, why the complex step has no such trouble, and how the checks themselves are checked.</dd>
        <dt><a href="block.html">Transformer block</a></dt><dd>What stands around attention: layer norms, a network for each token, and two paths past them.</dd>
        <dt><a href="training.html">Training</a></dt><dd>What becomes of the gradients: AdamW, a schedule, and the curves of a real run.</dd>
        <dt><a href="playground.html">Playground</a></dt><dd>The same attention with learned weights, on your own text.</dd>
        <dt>Your own kernel</dt><dd><code>vitrine check --kernel FILE.c</code> checks any forward and backward function as it checks ours, and says what kind of mistake it found{props.kernels === undefined ? '' : <> (<a href={props.kernels}>docs/check-kernel.md</a>)</>}.</dd>
        <dt>All tensors in a file</dt><dd><code>vitrine lab --dump lab.npz</code> writes every number of a run for NumPy or PyTorch.</dd>
      </dl>
    </Part>
  );
}

export const island = defineIsland<Props>({
  inert: true,
  prepare: (props, site) => ({ ...props, kernels: site.lineHref('docs/check-kernel.md', 1) }),
  view: View,
});
