/* Lab.tsx -- the attention lab: one glass case.  Choose source, layer, head, token, step
 * and cell; everything else follows: figure, arithmetic, code, invariants, proof.
 *
 * All numbers come from the C code: the example's from vitrine.wasm, run here; a model's
 * from its verified export, or from vitrine.wasm on the visitor's text.  The whole state
 * is in the address.
 */
import type { ComponentChildren, JSX } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Case } from '../components/Case';
import { publishCell } from '../components/chosen-cell';
import { CodePanel } from '../components/CodePanel';
import { defineIsland } from '../components/island';
import { sci } from '../components/numbers';
import { Segment } from '../components/Segment';
import { Track } from '../components/Track';
import type { AttentionInputs, Engine } from '../engine/types';
import { exampleLayer } from '../examples/attention';
import { moved, toAttentionInputs } from '../examples/attention-inputs';
import { dot, type AttentionLayer } from '../examples/attention-layer';
import { FILES, panelsOf, unpack, type LabCode, type PanelName, type Panels } from './code-panels';
import { codeValues } from './code-values';
import type { EditGridsProps } from './EditGrids';
import { cellOf, chooseCell, chooseToken, isVector, outside, parameterSize, PARAMETERS, setEdit, settle, START, type Bounds, type Edit, type EditName, type LabState } from './lab-state';
import { Prove, type Nudge } from './Prove';
import { Stage } from './Stage';
import { allTex, FACTS, figureOf, STEPS, type Step } from './steps';
import { useModel } from './use-model';
import { invariantsOf, termsOf } from './verdict';

export interface LabProps {
  readonly code?: LabCode;
}

const FORWARD_STOPS = (['project', 'scores', 'scaled', 'masked', 'softmax', 'values', 'output'] as const).map((step) => [{ step, text: FACTS[step].name }]);
const gradientName = (step: Step): JSX.Element => <i>{FACTS[step].name}</i>;
const BACKWARD_STOPS = [['dX'], ['dK'], ['dQ'], ['dS'], ['dA'], ['dV', 'dO'], ['dOut']]
  .map((stops) => (stops as Step[]).map((step) => ({ step, text: gradientName(step) })));

/** The example's inputs with the visitor's changes. */
function edited(edits: readonly Edit[]): AttentionInputs {
  const inputs = toAttentionInputs();
  const copies: Record<string, Float64Array> = {};
  for (const e of edits) {
    const array = (copies[e.name] ??= inputs[e.name].slice());
    const at = e.row * (e.name.startsWith('b') ? 0 : inputs.C) + e.column;
    if (at < array.length && (e.name.startsWith('b') || e.column < inputs.C)) array[at] = e.value;
  }
  return { ...inputs, ...copies };
}

/** What writes and reads addresses: wanted once something was chosen, or where one came with the visit. */
const address = (): Promise<typeof import('./address')> => import('./address');

/** Reads the address when the page opens and when it changes, and writes it after each choice. */
function useAddress(state: LabState, apply: (state: LabState, notes: readonly string[]) => void): void {
  const opened = useRef(false);
  useEffect(() => {
    const read = async (): Promise<void> => {
      if (!location.hash.startsWith('#lab')) return;   /* no view of the lab: nothing to read it with */
      const opening = !opened.current;
      const parsed = (await address()).parseAddress(location.hash);
      if (!parsed) return;
      apply(parsed.state, parsed.notes);
      if (opening && location.hash.includes('?')) document.getElementById('lab')?.scrollIntoView();
    };
    const listen = (): void => { read().catch((error: unknown) => console.error(error)); };
    listen();
    opened.current = true;
    addEventListener('hashchange', listen);
    return () => removeEventListener('hashchange', listen);
  }, []);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) { first.current = false; return undefined; }
    let latest = true;
    const before = location.hash;   /* another one, by the time this is written, is the reader's own: it stays */
    const timer = setTimeout(() => {
      address().then(({ formatAddress }) => {
        const written = formatAddress(state);
        if (latest && location.hash === before && written !== location.hash && !(written === '#lab' && location.hash === '')) history.replaceState(history.state, '', written);
      }, (error: unknown) => console.error(error));
    }, 120);
    return () => { latest = false; clearTimeout(timer); };
  }, [state]);
}

/** A figure with its verdict, by a sign and in words. */
function Invariant({ name, holds, children }: { name: ComponentChildren; holds: boolean; children: ComponentChildren }): JSX.Element {
  return <div><dt>{name}</dt><dd class={holds ? 'ok' : 'bad'}>{children} <small>{holds ? 'holds' : 'DOES NOT HOLD'}</small></dd></div>;
}

function Invariants({ layer }: { layer: AttentionLayer }): JSX.Element {
  const found = useMemo(() => invariantsOf(layer), [layer]);
  return (
    <div class="inv">
      <span class="over">Invariants, as computed</span>
      <dl>
        <Invariant name="Row sums: largest gap from 1" holds={found.rows.holds}>{sci(found.rows.found)}</Invariant>
        <Invariant name="Masked cells, exactly 0" holds={found.maskHolds}>{found.zero} <small>of {found.masked}</small></Invariant>
        <Invariant name={<>Largest |db<sub>k</sub>|, in theory 0</>} holds={found.dbk.holds}>{sci(found.dbk.found)}</Invariant>
      </dl>
    </div>
  );
}

function usePanels(code: LabCode): Panels {
  const [panels, setPanels] = useState<Panels>({});
  useEffect(() => {
    fetch(code.panels).then(async (answer) => {
      if (!answer.ok) throw new Error(`${code.panels}: the server answered ${answer.status}`);
      setPanels((await answer.json()) as Panels);
    }).catch((error: unknown) => console.error(error));
  }, [code]);
  return panels;
}

function Code({ code, layer, state, onStep }: { code: LabCode; layer: AttentionLayer; state: LabState; onStep: (step: Step) => void }): JSX.Element {
  const panels = usePanels(code);
  const names = panelsOf(state.step, layer.source === 'model');
  const [picked, setPicked] = useState<PanelName | null>(null);
  const name = picked && names.includes(picked) ? picked : (names[0] as PanelName);
  const panel = panels[name];
  const excerpt = useMemo(() => panel && unpack(panel.excerpt), [panel]);
  const file = (n: PanelName): string => FILES[n].split('/').pop() ?? n;
  if (!panel || !excerpt) {
    return <><div class="chead"><strong><a href={code.files[name]}>{FILES[name]}</a></strong></div><div class="code waits" /></>;
  }
  return (
    <CodePanel excerpt={excerpt} steps={panel.steps} current={state.step} now={panel.now[state.step] ?? []} values={codeValues(panel.shows, layer, state)}
      onStep={(step) => onStep(step as Step)} hrefOf={(label) => code.hrefs[label] ?? null}
      hint={names.length > 1
        ? <Segment quiet label="File" value={name} choices={names.map((n) => ({ value: n, text: file(n) }))} onChoose={setPicked} />
        : 'values at the chosen cell \u00b7 choose a line to go to its step'} />
  );
}

/** The controls of the case: what is looked at. */
function Bar({ state: s, layer, onState, onLink, linkWords }: {
  state: LabState; layer: AttentionLayer | null; onState: (change: Partial<LabState>) => void; onLink: () => void; linkWords: string;
}): JSX.Element {
  const example = s.src === 'example';
  return (
    <div class="bar">
      <Segment label="Numbers from" value={s.src} onChoose={(src) => onState({ src, text: src === 'example' ? null : s.text })}
        choices={[{ value: 'example', text: 'Illustrative example' }, { value: 'model', text: 'Actual model output' }]} />
      {layer && example && <Segment label="Layer" value={0} onChoose={() => undefined} choices={[{ value: 0, text: 'only one', disabled: true }]} />}
      {layer && example && <Segment label="Head" value={s.head} onChoose={(head) => onState({ head })}
        choices={Array.from({ length: layer.H }, (_, h) => ({ value: h, text: String(h) }))} />}
      {layer && example && <Segment class="tk" label="Token that reads" value={s.i} onChoose={(i) => onState(chooseToken(s, i))}
        choices={layer.tokens.map((text, value) => ({ value, text }))} />}
      <div class="push"><button type="button" class="btn" onClick={onLink}>{linkWords}</button></div>
    </div>
  );
}

/** One figure and all that follows from the chosen cell. */
function Body({ code, layer, state: s, setState, say, sourceWords }: {
  code: LabCode | undefined; layer: AttentionLayer; state: LabState; sourceWords: string;
  setState: (f: (s: LabState) => LabState) => void; say: (text: string) => void;
}): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  const refocus = useRef(false);
  const figure = useMemo(() => figureOf(layer, s.step, s.projection, s.head), [layer, s.step, s.projection, s.head]);
  const [row, column] = cellOf(s, figure);
  useEffect(() => {
    if (layer.source === 'example') publishCell({ example: 'attention', tensor: figure.tensor, slice: s.head, row, column: figure.columnAxis === 'read' ? column : figure.firstChannel + column });
  }, [layer, figure, row, column]);
  useLayoutEffect(() => {
    if (!refocus.current) return;
    refocus.current = false;
    root.current?.querySelector<HTMLElement>('.figwrap [tabindex="0"]')?.focus({ preventScroll: true });
  });
  const onStep = useCallback((step: Step) => setState((t) => ({ ...t, step })), []);
  const onKey = (event: KeyboardEvent): boolean => {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const by = { PageDown: 1, PageUp: -1 }[event.key];
    if (by !== undefined) {
      const step = STEPS[STEPS.indexOf(s.step) + by];
      if (step) { refocus.current = true; onStep(step); }
      return true;
    }
    if (event.key !== 'h') return false;
    refocus.current = true;
    setState((t) => ({ ...t, head: (t.head + 1) % layer.H }));
    return true;
  };
  const invariants = useMemo(() => <Invariants layer={layer} />, [layer]);
  return (
    <div class="body" ref={root}>
      <Stage layer={layer} figure={figure} state={s} sourceWords={sourceWords} hrefOf={(label) => code?.hrefs[label] ?? null} say={say} onStep={onStep} onKey={onKey}
        onChoose={(r, c) => setState((t) => chooseCell(t, figure, r, c))} onState={(change) => setState((t) => ({ ...t, ...change }))} />
      <div class="side">
        {code && <Code code={code} layer={layer} state={s} onStep={onStep} />}
        {invariants}
      </div>
    </div>
  );
}

/** The proof of the example: the loss is the sum of out times dOut. */
function ExampleProof({ engine, inputs, layer, state: s, onChange }: {
  engine: Engine; inputs: AttentionInputs; layer: AttentionLayer; state: LabState; onChange: (change: Partial<LabState>) => void;
}): JSX.Element {
  const bounds: Bounds = { L: 1, H: layer.H, T: layer.T, C: layer.C };
  const [rows, columns] = parameterSize(s.parameter, bounds);
  const entry = s.row * columns + s.column;
  const derive = useCallback((steps: Float64Array) => engine.attentionDerivative(inputs, s.parameter, entry, steps), [engine, inputs, s.parameter, entry]);
  const nudge = useCallback((hand: number, h: number): Nudge => {
    const loss = (l: AttentionLayer): number => dot(engine, l.tensor('out'), l.tensor('dOut'));
    const after = loss(exampleLayer(engine, moved(inputs, s.parameter, entry, h), layer.tokens));
    return { predicted: h * hand, computed: after - loss(layer), words: 'Nudge the entry by h: the change of the loss' };
  }, [engine, inputs, layer, s.parameter, entry]);
  return <Prove parameters={PARAMETERS} parameter={s.parameter} row={s.row} column={s.column} h={s.h} rows={rows} columns={columns}
    gradient={layer.tensor(`d${s.parameter}` as 'dWq')} terms={termsOf(layer, s.parameter)} derive={derive} slow={false} nudge={nudge} onChange={onChange}
    lossWords="L is the sum over all entries of out times dOut, so that the gradient from above is dOut." />;
}

const EXAMPLE_BOUNDS = ((): Bounds => {
  const { T, C, H } = toAttentionInputs();
  return { L: 1, H, T, C };
})();

function LabView({ props, engine }: { props: LabProps; engine: Engine }): JSX.Element {
  const [raw, setRaw] = useState<LabState>(START);
  const [notes, setNotes] = useState<readonly string[]>([]);
  const [said, setSaid] = useState('');
  const model = useModel(engine, raw.src === 'model');
  const chosen = useMemo(() => (model.status === 'ready' ? model.parts.chooseRun(model.verified, raw.text) : null), [model, raw.text]);
  const ready = chosen && 'run' in chosen ? chosen : null;
  const bounds = useMemo<Bounds | null>(() => (raw.src === 'example' ? EXAMPLE_BOUNDS : ready && { L: ready.run.L, H: ready.run.H, T: ready.run.T, C: ready.run.C }), [raw.src, ready]);
  const s = useMemo(() => (bounds ? settle(raw, bounds) : raw), [raw, bounds]);
  const setState = useCallback((f: (s: LabState) => LabState) => setRaw((r) => f(bounds ? settle(r, bounds) : r)), [bounds]);
  const onState = useCallback((change: Partial<LabState>) => setState((t) => ({ ...t, ...change })), [setState]);
  useAddress(s, (next, problems) => { setRaw(next); setNotes(problems); });
  const far = bounds ? outside(raw, bounds) : [];

  const inputs = useMemo(() => edited(s.edits), [s.edits]);
  const layer = useMemo(() => {
    if (s.src === 'example') return exampleLayer(engine, inputs);
    return ready && model.status === 'ready' ? model.parts.modelLayer(engine, ready.run, s.layer) : null;
  }, [engine, s.src, inputs, ready, model, s.layer]);
  const isEdited = s.src === 'example' && s.edits.length > 0;
  const original = useMemo(() => toAttentionInputs(), []);
  const onProof = onState as (change: Partial<LabState>) => void;

  const verified = model.status === 'ready' ? model.verified : null;
  const parts = model.status === 'ready' ? model.parts : null;
  const derivative = useCallback((parameter: string, entry: number, steps: Float64Array) => {
    if (!verified || !ready) throw new Error('no model is loaded');
    return verified.model.derivative(ready.ids, ready.targets, parameter, entry, steps);
  }, [verified, ready]);

  const note = s.src === 'example' ? (isEdited ? 'recomputed from your numbers' : 'hand-picked inputs, learned by nobody')
    : ready ? `layer ${s.layer}, ${ready.own ? 'your text' : 'the exported window'}, ${ready.run.T} tokens` : 'not loaded yet';
  const sourceWords = s.src === 'example' ? `Illustrative example, ${note}`
    : `Actual model output, checkpoint sha256 ${verified?.manifest.files['model.safetensors']?.sha256.slice(0, 16) ?? ''}, ${note}`;
  const copyLink = async (): Promise<void> => {
    const link = new URL((await address()).formatAddress(s), location.href).href;
    history.replaceState(history.state, '', link);
    if (!navigator.clipboard) throw new Error('no clipboard here');
    await navigator.clipboard.writeText(link);
  };

  const proof = useMemo(() => {
    if (!layer) return null;
    if (s.src === 'example') return <ExampleProof engine={engine} inputs={inputs} layer={layer} state={s} onChange={onProof} />;
    return ready && parts && <parts.ModelProof key={ready.own ? 'own' : 'window'} chosen={ready} layer={layer} state={s} derivative={derivative} onChange={onProof} />;
  }, [engine, inputs, layer, ready, s.parameter, s.row, s.column, s.h, s.layer, onProof, derivative]);
  const grids = useMemo(() => (s.src === 'example' ? (
    <LazyEdit groups={EDITED} vector={isVector} size={(name) => parameterSize(name, EXAMPLE_BOUNDS)} edited={isEdited} onReset={() => onState({ edits: [] })}
      value={(name, row, column) => inputs[name][row * (name.startsWith('b') ? 0 : inputs.C) + column] as number}
      onEdit={(e) => setState((t) => setEdit(t, e, original[e.name][e.row * (e.name.startsWith('b') ? 0 : original.C) + e.column] as number))} />) : null), [s.src, inputs, isEdited, onState, setState]);

  return (
    <Case source={s.src} note={note} edited={isEdited} label="The attention lab">
      <h2 class="vh">The lab</h2>
      <Bar state={s} layer={layer} onState={onState} onLink={() => { copyLink().then(() => setSaid('Link copied.'), () => setSaid('Copy the link from the address bar.')); }} linkWords="Copy link" />
      {notes.length > 0 && <p class="note" role="status">Not understood in the address, and left out: {notes.join(', ')}.</p>}
      {far.length > 0 && <p class="note" role="status">Outside the sizes, so the nearest is shown: {far.join(', ')}.</p>}
      {said && <p class="note quiet" role="status">{said}</p>}
      {s.src === 'model' && <Waiting model={model} problem={chosen && 'problem' in chosen ? chosen.problem : null} onBack={() => onState({ src: 'example', text: null })} onWindow={() => onState({ text: null })} />}
      {layer && ready && parts && s.src === 'model' && <parts.ModelBar state={s} chosen={ready} layer={layer} seed={verified?.manifest.text ?? ''} onState={onState} />}
      {layer && <Track label="Steps" current={s.step} forward={FORWARD_STOPS} backward={BACKWARD_STOPS} onChoose={(step) => onState({ step })} />}
      {layer && <Body code={props.code} layer={layer} state={s} setState={setState} say={setSaid} sourceWords={sourceWords} />}
      {proof}
      {grids}
      {s.src === 'model' && verified && ready && parts && <parts.LabProvenance verified={verified} chosen={ready} engine={engine} />}
    </Case>
  );
}

const EDITED: readonly (readonly EditName[])[] = [['Xn'], ['Wq', 'bq'], ['Wk', 'bk'], ['Wv', 'bv'], ['Wo', 'bo'], ['dOut']];

/** The fields are made when the part is opened. */
function LazyEdit(p: EditGridsProps<EditName>): JSX.Element {
  const [Grids, setGrids] = useState<{ readonly view: (p: EditGridsProps<EditName>) => JSX.Element } | null>(null);
  const open = (): void => { if (!Grids) void import('./EditGrids').then((m) => setGrids({ view: m.EditGrids })); };
  return (
    <details class="edit" onToggle={(e) => { if (e.currentTarget.open) open(); }}>
      <summary>Change the example{'\u2019'}s numbers: input, weights, biases, upstream gradient</summary>
      {Grids && <Grids.view {...p} />}
    </details>
  );
}

/** While a model is on its way, or where it may not be shown. */
function Waiting({ model, problem, onBack, onWindow }: {
  model: ReturnType<typeof useModel>; problem: string | null; onBack: () => void; onWindow: () => void;
}): JSX.Element | null {
  if (model.status === 'loading' || model.status === 'idle') return <p class="note quiet" role="status">Loading the model, and recomputing the sha256 of each of its files {'\u2026'}</p>;
  if (model.status === 'error') {
    return (
      <p class="note" role="alert">
        {model.mismatch ? 'Mismatch. ' : 'The model could not be loaded, so nothing of it is shown. '}{model.message}{' '}
        <button type="button" class="btn" onClick={onBack}>Back to the illustrative example</button>
      </p>
    );
  }
  if (problem === null) return null;
  return <p class="note" role="alert">{problem} <button type="button" class="btn" onClick={onWindow}>The exported window</button></p>;
}

export const island = defineIsland<LabProps>({
  /* The browser has no use for what finds the lines. */
  prepare: async (props, site) => ({ ...props, code: (await import('./code-steps')).labCode(site) }),
  tex: () => allTex(),
  view: LabView,
  core: true,
});
