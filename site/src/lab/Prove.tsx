/* Prove.tsx -- prove it here: the derivative of the loss with respect to any entry of
 * any parameter, three ways, computed by the C code while one looks.
 *
 * This module forms only the gaps between numbers that the C code returned, and places them.
 */
import type { ComponentChild, JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { magnitude, paint } from '../components/colour';
import { gridKey } from '../components/grid-keys';
import { eventCell } from '../components/HeatMap';
import { useLive } from '../components/narrow';
import { fmt, full, MINUS, sci, stepOf } from '../components/numbers';
import type { AttentionParameter, Derivative } from '../engine/types';
import { isVector } from './lab-state';
import { judgeDerivative } from './verdict';

/** Exponents of the steps of the curve: h = 10^-k/2. */
export const CURVE: readonly number[] = Array.from({ length: 33 }, (_, k) => k / 2);
const COMPLEX = 1e-30;

export interface Nudge {
  /** The change of the loss that the C code computed, and what h times the derivative foretells. */
  readonly computed: number;
  readonly predicted: number;
  readonly words: string;
}
export interface ProveProps {
  readonly parameters: readonly AttentionParameter[];
  readonly parameter: AttentionParameter;
  readonly row: number;
  readonly column: number;
  readonly h: number;
  readonly rows: number;
  readonly columns: number;
  readonly gradient: Float64Array;
  /** Size of the terms of which an entry of the gradient is the sum: what may cancel. */
  readonly terms: number;
  /** Derivative of the chosen entry at the steps given. */
  readonly derive: (steps: Float64Array) => Derivative;
  /** The curve is drawn after the rest, a few steps at a time: for a whole model. */
  readonly slow: boolean;
  readonly nudge: (hand: number, h: number) => Nudge | null;
  readonly lossWords: string;
  readonly onChange: (change: { parameter?: AttentionParameter; row?: number; column?: number; h?: number }) => void;
}

const TITLES: Readonly<Record<AttentionParameter, string>> = {
  Wq: 'Wq, queries', bq: 'bq, bias of the queries', Wk: 'Wk, keys', bk: 'bk, bias of the keys', Wv: 'Wv, values', bv: 'bv, bias of the values',
  Wo: 'Wo, output', bo: 'bo, bias of the output', Xn: 'Xn, the input',
};

const gap = (found: number, hand: number): number => Math.abs(found - hand) / (Math.abs(hand) || 1);

/** Ten to the power of -h, typeset; halves as a fraction. */
function power(h: number): ComponentChild {
  if (h === 0) return '1';
  return [`10`, <sup key="e">{MINUS + (h % 1 ? `${Math.floor(h) || ''}\u00bd` : String(h))}</sup>];
}

/** Digits of `text` from where it stops agreeing with `claim`. */
function differing(text: string, claim: string): ComponentChild {
  let same = 0;
  while (same < text.length && text[same] === claim[same]) same++;
  return [text.slice(0, same), same < text.length ? <u key="u">{text.slice(same)}</u> : null];
}

function ParameterGrid({ p }: { p: ProveProps }): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (root.current?.contains(document.activeElement)) root.current.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  }, [p.row, p.column]);
  const domain = magnitude(p.gradient);
  const live = useLive();
  const many = p.columns > 8 || p.rows > 8;
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = eventCell(event);
    const next = at && gridKey(event, at[0], at[1], p.rows, p.columns);
    if (!next) return;
    event.preventDefault();
    p.onChange({ row: next[0], column: next[1] });
  };
  const onClick = (event: MouseEvent): void => {
    const at = eventCell(event);
    if (at) p.onChange({ row: at[0], column: at[1] });
  };
  return (
    <div class="gridbox">
      <div class={`grid${many ? ' many' : ''}`} role="grid" aria-label={`Gradient of ${p.parameter}`} ref={root} onKeyDown={onKeyDown} onClick={onClick}
        style={`grid-template:repeat(${p.rows},var(--ch))/repeat(${p.columns},var(--cw))`}>
        {Array.from({ length: p.rows }, (_, r) => (
          <div key={r} role="row">
            {Array.from({ length: p.columns }, (__, c) => {
              const x = p.gradient[r * p.columns + c] as number;
              const on = r === p.row && c === p.column;
              return <div key={c} class="cell" role="gridcell" tabIndex={on ? 0 : live ? -1 : undefined} aria-selected={on || undefined}
                data-t={`d${p.parameter}`} data-i={isVector(p.parameter) ? c : `${r},${c}`} style={paint('signed', x / domain)}
                aria-label={live ? `${p.parameter}[${isVector(p.parameter) ? c : `${r},${c}`}]: ${fmt(x)}` : undefined}>{many ? '' : fmt(x)}</div>;
            })}
          </div>
        ))}
      </div>
    </div>
  );
}

/** The least gap of the central difference, once all steps are drawn; null before, and where none is a number. */
function leastGap(curve: Derivative | null): number | null {
  if (!curve || curve.central.length < CURVE.length) return null;
  const gaps = Array.from(curve.central, (v) => gap(v, curve.hand)).filter(Number.isFinite);
  return gaps.length > 0 ? Math.min(...gaps) : null;
}

/**
 * The complex step judges the backward pass.  A difference cannot: how far it is off
 * depends on the step, so that it shows its best over all steps instead.
 */
export function Three({ p, d, curve }: { p: Pick<ProveProps, 'h' | 'gradient' | 'terms'>; d: Derivative; curve: Derivative | null }): JSX.Element {
  const claim = full(d.hand);
  const central = d.central[0] as number;
  const complex = d.complex[1] as number;
  const best = leastGap(curve);
  const { holds, found, most } = judgeDerivative(d.hand, complex, p.gradient, p.terms);
  const line = (head: ComponentChild, value: ComponentChild, words: ComponentChild): JSX.Element => (
    <tbody><tr><th scope="row">{head}</th></tr><tr><td><span class="v">{value}</span> <span class="g"><br />{words}</span></td></tr></tbody>
  );
  return (
    <table class="three" aria-label="The derivative, three ways">
      {line('by hand, the backward pass', claim, 'the claim')}
      {line(['central difference, h = ', power(p.h)], differing(full(central), claim), `gap ${sci(gap(central, d.hand))}${best === null ? '' : `; the least of all steps ${sci(best)}`}`)}
      {line(['complex step, h = ', power(30)], differing(full(complex), claim), <>
        <b class={holds ? 'ok' : 'bad'}>{holds ? 'agrees' : 'DOES NOT AGREE'}</b>
        {found === 0 ? ': the same number' : `: ${sci(found)} apart, at most ${sci(most)} is rounding`}
      </>)}
    </table>
  );
}

/* The curve's box: 450 by 226, decades from 1 to 1e-17. */
const X = (h: number): number => 46 + (h / 16) * 450;
const Y = (g: number): number => 14 + (Math.min(17, -Math.log10(Math.min(1, Math.max(g, 1e-17)))) / 17) * 226;
const ten = (n: number): JSX.Element => <>10<tspan dy="-4">{n ? MINUS + n : '0'}</tspan></>;

function Curve({ hand, curve, h, now }: { hand: number; curve: Derivative | null; h: number; now: number }): JSX.Element {
  // Edited numbers may overflow: what is no number has no place.
  const points = (of: ArrayLike<number>): string | undefined => {
    const at = Array.from(of, (v, k) => [X(CURVE[k] as number), Y(gap(v, hand))] as const).filter(([, y]) => Number.isFinite(y));
    return at.length > 0 ? 'M' + at.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L') : undefined;
  };
  const dots = (of: Float64Array, kind: string, from: number): JSX.Element[] => Array.from(of, (v, k) => (
    k < from || !Number.isFinite(gap(v, hand)) ? null : <circle key={k} class={kind} cx={X(CURVE[k] as number).toFixed(1)} cy={Y(gap(v, hand)).toFixed(1)} r="2.5" />)).filter((e) => e !== null);
  return (
    <svg class="uc" viewBox="0 -12 500 300" role="img"
      aria-label="Gap of the central difference and of the complex step over the step h. The first falls, then rises again; the second stays at round-off.">
      {[0, 4, 8, 12, 16].map((e) => (
        <g key={e}>
          <line class="gr" x1="46" x2="496" y1={Y(10 ** -e)} y2={Y(10 ** -e)} />
          <text x="38" y={Y(10 ** -e) + 4} text-anchor="end">{ten(e)}</text>
          <text x={X(e)} y="262" text-anchor="middle">{ten(e)}</text>
        </g>
      ))}
      <line class="ax" x1="46" x2="496" y1="240" y2="240" />
      <text x="496" y="282" text-anchor="end">step h, smaller to the right {'\u2192'}</text>
      <text x="46" y="2">relative gap from the derivative by hand</text>
      {curve && <path class="cs" d={points(curve.complex)} />}
      {curve && <path class="cd" d={points(curve.central)} />}
      {curve && dots(curve.central, 'cd', 0)}
      {curve && dots(curve.complex, 'cs', 16)}
      <text class="cdt" x={X(9.5)} y={Y(1e-2)} text-anchor="middle">central difference</text>
      <text class="cst" x={X(13)} y={Y(1e-14) - 4} text-anchor="middle">complex step</text>
      <text class="ann" x={X(1.75)} y={Y(1e-9)} text-anchor="middle">truncation</text>
      <text class="ann" x={X(1.75)} y={Y(1e-9) + 14} text-anchor="middle">~ h{'\u00b2'}</text>
      <text class="ann" x={X(13)} y={Y(1e-8)} text-anchor="middle">round-off</text>
      <text class="ann" x={X(13)} y={Y(1e-8) + 14} text-anchor="middle">~ 1/h</text>
      <line class="h" x1={X(h)} x2={X(h)} y1="14" y2="240" />
      {Number.isFinite(now) && <circle class="dot" cx={X(h)} cy={Y(now)} r="5" />}
    </svg>
  );
}

const STEPS_OF_CURVE = Float64Array.from(CURVE, stepOf);

/** The curve, after the rest; where a run is dear, a few points at a time between frames. */
function useCurve(derive: ProveProps['derive'], slow: boolean): Derivative | null {
  const [late, setLate] = useState<{ of: ProveProps['derive']; curve: Derivative } | null>(null);
  useEffect(() => {
    const central: number[] = [];
    const complex: number[] = [];
    const piece = slow ? 3 : CURVE.length;
    let timer = 0;
    const next = (): void => {
      const d = derive(STEPS_OF_CURVE.subarray(central.length, central.length + piece));
      central.push(...d.central);
      complex.push(...d.complex);
      setLate({ of: derive, curve: { hand: d.hand, central: Float64Array.from(central), complex: Float64Array.from(complex) } });
      if (central.length < CURVE.length) timer = window.setTimeout(next, 0);
    };
    if (slow) timer = window.setTimeout(next, 150);
    else next();
    return () => window.clearTimeout(timer);
  }, [derive, slow]);
  return late && late.of === derive ? late.curve : null;
}

export function Prove(p: ProveProps): JSX.Element {
  const d = useMemo(() => p.derive(Float64Array.of(stepOf(p.h), COMPLEX)), [p.derive, p.h]);
  const curve = useCurve(p.derive, p.slow);
  const nudge = useMemo(() => p.nudge(d.hand, stepOf(p.h)), [d, p.nudge, p.h]);
  const entry = isVector(p.parameter) ? `${p.column}` : `${p.row},${p.column}`;
  return (
    <div class="prove">
      <header>
        <h3>Prove it here</h3>
        <p>Choose any entry of any parameter. Its derivative is found three ways: by the backward pass written by hand, by nudging the entry and looking at the loss, and by a step in the imaginary direction, which subtracts nothing and so loses nothing.</p>
      </header>
      <div class="pick">
        <label class="fld"><span class="fl">Parameter</span>
          <select class="btn" value={p.parameter} onChange={(e) => p.onChange({ parameter: e.currentTarget.value as AttentionParameter })}>
            {p.parameters.map((name) => <option key={name} value={name} selected={name === p.parameter}>{TITLES[name]}</option>)}
          </select>
        </label>
        <ParameterGrid p={p} />
        <p class="cap">Its gradient, entry by entry. Zero is the colour of the page.</p>
      </div>
      <div class="res">
        <h4 class="pname">{'\u2202'}L / {'\u2202'}{p.parameter}[{entry}]</h4>
        <Three p={p} d={d} curve={curve} />
        {nudge && (
          <div class="nudge">
            <span class="over">{nudge.words}</span>
            <dl>
              <dt>predicted, h {'\u00d7'} derivative</dt><dd class="num">{full(nudge.predicted)}</dd>
              <dt>computed by running it</dt><dd class="num">{differing(full(nudge.computed), full(nudge.predicted))}</dd>
            </dl>
          </div>
        )}
        <p class="cap">{p.lossWords}</p>
      </div>
      <div class="u">
        <Curve hand={d.hand} curve={curve} h={p.h} now={gap(d.central[0] as number, d.hand)} />
        <div class="fld hs">
          <label for="lab-h">step h = {power(p.h)}</label>
          <input type="range" id="lab-h" min="0" max="32" step="1" value={p.h * 2} aria-valuetext={`ten to the power of minus ${p.h}`}
            onInput={(e) => p.onChange({ h: Number(e.currentTarget.value) / 2 })} />
        </div>
      </div>
    </div>
  );
}
