/* Draw.tsx -- the next token: its distribution before and after the filters, and draws from it. */
import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { fmt } from '../components/numbers';
import { perCent } from './Maps';
import type { Draw, Drawn, Next } from './protocol';
import { LIMITS, type Play } from './state';

const REASONS = ['', 'top-k', 'top-p'] as const;

export function NextBars({ next }: { next: Next }): JSX.Element {
  const most = Math.max(...next.first.map((c) => Math.max(c.plain, c.drawn)), Number.MIN_VALUE);
  const width = (x: number): string => `width:${(100 * x) / most}%`;
  return (
    <div class="dist">
      <div class="shead"><h3>Next token</h3><span class="ui cap push">{next.kept} of {next.of} kept</span></div>
      <ol class="bars">
        {next.first.map((c) => (
          <li key={c.id} class={`br${c.cut ? ' cut' : ''}`}>
            <span class="t" title={c.token}>{c.token}</span>
            <span class="b" aria-hidden="true"><i class="was" style={width(c.plain)} />{c.cut ? <i class="hat" style={width(c.plain)} /> : <i class="is" style={width(c.drawn)} />}</span>
            <span class="v"><span class="vh">unfiltered {perCent(c.plain)}, </span>{c.cut ? <><span class="vh">cut by </span>{REASONS[c.cut]}</> : perCent(c.drawn)}</span>
          </li>))}
      </ol>
      <p class="cap">All others together, unfiltered: {perCent(next.rest)}</p>
      <p class="cap keys"><span><i class="k0" /> unfiltered, temperature 1</span> <span><i class="k1" /> drawn from</span> <span><i class="k2 hat" /> cut, exactly 0</span></p>
    </div>
  );
}

interface SliderProps {
  readonly name: string;
  readonly value: number;
  readonly shown: string;
  readonly most: number;
  readonly step: number;
  readonly onChange: (value: number) => void;
}

function Slider(p: SliderProps): JSX.Element {
  return (
    <label class="sl"><span>{p.name}</span><output>{p.shown}</output>
      <input type="range" min="0" max={p.most} step={p.step} value={p.value} aria-label={p.name} aria-valuetext={p.shown} onInput={(e) => p.onChange(Number(e.currentTarget.value))} />
    </label>
  );
}

/** Text of each draw: a character whose bytes two tokens share stands with the later one; an incomplete end is shown when no more comes. */
export function pieces(draws: readonly Draw[], over: boolean): string[] {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const texts = draws.map((d) => decoder.decode(d.bytes, { stream: true }));
  if (over && texts.length > 0) texts[texts.length - 1] += decoder.decode();
  return texts;
}

export interface DrawProps {
  readonly s: Play;
  readonly prompt: string;
  readonly draws: readonly Draw[];
  readonly running: boolean;
  readonly last: Drawn | null;
  readonly ended: boolean;
  /** Draws were made with other settings than those that stand here now. */
  readonly mixed: boolean;
  readonly onChange: (change: Partial<Play>) => void;
  readonly onDraw: (count: number) => void;
  readonly onStop: () => void;
  readonly onRestart: () => void;
}

export function DrawPanel(p: DrawProps): JSX.Element {
  const { s } = p;
  const texts = useMemo(() => pieces(p.draws, !p.running), [p.draws, p.running]);
  const stopped = p.running || p.ended;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => { if (box.current) box.current.scrollTop = box.current.scrollHeight; }, [p.draws, p.prompt]);
  const onSeed = (event: Event): void => {
    const text = (event.currentTarget as HTMLInputElement).value;
    if (/^\d{1,10}$/.test(text) && Number(text) <= LIMITS.seed) p.onChange({ seed: Number(text) });
  };
  return (
    <div class="smp">
      <div class="shead"><h3>Draw</h3></div>
      <Slider name="Temperature" value={s.temperature} shown={s.temperature === 0 ? '0: the first' : fmt(s.temperature, 2)} most={LIMITS.temperature} step={0.05} onChange={(x) => p.onChange({ temperature: Math.round(100 * x) / 100 })} />
      <Slider name="Top-k, tokens kept" value={s.topK} shown={s.topK === 0 ? 'off' : String(s.topK)} most={LIMITS.topK} step={1} onChange={(x) => p.onChange({ topK: x })} />
      <Slider name="Top-p, mass kept" value={s.topP} shown={s.topP === 1 ? 'off' : fmt(s.topP, 2)} most={1} step={0.01} onChange={(x) => p.onChange({ topP: Math.round(100 * x) / 100 })} />
      <div class="gen">
        <button type="button" class="btn go" disabled={stopped} onClick={() => p.onDraw(1)}>Draw one</button>
        <button type="button" class="btn" disabled={stopped} onClick={() => p.onDraw(20)}>Draw twenty</button>
        <button type="button" class="btn" disabled={!p.running} onClick={p.onStop}>Stop</button>
        <button type="button" class="btn quiet" disabled={p.draws.length === 0 && !p.ended} onClick={p.onRestart}>Start over</button>
        <label class="seed push">seed <input type="text" inputMode="numeric" value={s.seed} key={s.seed} size={6} maxLength={10} onChange={onSeed} /></label>
      </div>
      <p class="cap" role="status">
        {p.running ? 'Drawing\u2026'
          : p.ended ? 'The model drew the end of the text.'
          : p.mixed ? 'Settings changed on the way: the next draw goes on from here, with the seed\u2019s draws from their start.'
          : p.last && p.last.count > 1 ? `${p.last.count} tokens in ${fmt(p.last.milliseconds, 0)} ms: ${fmt((1000 * p.last.count) / p.last.milliseconds, 0)} tokens per second, measured here`
          : 'The same text, settings and seed draw the same tokens.'}
      </p>
      <div class="outp" ref={box} role="log" aria-label="The text and what was drawn" aria-busy={p.running} tabIndex={0}>
        <span class="pr">{p.prompt}</span>
        {p.draws.map((d, k) => (
          <span key={k} class="gt" style={`--p:${d.probability}`} title={`${d.token}: drawn with probability ${perCent(d.probability)}`}>{texts[k]}</span>))}
        {p.ended ? <span class="eot">end of text</span> : <span class="caret" />}
      </div>
      <p class="cap">The stronger the line under a token, the more probable it was among those kept.</p>
    </div>
  );
}
