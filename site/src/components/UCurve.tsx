/* UCurve.tsx -- the gap of a derivative found by a step, over the step: on powers of
 * ten both ways, so that the central difference draws a U and the complex step
 * a floor.
 *
 * It draws numbers that it is given; they were computed by the C code.
 */
import type { JSX } from 'preact';
import { MINUS, sci } from './numbers';

export interface UCurveProps {
  /** Steps, all above 0, the largest first. */
  readonly steps: ArrayLike<number>;
  /** Derivative by central difference and by complex step, one for each step. */
  readonly central: ArrayLike<number>;
  readonly complex: ArrayLike<number>;
  /** The derivative they are compared with. */
  readonly hand: number;
  /** Which step is marked. */
  readonly chosen: number;
  /** What the derivative is of, for the picture's name. */
  readonly of: string;
}

const LEFT = 46, RIGHT = 496, TOP = 14, BOTTOM = 240, LOWEST = -17;

/** Distance from the derivative by hand, relative to it; absolute where that is 0. */
export function gap(found: number, hand: number): number {
  return Math.abs(found - hand) / (Math.abs(hand) || 1);
}

/** A gap's height: 1 at the top, 1e-17 and what is less at the bottom. */
function heightOf(size: number): number {
  const power = size > 0 ? Math.log10(size) : LOWEST;
  return TOP + (Math.min(0, Math.max(LOWEST, power)) / LOWEST) * (BOTTOM - TOP);
}

function Power({ of }: { of: number }): JSX.Element {
  return <>10<tspan dy="-4">{of < 0 ? MINUS + -of : of}</tspan></>;
}

export function UCurve({ steps, central, complex, hand, chosen, of }: UCurveProps): JSX.Element {
  const powers = Array.from(steps, (h) => Math.log10(h));
  const first = powers[0] ?? 0, last = powers[powers.length - 1] ?? -1;
  const x = (power: number): number => LEFT + ((first - power) / (first - last)) * (RIGHT - LEFT);
  const points = (values: ArrayLike<number>) => Array.from(values, (v, k) => ({ x: x(powers[k] ?? 0), y: heightOf(gap(v, hand)) }));
  const line = (at: readonly { x: number; y: number }[]): string => 'M' + at.map((p) => `${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join('L');
  const c = points(central), s = points(complex), mark = c[chosen];
  const gaps = Array.from(central, (v) => gap(v, hand));
  const least = gaps.indexOf(Math.min(...gaps));
  const ticks: number[] = [];
  for (let p = Math.ceil(last / 4) * 4; p <= first; p += 4) ticks.push(p);
  const name = `Gap of the derivative of ${of} over the step. By central difference it falls to ${sci(gaps[least] ?? NaN)} at a step of ${sci(steps[least] ?? NaN, 0)}, then rises again; by complex step it stays at round-off.`;
  return (
    <svg class="uc" viewBox="0 -12 500 300" role="img" aria-label={name}>
      {[0, -4, -8, -12, -16].map((p) => (
        <g key={`y${p}`}>
          <line class="gr" x1={LEFT} x2={RIGHT} y1={heightOf(10 ** p)} y2={heightOf(10 ** p)} />
          <text x={LEFT - 8} y={heightOf(10 ** p) + 4} text-anchor="end"><Power of={p} /></text>
        </g>
      ))}
      {ticks.map((p) => <text key={`x${p}`} x={x(p)} y="262" text-anchor="middle"><Power of={p} /></text>)}
      <line class="ax" x1={LEFT} x2={RIGHT} y1={BOTTOM} y2={BOTTOM} />
      <text x={RIGHT} y="282" text-anchor="end">step h, smaller to the right →</text>
      <text x={LEFT} y="2">relative gap from the derivative by hand</text>
      <path class="cs" d={line(s)} />
      <path class="cd" d={line(c)} />
      {c.map((p, k) => <circle key={k} class="cd" cx={p.x.toFixed(1)} cy={p.y.toFixed(1)} r="2.5" />)}
      <text class="cdt" x={x(first + 0.6 * (last - first))} y={heightOf(1e-2)} text-anchor="middle">central difference</text>
      <text class="cst" x={x(first + 0.82 * (last - first))} y={heightOf(1e-13)} text-anchor="middle">complex step</text>
      <text class="ann" x={x(first + 0.11 * (last - first))} y={heightOf(1e-9)} text-anchor="middle">truncation</text>
      <text class="ann" x={x(first + 0.82 * (last - first))} y={heightOf(1e-8)} text-anchor="middle">round-off</text>
      {mark && <line class="h" x1={mark.x} x2={mark.x} y1={TOP} y2={BOTTOM} />}
      {mark && <circle class="dot" cx={mark.x} cy={mark.y} r="5" />}
    </svg>
  );
}
