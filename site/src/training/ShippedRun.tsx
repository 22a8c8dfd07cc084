/* ShippedRun.tsx -- the run that made a model of this site: its own log, whose sha256 is
 * recomputed in the page.  Loaded when the reader comes near. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Case } from '../components/Case';
import { defineIsland, type ViewProps } from '../components/island';
import { Segment } from '../components/Segment';
import type { Manifest } from '../provenance/manifest';
import type { VerifiedFile } from '../provenance/verify';
import type { Step } from './log';
import '../style/training.css';
import { RunCurves } from './RunCurves';

type Which = 'playground' | 'lab';
type State =
  | { readonly status: 'waiting' }
  | { readonly status: 'failed'; readonly message: string }
  | { readonly status: 'ready'; readonly manifest: Manifest; readonly file: VerifiedFile; readonly steps: readonly Step[] };

async function load(which: Which): Promise<State> {
  const [{ loadLog }, { readLog }] = await Promise.all([import('../provenance/verify'), import('./log')]);
  try {
    const { manifest, file, log } = await loadLog(`data/${which}/`);
    return { status: 'ready', manifest, file, steps: readLog(log) };
  } catch (error) {
    return { status: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}

/** True from when the element comes near the window on. */
function useNear(of: { readonly current: HTMLElement | null }): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    if (!of.current) return undefined;
    const watch = new IntersectionObserver((all) => { if (all.some((e) => e.isIntersecting)) setNear(true); }, { rootMargin: '600px' });
    watch.observe(of.current);
    return () => watch.disconnect();
  }, []);
  return near;
}

const settingWords = (m: Manifest): string => ['preset', 'seq', 'batch', 'accumulate', 'lr', 'lr_min', 'warmup', 'decay', 'clip', 'seed']
  .flatMap((name) => { const value = m.settings?.[name]; return value === undefined || value === null ? [] : [`${name} ${String(value)}`]; }).join(', ');

function ShippedRunView({ engine }: ViewProps<object, undefined>): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  const near = useNear(root);
  const [which, setWhich] = useState<Which>('playground');
  const [state, setState] = useState<State>({ status: 'waiting' });
  useEffect(() => {
    if (!near) return undefined;
    let live = true;
    setState({ status: 'waiting' });
    void load(which).then((found) => { if (live) setState(found); });
    return () => { live = false; };
  }, [near, which]);
  const ready = state.status === 'ready' ? state : null;
  const note = ready ? `the run that made the ${which === 'lab' ? 'lab' : 'playground'}\u2019s model, sha256 ${ready.manifest.files['model.safetensors']?.sha256.slice(0, 12) ?? ''}` : 'the run that made this site\u2019s model';
  return (
    <Case source="model" note={note} label="Curves of the run">
      <div class="run" ref={root}>
        <div class="runbar">
          <Segment label="Model" value={which} onChoose={setWhich} choices={[{ value: 'playground', text: 'of the playground' }, { value: 'lab', text: 'of the attention lab' }]} />
        </div>
        {state.status === 'waiting' && <p class="cap" role="status">Each step{'\u2019'}s loss, learning rate and gradient norm stand in the log of the run. It is loaded, and compared with its sha256, when you come here.</p>}
        {state.status === 'failed' && <p class="note" role="alert">Nothing of this run is shown: {state.message}</p>}
        {ready && <RunCurves key={which} steps={ready.steps} uniform={engine.elementary('log', ready.manifest.model.vocabulary)} />}
        {ready && (
          <p class="cap runsource">metrics.jsonl, sha256 <code>{ready.file.expected}</code>: {ready.file.verdict === 'match' ? 'recomputed in this page, match' : 'cannot verify here (plain http has no digest)'}.
            Settings: {settingWords(ready.manifest) || 'unknown'}. Learned from text with sha256 <code>{String(ready.manifest.corpus?.sha256 ?? 'unknown')}</code>.</p>)}
      </div>
    </Case>
  );
}

export const island = defineIsland<object>({ view: ShippedRunView });
