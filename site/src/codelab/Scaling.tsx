/* Scaling.tsx -- experiment 1: why scores are divided by the root of the head's width. */
import { useMemo } from 'preact/hooks';
import type { JSX } from 'preact';
import { Case } from '../components/Case';
import { defineIsland, type ViewProps } from '../components/island';
import { fmt } from '../components/numbers';
import { Tex } from '../components/Tex';
import type { LabMeasure, LabScaling } from '../engine/types';
import { FIRST } from '../examples/codelab';
import { useOptions } from './options';
import { Part } from './Part';
import { constant, readPublished, type Published } from './published';
import '../style/blocks.css';

interface Props {
  readonly published?: Published;
  /** Keys that each query looks at. */
  readonly keys?: number;
}

function Measured({ of, digits }: { of: LabMeasure; digits: number }): JSX.Element {
  return <span class="nw">{fmt(of.value, digits)} <small>{'\u00b1'} {fmt(of.error, digits)}</small></span>;
}

/** A number with its bar: `most` fills it. */
function Bar({ of, most, kind }: { of: LabMeasure; most: number; kind: 'raw' | 'scaled' }): JSX.Element {
  return <><Measured of={of} digits={3} /><i class={`clmeter ${kind}`} aria-hidden="true" style={`--part:${((100 * of.value) / most).toFixed(1)}%`} /></>;
}

function View({ props, loaded, engine }: ViewProps<Props, readonly LabScaling[]>): JSX.Element {
  const [{ seed }] = useOptions();
  const rows = useMemo(() => (seed === FIRST.seed ? loaded : engine.labScaling(seed)), [seed, loaded, engine]);
  const gradient = Math.max(...rows.flatMap((r) => [r.rawGradient.value, r.scaledGradient.value]));
  const first = rows[0]!, last = rows[rows.length - 1]!;
  const published = props.published;
  return (
    <Part title={<>Experiment 1: why divide by <Tex tex="\sqrt{d_h}" />?</>} words={<p>
      Draw queries and keys with entries of variance one. A score is a sum of <Tex tex="d_h" /> products, so its standard deviation
      is <Tex tex="\sqrt{d_h}" />: wider heads have larger scores, though nothing else changed. Softmax of large scores gives almost
      everything to one key. That is not the harm. The harm is what comes back: the derivative of a softmax that is sure of itself
      is almost zero, and queries and keys stop learning.
    </p>}>
      <Case small source="codelab" note={`seed ${seed}`} label="Scores, weights and gradients over the head's width">
        <div class="tbl" tabIndex={0} role="region" aria-label="Experiment 1">
          <table class="data scaling">
            <caption class="vh">By the width of the head: spread of the scores, largest weight and size of the softmax's derivative, raw and scaled</caption>
            <thead>
              <tr><th scope="col">Width <Tex tex="d_h" /></th><th scope="col">Deviation of raw scores</th><th scope="col">In theory <Tex tex="\sqrt{d_h}" /></th>
                <th scope="col">Largest weight, raw</th><th scope="col">and scaled</th><th scope="col">Softmax gradient, raw</th><th scope="col">and scaled</th></tr>
            </thead>
            <tbody>
              {rows.map((r) => (
                <tr key={r.dHead}>
                  <th scope="row">{r.dHead}</th><td data-l="Deviation of raw scores"><Measured of={r.deviation} digits={2} /></td><td data-l="In theory">{Math.sqrt(r.dHead)}</td>
                  <td data-l="Largest weight, raw"><Bar of={r.rawMax} most={1} kind="raw" /></td><td data-l="Largest weight, scaled"><Bar of={r.scaledMax} most={1} kind="scaled" /></td>
                  <td data-l="Softmax gradient, raw"><Bar of={r.rawGradient} most={gradient} kind="raw" /></td><td data-l="Softmax gradient, scaled"><Bar of={r.scaledGradient} most={gradient} kind="scaled" /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <p class="cap">Means over {first.rows} queries that look at {props.keys} keys each; {'\u00b1'} is one standard error of this sample. Softmax gradient: the Frobenius norm (root of the sum of squares) of
          softmax's matrix of derivatives. From the narrowest head to the widest it goes from {fmt(first.rawGradient.value)} to {fmt(last.rawGradient.value)} on raw scores. On scaled
          ones it is {fmt(first.scaledGradient.value)} for the narrowest and {fmt(last.scaledGradient.value)} for the widest.</p>
      </Case>
      {published === undefined ? null : <p class="cap clnote"><em>published</em> (Code Lab 01, its own run with seed 0; the error of its sample is not given): deviation {published.scaling.map((s) => s.deviation).join(' / ')};
        largest weight raw {published.scaling.map((s) => s.rawMax).join(' / ')}, scaled {published.scaling.map((s) => s.scaledMax).join(' / ')}. It drew other numbers, so the two agree within sampling error, not in digits.</p>}
    </Part>
  );
}

export const island = defineIsland<Props, readonly LabScaling[]>({
  prepare: (props, site) => ({ ...props, published: readPublished(site), keys: constant(site, 'include/vitrine.h', 'VT_LAB_KEYS') }),
  load: async (_, engine) => engine.labScaling(FIRST.seed),
  view: View,
});
