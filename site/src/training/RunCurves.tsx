/* RunCurves.tsx -- a run as curves, as summary figures, at one chosen step, and as a table: the
 * same numbers four times, so that nobody depends on seeing a line. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useTheme } from '../components/shown-theme';
import { fmt, full, sci } from '../components/numbers';
import type { Colours, Curve, Quantity } from './curves';
import { rowsToRead, summarise, type Step } from './log';

const QUANTITIES: readonly (readonly [Quantity, string, string])[] = [
  ['loss', 'Loss', 'nats per token'],
  ['rate', 'Learning rate', ''],
  ['norm', 'Gradient norm, before clipping', ''],
];

/** Canvas needs colours as they are: read from the keys, whose colours are tokens. */
function coloursOf(root: HTMLElement): Colours {
  const colour = (name: string): string => {
    const probe = root.querySelector<HTMLElement>(name);
    return probe ? getComputedStyle(probe).color : 'gray';
  };
  return { ink: colour('.c-ink'), quiet: colour('.c-quiet'), rule: colour('.c-rule'), first: colour('.c-first'), second: colour('.c-second'), font: getComputedStyle(root).fontFamily };
}

function One({ quantity, steps, chosen, theme, root, onChoose }: {
  quantity: Quantity; steps: readonly Step[]; chosen: number; theme: string; root: { readonly current: HTMLElement | null }; onChoose: (index: number) => void;
}): JSX.Element {
  const place = useRef<HTMLDivElement>(null), curve = useRef<Curve | null>(null);
  const latest = useRef({ steps, chosen });
  latest.current = { steps, chosen };
  useEffect(() => {
    let live = true;
    void import('./curves').then(({ drawCurve }) => {
      if (!live || !place.current || !root.current) return;
      curve.current = drawCurve(place.current, quantity, coloursOf(root.current), latest.current.steps, latest.current.chosen, onChoose);
    });
    return () => { live = false; curve.current?.close(); curve.current = null; };
  }, [quantity, theme]);
  useEffect(() => curve.current?.update(steps, chosen), [steps, chosen]);
  return <div class="curvebox" ref={place} aria-hidden="true" />;
}

function Figures({ steps, uniform }: { steps: readonly Step[]; uniform: number | null }): JSX.Element | null {
  const s = summarise(steps);
  if (!s) return null;
  return (
    <dl class="runfigures">
      <div><dt>Steps</dt><dd>{s.last.step}{s.last.steps !== null && s.last.steps !== s.last.step ? ` of ${s.last.steps}` : ''}</dd></div>
      <div><dt>Loss, first step</dt><dd>{fmt(s.first.loss)}</dd></div>
      {uniform !== null && <div><dt>ln V, of a model that knows nothing</dt><dd>{fmt(uniform)}</dd></div>}
      <div><dt>Loss, last step</dt><dd>{fmt(s.last.loss)}</dd></div>
      <div><dt>Lowest loss</dt><dd>{fmt(s.lowest.loss)} <small>step {s.lowest.step}</small></dd></div>
      {s.validation && <div><dt>Lowest validation loss</dt><dd>{fmt(s.validation.validation as number)} <small>step {s.validation.step}</small></dd></div>}
      <div><dt>Highest learning rate</dt><dd>{full(Number(s.highestRate.toPrecision(6)))}</dd></div>
      <div><dt>Largest gradient norm</dt><dd>{fmt(s.largestNorm.norm)} <small>step {s.largestNorm.step}</small></dd></div>
    </dl>
  );
}

function Table({ steps }: { steps: readonly Step[] }): JSX.Element {
  const { rows, every } = rowsToRead(steps);
  return (
    <details class="runtable">
      <summary>The same numbers as a table</summary>
      <p class="cap">{every === 1 ? 'Every step.' : `One step of ${every}, the last, and each with a validation loss.`}</p>
      <div class="runscroll" role="region" aria-label="The run as a table" tabIndex={0}>
        <table>
          <thead><tr><th scope="col">step</th><th scope="col">loss</th><th scope="col">validation loss</th><th scope="col">learning rate</th><th scope="col">gradient norm</th></tr></thead>
          <tbody>{rows.map((s) => <tr key={s.step}><th scope="row">{s.step}</th><td>{fmt(s.loss, 4)}</td><td>{s.validation === null ? '' : fmt(s.validation, 4)}</td><td>{sci(s.rate, 2)}</td><td>{fmt(s.norm, 4)}</td></tr>)}</tbody>
        </table>
      </div>
    </details>
  );
}

/** `follow`: the chosen step is the latest, until another is chosen. */
export function RunCurves({ steps, uniform, follow = false }: { steps: readonly Step[]; uniform: number | null; follow?: boolean }): JSX.Element | null {
  const root = useRef<HTMLDivElement>(null);
  const theme = useTheme();
  const [picked, setPicked] = useState<number | null>(null);
  if (steps.length === 0) return null;
  const chosen = Math.min(steps.length - 1, picked ?? steps.length - 1);
  const at = steps[chosen] as Step;
  const choose = (index: number): void => setPicked(follow && index >= steps.length - 1 ? null : index);
  return (
    <div class="runcurves" ref={root}>
      <span class="runprobe" aria-hidden="true"><i class="c-ink" /><i class="c-quiet" /><i class="c-rule" /></span>
      <Figures steps={steps} uniform={uniform} />
      {QUANTITIES.map(([quantity, name, unit]) => (
        <figure key={quantity} class="runfig">
          <figcaption><span><b>{name}</b>{unit ? `, ${unit}` : ''}</span>{quantity === 'loss' && <span class="runkeys"><span><i class="c-first" /> each training step</span> <span><i class="c-second" /> validation</span></span>}</figcaption>
          <One quantity={quantity} steps={steps} chosen={chosen} theme={theme} root={root} onChoose={choose} />
        </figure>))}
      <label class="runpick"><span>Step</span>
        <input type="range" min={0} max={steps.length - 1} step={1} value={chosen} aria-valuetext={`step ${at.step}`} onInput={(e) => choose(Number(e.currentTarget.value))} />
        <output>{at.step}</output></label>
      <dl class="runat" aria-live="polite">
        <div><dt>loss</dt><dd>{fmt(at.loss, 4)}</dd></div>
        <div><dt>validation loss</dt><dd>{at.validation === null ? 'not measured here' : fmt(at.validation, 4)}</dd></div>
        <div><dt>learning rate</dt><dd>{sci(at.rate, 3)}</dd></div>
        <div><dt>gradient norm</dt><dd>{fmt(at.norm, 4)}</dd></div>
      </dl>
      <Table steps={steps} />
    </div>
  );
}
