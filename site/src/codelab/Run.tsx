/* Run.tsx -- the code lab in the page: draws of a seed, the loss beside that of a blind guess,
 * and every tensor, forward and back, with the arithmetic of any cell. */
import { useMemo, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { Case } from '../components/Case';
import { sliceOf, TensorPanel } from '../components/ExampleView';
import { defineIsland, type ViewProps } from '../components/island';
import { useLive } from '../components/narrow';
import { fmt, full, parseNumber } from '../components/numbers';
import { Segment } from '../components/Segment';
import { Tex } from '../components/Tex';
import type { Engine, LabOptions, LabRun } from '../engine/types';
import { drawn, FIRST, labTensors } from '../examples/codelab';
import type { ExampleTensor } from '../examples/types';
import { parseSeed, useOptions } from './options';
import { Part } from './Part';
import '../style/exview.css';

/** Where the site shows a label's equation, and the line that computes it. */
interface LabelPlace {
  readonly tex: string | null;
  readonly href: string | null;
  readonly line: { readonly text: string; readonly href: string };
}
interface Props {
  readonly labels?: Readonly<Record<string, LabelPlace>>;
}
interface Ran {
  readonly run: LabRun;
  readonly tensors: readonly ExampleTensor[];
}

const LABELS = ['lab.q', 'lab.k', 'lab.v', 'lab.att', 'lab.logits', 'ce.lse', 'ce.loss', 'lab.loss', 'lab.dlogits', 'lab.do', 'lab.datt', 'lab.dx', 'lab.dw'];

function runLab(engine: Engine, options: LabOptions): Ran {
  const run = engine.lab(options);
  return { run, tensors: labTensors(engine, options, run) };
}

/** The command that prints the same run. */
export function commandOf({ seed, heads, temperature, scalar }: LabOptions): string {
  return ['vitrine lab', `--seed ${seed}`, heads === 1 ? '' : `--heads ${heads}`, temperature === 1 ? '' : `--temperature ${temperature}`,
    scalar === 'f32' ? '--dtype float32' : ''].filter((word) => word !== '').join(' ');
}

interface Controls {
  readonly options: LabOptions;
  /** Returns why the options cannot be used, or null. */
  readonly onChange: (next: LabOptions) => string | null;
}

function Choices({ options, onChange }: Controls): JSX.Element {
  const [fault, setFault] = useState<string | null>(null);
  const change = (part: Partial<LabOptions>): void => setFault(onChange({ ...options, ...part }));
  const onSeed = (text: string): void => {
    const seed = parseSeed(text);
    if (seed === null) setFault(`Seed \u201c${text}\u201d: expected a whole number from 0. The numbers shown are still of seed ${options.seed}.`);
    else change({ seed });
  };
  const onTemperature = (text: string): void => {
    const temperature = parseNumber(text);
    if (temperature === null) setFault(`Temperature \u201c${text}\u201d: expected a number. The numbers shown are still of temperature ${options.temperature}.`);
    else change({ temperature });
  };
  return (
    <>
      <div class="clbar">
        <label class="fld"><span class="fl">Seed</span>
          <input class="btn" size={6} inputMode="numeric" autocomplete="off" value={String(options.seed)} onChange={(e) => onSeed(e.currentTarget.value)} />
        </label>
        <button type="button" class="btn" onClick={() => change({ seed: options.seed + 1 })}>Next seed</button>
        <Segment label="Heads" value={options.heads} choices={[{ value: 1, text: '1' }, { value: 2, text: '2' }]} onChoose={(heads) => change({ heads })} />
        <label class="fld"><span class="fl">Temperature of the loss</span>
          <input class="btn" size={6} inputMode="decimal" autocomplete="off" value={String(options.temperature)} onChange={(e) => onTemperature(e.currentTarget.value)} />
        </label>
        <Segment label="Numbers" value={options.scalar} choices={[{ value: 'f64', text: 'float64' }, { value: 'f32', text: 'float32' }]} onChoose={(scalar) => change({ scalar })} />
        <button type="button" class="btn quiet push" onClick={() => setFault(onChange(FIRST))}>Start again</button>
      </div>
      <p class="clfault" role="status">{fault}</p>
    </>
  );
}

function Readouts({ engine, options, run }: { engine: Engine; options: LabOptions; run: LabRun }): JSX.Element {
  const classes = run.tensors.get('Wo')!.shape[1]!, blind = engine.elementary('log', classes);
  return (
    <div class="readouts" role="status">
      <div><span>Loss</span><b data-t="loss" data-i="0" title={full(run.loss)}>{fmt(run.loss, 6)}</b></div>
      <div><span>ln {classes}, of a guess that prefers nothing</span><b title={full(blind)}>{fmt(blind, 6)}</b></div>
      <p>{run.loss > blind ? 'Random weights do worse than a guess that prefers nothing: they prefer, and mostly the wrong class.' : 'These random weights happen to do better than a guess that prefers nothing.'}{' '}
        The targets are the classes {Array.from(run.tensors.get('targets')!.data).join(', ')}. In a terminal, <code>{commandOf(options)}</code> prints the same numbers.</p>
    </div>
  );
}

function groupOf(t: ExampleTensor, k: number, loss: number): string {
  return t.label === null ? 'drawn' : k <= loss ? 'forward' : 'backward';
}

function Picker({ tensors, chosen, onChoose }: { tensors: readonly ExampleTensor[]; chosen: number; onChoose: (id: string) => void }): JSX.Element {
  const live = useLive();
  const loss = tensors.findIndex((t) => t.id === 'loss');
  const step = (by: number): void => onChoose(tensors[Math.min(tensors.length - 1, Math.max(0, chosen + by))]!.id);
  const shown = live ? tensors : tensors.slice(chosen, chosen + 1);
  return (
    <>
      <label class="fld"><span class="fl">Tensor</span>
        <select class="btn" value={tensors[chosen]!.id} onChange={(e) => onChoose(e.currentTarget.value)}>
          {(['drawn', 'forward', 'backward'] as const).map((group) => {
            const inside = shown.filter((t) => groupOf(t, tensors.indexOf(t), loss) === group);
            return inside.length === 0 ? null : (
              <optgroup key={group} label={group}>
                {inside.map((t) => <option key={t.id} value={t.id} selected={t.id === tensors[chosen]!.id}>{t.id}, {t.title}</option>)}
              </optgroup>
            );
          })}
        </select>
      </label>
      <div class="stepper">
        <button type="button" class="btn" aria-label="Tensor before" disabled={chosen === 0} onClick={() => step(-1)}>{'\u2190'}</button>
        <button type="button" class="btn" aria-label="Tensor after" disabled={chosen === tensors.length - 1} onClick={() => step(1)}>{'\u2192'}</button>
      </div>
    </>
  );
}

function View({ props, loaded, engine }: ViewProps<Props, Ran>): JSX.Element {
  const [options, choose] = useOptions();
  const { run, tensors } = useMemo(() => (options === FIRST ? loaded : runLab(engine, options)), [options, loaded, engine]);
  const [at, setAt] = useState({ tensor: 'P', slice: 0, row: 3, column: 1 });
  const chosen = Math.max(0, tensors.findIndex((t) => t.id === at.tensor));
  const tensor = tensors[chosen]!, { slices } = sliceOf(tensor, 0);
  const place = tensor.label === null ? undefined : props.labels?.[tensor.label];
  const onChange = (next: LabOptions): string | null => {
    try {
      engine.lab(next);
    } catch (error) {
      return error instanceof Error ? `${error.message}. The numbers shown are still those of before.` : String(error);
    }
    choose(next);
    return null;
  };
  return (
    <Part title="Run it" words={<p>
      Choose a seed. The numbers are drawn as NumPy's <code>default_rng</code> draws them, bit for bit, then computed by the C
      code in this page: forward to the loss, and back to the gradient of every number that went in.
    </p>}>
      <Case small source="codelab" note={drawn(options)} label="The code lab, run in this page">
        <Choices options={options} onChange={onChange} />
        <Readouts engine={engine} options={options} run={run} />
        <div class="exview clrun">
          <h3>Every tensor</h3>
          <div class="tool">
            <Picker tensors={tensors} chosen={chosen} onChoose={(id) => setAt({ ...at, tensor: id })} />
            {slices > 1 && <Segment label="Head" value={Math.min(at.slice, slices - 1)} choices={Array.from({ length: slices }, (_, value) => ({ value, text: String(value) }))} onChoose={(slice) => setAt({ ...at, slice })} />}
            <span class="push dims"><Tex tex={tensor.tex} /> {tensor.letters} = ({tensor.shape.join(', ')})</span>
          </div>
          <div class="eqline">
            {place === undefined ? 'Drawn, not computed.' : <>{place.tex === null ? null : <Tex tex={place.tex} />}
              <span class="from">{place.href === null ? tensor.label : <a href={place.href}>{tensor.label}</a>}, <a class="src" href={place.line.href}>{place.line.text}</a></span></>}
          </div>
          <TensorPanel tensor={tensor} slice={at.slice} cell={[at.row, at.column]} onChoose={(row, column) => setAt({ ...at, row, column })} />
        </div>
      </Case>
    </Part>
  );
}

export const island = defineIsland<Props, Ran>({
  prepare: (props, site) => ({
    ...props,
    labels: Object.fromEntries(LABELS.map((label): [string, LabelPlace] => {
      const line = site.map.labels[label]?.lines[0];
      if (!line) throw new Error(`no line of C carries the label "${label}"`);
      return [label, {
        tex: site.equationTex(label), href: site.equationHref(label),
        line: { text: `${line.file}:${line.line}`, href: site.lineHref(line.file, line.line) },
      }];
    })),
  }),
  load: async (_, engine) => runLab(engine, FIRST),
  tex: (props, loaded) => [...loaded.tensors.map((t) => t.tex), ...Object.values(props.labels ?? {}).flatMap((l) => (l.tex === null ? [] : [l.tex]))],
  view: View,
});
