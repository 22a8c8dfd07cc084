/* Temperature.tsx -- experiment 2: softmax(logits / temperature) of the last token, as bars. */
import { useMemo, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { Case } from '../components/Case';
import { defineIsland, type ViewProps } from '../components/island';
import { fmt } from '../components/numbers';
import { Tex } from '../components/Tex';
import type { Engine, LabOptions } from '../engine/types';
import { drawn, FIRST } from '../examples/codelab';
import { useOptions } from './options';
import { Part } from './Part';

/** Those of vt_lab, and what the slider starts from. */
export const TEMPERATURES = [0.25, 0.7, 1, 1.5] as const;
const START = 3;

type Softened = ReturnType<Engine['labSoften']>;

/** Is the entropy lower wherever the temperature is? */
export function falls(softs: Softened): boolean {
  const sorted = [...softs].sort((a, b) => a.temperature - b.temperature);
  return sorted.every((s, k) => k === 0 || s.entropy > sorted[k - 1]!.entropy);
}

function Bars({ soft, most, yours = false }: { soft: Softened[number]; most: number; yours?: boolean }): JSX.Element {
  return (
    <table class="softbars">
      <caption>{yours ? 'Yours: ' : ''}temperature <b>{soft.temperature}</b></caption>
      <thead class="vh"><tr><th scope="col">class</th><th scope="col">probability</th></tr></thead>
      <tbody>
        {Array.from(soft.probabilities, (p, v) => (
          <tr key={v}><th scope="row">{v}</th><td><span class="clmeter-line"><i class="clmeter raw" aria-hidden="true" style={`--part:${((100 * p) / most).toFixed(1)}%`} /></span></td><td class="num">{fmt(p)}</td></tr>
        ))}
      </tbody>
      <tfoot><tr><td colSpan={3}>entropy <b>{fmt(soft.entropy, 4)}</b> bits</td></tr></tfoot>
    </table>
  );
}

function View({ loaded, engine }: ViewProps<Record<string, never>, Softened>): JSX.Element {
  const [options] = useOptions();
  const [own, setOwn] = useState(START);
  const fixed = useMemo(() => (options === FIRST ? loaded : engine.labSoften(options, [...TEMPERATURES, START])), [options, loaded, engine]);
  const yours = useMemo(() => (own === START ? fixed[fixed.length - 1]! : engine.labSoften(options as LabOptions, [own])[0]!), [own, fixed, options, engine]);
  const softs = [...fixed.slice(0, -1), yours], most = Math.max(...softs.flatMap((s) => Array.from(s.probabilities)));
  return (
    <Part title="Experiment 2: temperature" words={<p>
      Divide the logits by a temperature before softmax. Below one, large logits pull away from the others, and the distribution
      becomes sharper; above one it becomes flatter. The order of the classes never changes. <em>Entropy</em> measures what is left
      to guess, in bits: <Tex tex="-\sum_v p_v \log_2 p_v" />. It falls as the temperature falls.
    </p>}>
      <Case small source="codelab" note={drawn(options)} label="Probabilities of the last token at several temperatures">
        <div class="clbar"><label class="fld temp"><span class="fl">Your temperature: {own}</span>
          <input type="range" min="0.05" max="5" step="0.05" value={own} onInput={(e) => setOwn(Number(e.currentTarget.value))} /></label></div>
        <div class="softs">{softs.map((s, k) => <Bars key={k} soft={s} most={most} yours={k === softs.length - 1} />)}</div>
        <p class="cap">Softmax of the last token's logits, over the classes; all bars have one scale. {falls(fixed.slice(0, -1)) ? 'The entropy falls with the temperature here, as it must.' : ''} Nothing is drawn in this
          step, so there is no sampling error.</p>
      </Case>
    </Part>
  );
}

export const island = defineIsland<Record<string, never>, Softened>({
  load: async (_, engine) => engine.labSoften(FIRST, [...TEMPERATURES, START]),
  view: View,
});
