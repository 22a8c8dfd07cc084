/* LiveRun.tsx -- a run in progress, from `vitrine serve DIR --run MODEL_DIR`.  Nothing is asked of the
 * server before the reader asks: other hosts have no such run, and are not troubled. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Case } from '../components/Case';
import { defineIsland } from '../components/island';
import { useLive } from '../components/narrow';
import { readStep, type Step } from './log';
import '../style/training.css';
import { RunCurves } from './RunCurves';

type State =
  | { readonly status: 'idle' | 'asking' | 'none' }
  | { readonly status: 'following' | 'lost'; readonly steps: readonly Step[]; readonly bad: string | null };

/** A connection that the server refused is tried again after this long. */
const AGAIN = 3000;
/** Lines come in bursts: drawn at most this often. */
const PAUSE = 250;

/** Follows the stream until closed; tells all steps so far, and whether the line is up. */
function follow(tell: (steps: readonly Step[], up: boolean, bad: string | null) => void): () => void {
  let steps: Step[] = [], up = false, bad: string | null = null;
  let source: EventSource | null = null, drawing: ReturnType<typeof setTimeout> | undefined, trying: ReturnType<typeof setTimeout> | undefined;
  const say = (): void => { drawing ??= setTimeout(() => { drawing = undefined; tell(steps.slice(), up, bad); }, PAUSE); };
  const connect = (): void => {
    source = new EventSource('api/metrics');
    // The server sends the whole log to each who comes: what was there before is dropped.
    source.onopen = () => { steps = []; up = true; say(); };
    source.addEventListener('restart', () => { steps = []; say(); });
    source.onmessage = (event: MessageEvent<string>) => {
      try {
        const step = readStep(event.data, 'a line of the log');
        while (steps.length > 0 && (steps[steps.length - 1] as Step).step >= step.step) steps.pop();
        steps.push(step);
      } catch (error) {
        bad = error instanceof Error ? error.message : String(error);
      }
      say();
    };
    source.onerror = () => {
      up = false;
      say();
      if (source?.readyState === EventSource.CLOSED) { clearTimeout(trying); trying = setTimeout(connect, AGAIN); }
    };
  };
  connect();
  return () => { clearTimeout(drawing); clearTimeout(trying); source?.close(); };
}

function LiveRunView(): JSX.Element {
  const live = useLive();
  const [state, setState] = useState<State>({ status: 'idle' });
  const end = useRef<(() => void) | null>(null);
  useEffect(() => () => end.current?.(), []);
  const start = async (): Promise<void> => {
    end.current?.();
    setState({ status: 'asking' });
    const answer = await fetch('api/run').catch(() => null);
    if (!answer?.ok) { setState({ status: 'none' }); return; }
    end.current = follow((steps, up, bad) => setState({ status: up ? 'following' : 'lost', steps, bad }));
  };
  useEffect(() => { if (location.hash === '#live') void start(); }, []);
  const stop = (): void => { end.current?.(); end.current = null; setState({ status: 'idle' }); };
  const steps = state.status === 'following' || state.status === 'lost' ? state.steps : null;
  const last = steps?.[steps.length - 1];
  return (
    <Case source="model" note="a run in progress: the log that this server reads, which no hash vouches for yet" label="Curves of the run in progress">
      <div class="run">
        <div class="runbar">
          {steps ? <button type="button" class="btn" onClick={stop}>Stop following</button>
            : <button type="button" class="btn go" disabled={!live || state.status === 'asking'} onClick={() => void start()}>Follow a run in progress</button>}
          <p class="cap" role="status">
            {state.status === 'none' ? 'There is no run to follow here: this page is not served by vitrine serve with --run.'
              : state.status === 'asking' ? 'Asking the server\u2026'
              : state.status === 'lost' ? 'The connection is lost; trying again\u2026'
              : state.status === 'following' ? (last ? `Following: step ${last.step}${last.steps !== null ? ` of ${last.steps}` : ''}` : 'Following: no step is finished yet.')
              : 'Shows the curves of a training while it runs, when this site is served on the machine that trains.'}
          </p>
        </div>
        {state.status === 'none' && <p class="runhow">Start a training, then serve the site beside it:<code>vitrine serve DIR --run MODEL_DIR</code></p>}
        {steps && state.status !== 'idle' && 'bad' in state && state.bad !== null && <p class="note" role="alert">Left out: {state.bad}</p>}
        {steps && steps.length > 0 && <RunCurves steps={steps} uniform={null} follow />}
      </div>
    </Case>
  );
}

export const island = defineIsland<object>({ view: LiveRunView });
