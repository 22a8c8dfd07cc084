/* Track.tsx -- the steps of a computation as two lanes: forward, and below it, dashed,
 * backward, each gradient under what it belongs to. */
import type { ComponentChild, JSX } from 'preact';

export interface Stop<T extends string> {
  readonly step: T;
  readonly text: ComponentChild;
}
export interface TrackProps<T extends string> {
  readonly label: string;
  readonly current: T;
  readonly forward: readonly (readonly Stop<T>[])[];
  /** As many as forward has; read from the last to the first. */
  readonly backward: readonly (readonly Stop<T>[])[];
  readonly onChoose: (step: T) => void;
}

function Lane<T extends string>({ p, back }: { p: TrackProps<T>; back: boolean }): JSX.Element {
  const lane = back ? p.backward : p.forward;
  const total = lane.reduce((n, stops) => n + stops.length, 0);
  let before = 0;
  return (
    <div class={`lane ${back ? 'b' : 'f'}`}>
      <span class="over">{back ? '\u2190 backward' : 'forward \u2192'}</span>
      {lane.map((stops, k) => {
        const first = before;
        before += stops.length;
        const edge = k === 0 ? ' first' : k === lane.length - 1 ? ' last' : '';
        return (
          <div key={k} class={`stop${edge}`} style={`--o:${total - first}`}>
            {stops.map((s, n) => (
              <button key={s.step} type="button" style={`--o:${total - first - n}`} aria-current={s.step === p.current ? 'step' : undefined}
                onClick={() => p.onChoose(s.step)}>{s.text}</button>))}
          </div>
        );
      })}
    </div>
  );
}

export function Track<T extends string>(p: TrackProps<T>): JSX.Element {
  return (
    <nav class="track" aria-label={p.label}>
      <Lane p={p} back={false} />
      <Lane p={p} back />
    </nav>
  );
}
