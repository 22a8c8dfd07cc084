/* Curve.tsx -- a function of one number and its slope, as two lines, with a place
 * that a slider chooses.
 *
 * It draws numbers that it is given; they were computed by the C code.  The slope
 * is dashed, so that the two lines differ in more than their colour.
 */
import { useState } from 'preact/hooks';
import type { ComponentChild, JSX } from 'preact';
import { fmt, full } from './numbers';
import '../style/curve.css';
import '../style/lab.css';
import '../style/ledger.css';

export interface CurveProps {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly slope: Float64Array;
  /** What the three are called, in words. */
  readonly names: { readonly x: string; readonly y: string; readonly slope: string };
  /** Where the slider starts. */
  readonly start: number;
  /** More numbers at the chosen place. */
  readonly more?: (k: number) => readonly { readonly name: ComponentChild; readonly value: number }[];
  /** What the picture shows, for whoever does not see it. */
  readonly label: string;
}

const LEFT = 34, RIGHT = 490, TOP = 10, BOTTOM = 232;

const whole = (low: number, high: number, by: number): number[] => {
  const ticks: number[] = [];
  for (let t = Math.ceil(low / by) * by; t <= high; t += by) ticks.push(t);
  return ticks;
};

export function Curve({ x, y, slope, names, start, more, label }: CurveProps): JSX.Element {
  const [k, choose] = useState(start);
  const all = [...y, ...slope];
  const low = Math.min(0, ...all), high = Math.max(0, ...all), first = x[0]!, last = x[x.length - 1]!;
  const across = (v: number): number => LEFT + ((v - first) / (last - first)) * (RIGHT - LEFT);
  const up = (v: number): number => BOTTOM - ((v - low) / (high - low)) * (BOTTOM - TOP);
  const path = (v: Float64Array): string => `M${Array.from(v, (w, i) => `${across(x[i]!).toFixed(1)} ${up(w).toFixed(1)}`).join('L')}`;
  const at = across(x[k]!);
  return (
    <div class="curve" data-source="example">
      <div>
        <svg class="uc" viewBox="0 0 500 276" role="img" aria-label={label}>
          {whole(low, high, 1).map((t) => (
            <g key={`y${t}`}>
              <line class={t === 0 ? 'ax' : 'gr'} x1={LEFT} x2={RIGHT} y1={up(t)} y2={up(t)} />
              <text x={LEFT - 8} y={up(t) + 4} text-anchor="end">{fmt(t, 0)}</text>
            </g>
          ))}
          {whole(first, last, 2).map((t) => <text key={`x${t}`} x={across(t)} y={BOTTOM + 18} text-anchor="middle">{fmt(t, 0)}</text>)}
          <text x={RIGHT} y={BOTTOM + 38} text-anchor="end">{names.x} →</text>
          <path class="cd" d={path(slope)} stroke-dasharray="6 4" />
          <path class="cs" d={path(y)} />
          <line class="h" x1={at} x2={at} y1={TOP} y2={BOTTOM} />
          <circle class="dot" cx={at} cy={up(slope[k]!)} r="4" />
          <circle class="dot" cx={at} cy={up(y[k]!)} r="5" />
        </svg>
        <p class="cap curve-key"><i class="cs" /> {names.y} <i class="cd" /> {names.slope}</p>
      </div>
      <div class="cellbox">
        <label class="fld"><span class="fl">{names.x}</span>
          <input type="range" min="0" max={x.length - 1} step="1" value={k} aria-valuetext={fmt(x[k]!)}
            onInput={(e) => choose(Number(e.currentTarget.value))} />
        </label>
        <table class="led" aria-label="Numbers at the chosen place" aria-live="polite">
          <tbody>
            <tr><th class="r" scope="row">{names.x}</th><td>{fmt(x[k]!, 4)}</td></tr>
            {more?.(k).map((m, i) => <tr key={i}><th class="r" scope="row">{m.name}</th><td>{fmt(m.value, 4)}</td></tr>)}
            <tr class="tot res"><th class="r" scope="row">{names.y}</th><td>{fmt(y[k]!, 4)}</td></tr>
            <tr><th class="r" scope="row">{names.slope}</th><td>{fmt(slope[k]!, 4)}</td></tr>
          </tbody>
        </table>
        <p class="full"><b>{full(y[k]!)}</b></p>
      </div>
    </div>
  );
}

/** From `first` to `last` in equal steps, all exact where the steps are. */
export const grid = (first: number, last: number, by: number): Float64Array =>
  Float64Array.from({ length: Math.round((last - first) / by) + 1 }, (_, k) => first + k * by);
