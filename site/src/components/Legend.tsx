/* Legend.tsx -- what the colours of a figure mean: the scale with its domain in
 * numbers, a pointer at the chosen value, and the marks that occur. */
import type { JSX } from 'preact';
import type { Scale } from '../examples/types';
import { fmt, MINUS } from './numbers';

export interface LegendProps {
  readonly scale: Scale;
  /** Largest magnitude of a signed scale; a weight's scale always ends at 1. */
  readonly domain: number;
  readonly value: number;
  /** What the domain covers: "of all heads". */
  readonly covers: string;
  /** Words for the marks that occur in the figure. */
  readonly masked?: string | undefined;
  readonly will?: string | undefined;
  readonly note?: string | undefined;
}

/** Where the pointer stands, 0 to 1; null for what no scale holds (minus infinity). */
export function pointer(scale: Scale, domain: number, value: number): number | null {
  if (!Number.isFinite(value)) return null;
  const at = scale === 'weight' ? value : (value / domain + 1) / 2;
  return Math.min(1, Math.max(0, at));
}

export function Legend({ scale, domain, value, covers, masked, will, note }: LegendProps): JSX.Element | null {
  if (scale === 'plain') return null;          /* no colour says anything */
  const at = pointer(scale, domain, value);
  const end = fmt(domain, 2);
  const marks = scale === 'weight' ? ['0', '0.5', '1'] : [MINUS + end, '0', '+' + end];
  return (
    <div class="legend">
      <div class="ramp">
        {at !== null && <b style={`left:${(at * 100).toFixed(1)}%`} />}
        <i class={scale} />
        <span>{marks.map((m) => <em key={m}>{m}</em>)}</span>
      </div>
      {masked && <span class="key"><i class="hat" />{masked}</span>}
      {will && <span class="key"><i class="w will" />{will}</span>}
      <span class="key">{scale === 'weight' ? 'one scale, 0 to 1, always' : `\u00b1 the largest magnitude ${covers}`}</span>
      {note && <span class="key">{note}</span>}
    </div>
  );
}
