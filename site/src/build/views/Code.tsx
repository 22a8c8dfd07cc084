/* Code.tsx -- source lines with their real numbers: excerpts in concepts, whole files in the viewer. */
import type { JSX } from 'preact';
import type { CodeExcerpt, CodeLine } from '../../components/site-data';
import { useBuild } from '../context';

function Line({ line, anchor, now }: { line: CodeLine; anchor: boolean; now: boolean }): JSX.Element {
  const { sources, href } = useBuild();
  return (
    <li id={anchor ? `L${line.n}` : undefined} class={now ? 'now' : undefined}>
      <span class="n">{anchor ? <a href={`#L${line.n}`} tabIndex={-1}>{line.n}</a> : line.n}</span>
      <span>
        {line.pieces.map(([kind, text]) => (kind === '' ? text : <span class={kind}>{text}</span>))}
        {line.labels.map((label) => {
          const to = sources.equationHref(label);
          return <>{'  '}<span class="c">/* {to === null ? label : <a class="lab" href={anchor ? `../${to}` : href(to)}>{label}</a>} */</span></>;
        })}
      </span>
    </li>
  );
}

/** `now`: numbers of the lines that are spoken of. */
export function CodeLines({ lines, anchor = false, now = [] }: { lines: readonly CodeLine[]; anchor?: boolean; now?: readonly number[] }): JSX.Element {
  return <ol>{lines.map((line) => <Line line={line} anchor={anchor} now={now.includes(line.n)} />)}</ol>;
}

/** One excerpt in its box. `of` is whose it is: two concepts may show the same lines. */
export function CodeBox({ of, excerpt, now }: { of: string; excerpt: CodeExcerpt; now: readonly number[] }): JSX.Element {
  return (
    <div class="codebox">
      <div class="chead">
        <strong>{excerpt.file}</strong>
        <span>{excerpt.start === excerpt.end ? `line ${excerpt.start}` : `lines ${excerpt.start} to ${excerpt.end}`}</span>
        <a class="push" href={excerpt.href}>the file at this commit</a>
      </div>
      <div class="code" tabIndex={0} role="region" aria-label={`${of}: C source, ${excerpt.file}, lines ${excerpt.start} to ${excerpt.end}`}>
        <CodeLines lines={excerpt.lines} now={now} />
      </div>
    </div>
  );
}
