/* verification-ucurve.tsx -- any entry of any parameter of the attention example: its
 * derivative three ways, and how the two ways by a step depend on the step. */
import { useMemo, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { Digits } from '../components/Digits';
import { defineIsland } from '../components/island';
import { sci, stepOf } from '../components/numbers';
import { gap, UCurve } from '../components/UCurve';
import type { AttentionParameter, Derivative, Engine } from '../engine/types';
import { toAttentionInputs } from '../examples/attention-inputs';
import { differentiable } from './attention-run';
import '../style/lab.css';
import '../style/blocks.css';

/** Half powers of ten, from 1 down. */
const STEPS = Float64Array.from({ length: 33 }, (_, k) => stepOf(k / 2));
const FIRST = { name: 'Wq' as AttentionParameter, entry: 4, step: 10 };

function derivative(engine: Engine, name: AttentionParameter, entry: number): Derivative {
  return engine.attentionDerivative(toAttentionInputs(), name, entry, STEPS);
}

function View({ loaded, engine }: { loaded: Derivative; engine: Engine }): JSX.Element {
  const [at, setAt] = useState(FIRST);
  const inputs = useMemo(() => toAttentionInputs(), []);
  const entries = inputs[at.name].length;
  const d = useMemo(() => (at.name === FIRST.name && at.entry === FIRST.entry ? loaded : derivative(engine, at.name, at.entry)), [at.name, at.entry, engine, loaded]);
  const vector = at.name.startsWith('b');
  const index = (k: number): string => (vector ? String(k) : `${Math.floor(k / inputs.C)},${k % inputs.C}`);
  const name = `${at.name}[${index(at.entry)}]`;
  const central = d.central[at.step] as number, complex = d.complex[at.step] as number;
  return (
    <div class="ucurve" data-source="example">
      <div class="block-tool">
        <label class="fld"><span class="fl">Parameter</span>
          <select class="btn" value={at.name} onChange={(e) => setAt({ ...at, name: e.currentTarget.value as AttentionParameter, entry: 0 })}>
            {differentiable.map((p) => <option key={p.name} value={p.name} selected={p.name === at.name}>{p.name}, {p.what}</option>)}
          </select>
        </label>
        <label class="fld"><span class="fl">Entry</span>
          <select class="btn" value={at.entry} onChange={(e) => setAt({ ...at, entry: Number(e.currentTarget.value) })}>
            {Array.from({ length: entries }, (_, k) => <option key={k} value={k} selected={k === at.entry}>{index(k)}</option>)}
          </select>
        </label>
        <label class="fld hs"><span class="fl">Step h = {sci(STEPS[at.step] as number, 0)}</span>
          <input type="range" min="0" max={STEPS.length - 1} step="1" value={at.step} aria-valuetext={sci(STEPS[at.step] as number, 0)}
            onInput={(e) => setAt({ ...at, step: Number(e.currentTarget.value) })} />
        </label>
      </div>
      <div class="uproof">
        <UCurve steps={STEPS} central={d.central} complex={d.complex} hand={d.hand} chosen={at.step} of={name} />
        <table class="three" aria-label={`Derivative of the loss by ${name}, three ways`} aria-live="polite">
          <tbody><tr><th scope="row">by hand, the backward pass</th></tr><tr><td><Digits value={d.hand} /> <span class="g"><br />{name}</span></td></tr></tbody>
          <tbody><tr><th scope="row">central difference at this step</th></tr><tr><td><Digits value={central} like={d.hand} /> <span class="g"><br />gap {sci(gap(central, d.hand))}</span></td></tr></tbody>
          <tbody><tr><th scope="row">complex step at this step</th></tr><tr><td><Digits value={complex} like={d.hand} /> <span class="g"><br />gap {sci(gap(complex, d.hand))}</span></td></tr></tbody>
        </table>
      </div>
      <p class="cap">Gaps are relative to the derivative by hand. Digits that differ from it are marked. Where the derivative itself is zero but for rounding, as for the key bias, no way has digits to agree on.</p>
    </div>
  );
}

export const island = defineIsland<Record<string, never>, Derivative>({
  load: async (_, engine) => derivative(engine, FIRST.name, FIRST.entry),
  view: View,
  core: true,
});
