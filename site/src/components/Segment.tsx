/* Segment.tsx -- one of few: a row of buttons, of which one is pressed. */
import type { ComponentChild, JSX } from 'preact';

export interface Choice<T extends string | number> {
  readonly value: T;
  readonly text: ComponentChild;
  readonly disabled?: boolean;
  readonly title?: string;
}
export interface SegmentProps<T extends string | number> {
  readonly label: string;
  /** The label is said, not shown. */
  readonly quiet?: boolean;
  readonly choices: readonly Choice<T>[];
  readonly value: T | null;
  readonly onChoose: (value: T) => void;
  readonly class?: string;
}

export function Segment<T extends string | number>(p: SegmentProps<T>): JSX.Element {
  const group = (
    <div class="seg" role="group" aria-label={p.label}>
      {p.choices.map((c) => (
        <button key={c.value} type="button" aria-pressed={c.value === p.value} disabled={c.disabled ?? false} title={c.title}
          onClick={() => p.onChoose(c.value)}>{c.text}</button>))}
    </div>
  );
  if (p.quiet) return group;
  return <div class={`fld ${p.class ?? ''}`}><span class="fl" aria-hidden="true">{p.label}</span>{group}</div>;
}
