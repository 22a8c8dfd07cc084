/* CodePanel.tsx -- C behind glass: real lines with their real numbers.  The lines of
 * the current step are washed, a labelled line shows its value at the chosen cell, and
 * choosing a line chooses its step.  The panel scrolls by whole lines, in its own box.
 *
 * Where a line belongs is decided when the site is built, from the labels in the
 * source (lab/code-steps.ts): nothing here knows a line number.
 */
import { Component, type ComponentChild, type JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { CodeExcerpt, CodeLine } from './site-data';

export interface CodeValue {
  readonly name: string;
  readonly value: string;
}
export interface CodePanelProps {
  readonly excerpt: CodeExcerpt;
  /** Step of each line that has one: where a click leads. */
  readonly steps: Readonly<Record<number, string>>;
  readonly current: string;
  /** The lines of the current step. */
  readonly now: readonly number[];
  readonly values: Readonly<Record<number, CodeValue>>;
  readonly onStep: (step: string) => void;
  readonly hrefOf: (label: string) => string | null;
  readonly hint: ComponentChild;
}

interface LineProps {
  readonly line: CodeLine;
  readonly step: string | undefined;
  readonly now: boolean;
  /** Lines are left out before this one. */
  readonly gap: boolean;
  readonly value: CodeValue | undefined;
  readonly hrefOf: (label: string) => string | null;
}

class Line extends Component<LineProps> {
  override shouldComponentUpdate(next: LineProps): boolean {
    const p = this.props;
    return next.line !== p.line || next.step !== p.step || next.now !== p.now
      || next.value?.name !== p.value?.name || next.value?.value !== p.value?.value;
  }

  override render(): JSX.Element {
    const { line, step, now, gap, value, hrefOf } = this.props;
    return (
      <li data-s={step} data-n={line.n} class={[now ? 'now' : '', gap ? 'gap' : ''].filter(Boolean).join(' ') || undefined}>
        <span class="n">{line.n}</span>
        <span>{line.pieces.map(([kind, text], k) => (kind === '' ? text : <span key={k} class={kind}>{text}</span>))}</span>
        {line.labels.map((label) => <a key={label} class="lab" href={hrefOf(label) ?? undefined} data-label={label}>{label}</a>)}
        {value && <span class="inl">{value.name} = <b>{value.value}</b></span>}
      </li>
    );
  }
}

/** Brings the current lines to the middle, a whole line at the top. The box is the lines' offset parent (code.css). */
function useScrollTo(current: string, file: string): { readonly current: HTMLDivElement | null } {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef(false);
  useLayoutEffect(() => {
    /* In the frame's own time: asking for places here would lay the page out twice. */
    const frame = requestAnimationFrame(() => {
      const root = box.current;
      const now = root?.querySelectorAll<HTMLElement>('li.now') ?? [];
      const first = now[0];
      const last = now[now.length - 1];
      if (root && first && last && root.scrollHeight > root.clientHeight) {
        const wanted = (first.offsetTop + last.offsetTop + last.offsetHeight - root.clientHeight) / 2;
        const most = root.scrollHeight - root.clientHeight;
        const lines = Array.from(root.querySelectorAll<HTMLElement>('li')).filter((l) => l.offsetTop <= most);
        const top = lines.find((l) => l.offsetTop >= wanted) ?? lines[lines.length - 1] ?? first;
        const still = !drawn.current || matchMedia('(prefers-reduced-motion: reduce)').matches;
        root.scrollTo({ top: top.offsetTop, behavior: still ? 'auto' : 'smooth' });
      }
      drawn.current = true;
    });
    return () => cancelAnimationFrame(frame);
  }, [current, file]);
  return box;
}

function lineRange(first: number | undefined, last: number | undefined): string {
  if (first === undefined || last === undefined) return '';
  return first === last ? `line ${first}` : `lines ${first}\u2013${last}`;
}

export function CodePanel(p: CodePanelProps): JSX.Element {
  const box = useScrollTo(p.current, p.excerpt.file);
  const first = p.now[0];
  const last = p.now[p.now.length - 1];
  const onClick = (event: MouseEvent): void => {
    if (!(event.target instanceof Element)) return;
    const step = event.target.closest<HTMLElement>('li[data-s]')?.dataset.s;
    const link = event.target.closest('a');
    const there = p.now.includes(Number(event.target.closest<HTMLElement>('li')?.dataset.n));
    if (!step || (link && there)) return;   /* once at the step, a label leads to its equation */
    if (link) event.preventDefault();
    p.onStep(step);
  };
  return (
    <>
      <div class="chead">
        <strong><a href={p.excerpt.href}>{p.excerpt.file}</a></strong>
        <span>{lineRange(first, last)}</span>
        <span class="push">{p.hint}</span>
      </div>
      <div class="code" ref={box} tabIndex={0} role="region" aria-label={`C source, ${p.excerpt.file}`} onClick={onClick}>
        <ol>{p.excerpt.lines.map((l, k) => (
          <Line key={l.n} line={l} gap={k > 0 && p.excerpt.lines[k - 1]?.n !== l.n - 1} step={p.steps[l.n]} now={p.now.includes(l.n)} value={p.values[l.n]} hrefOf={p.hrefOf} />))}</ol>
      </div>
    </>
  );
}
