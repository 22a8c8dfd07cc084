/* Exercises.tsx -- the exercises from the files in exercises/, hints that open one by one, and
 * worked solutions.  All of it is HTML: it answers without a script. */
import type { ComponentChild, JSX } from 'preact';
import { defineIsland } from '../components/island';
import type { CodeExcerpt, SiteData } from '../components/site-data';
import { lineCount, readExercises, solutionOf, type Exercise } from './exercises';
import { Part } from './Part';

interface Shown extends Exercise {
  readonly code: CodeExcerpt;
  readonly solution: CodeExcerpt;
}
interface Props {
  readonly exercises?: readonly Shown[];
}

/** Text with `code` in it. */
function withCode(text: string): ComponentChild[] {
  return text.split('`').map((part, k) => (k % 2 === 1 ? <code key={k}>{part}</code> : part));
}

/* Whole files: the style sheet counts their lines, which is a tenth of the page. */
function Source({ excerpt }: { excerpt: CodeExcerpt }): JSX.Element {
  return (
    <div class="codebox">
      <div class="chead"><strong>{excerpt.file}</strong><a class="push" href={excerpt.href}>the file at this commit</a></div>
      <div class="code" tabIndex={0} role="region" aria-label={`C source, ${excerpt.file}`}>
        <ol>{excerpt.lines.map((line) => (
          <li key={line.n}>{line.pieces.map(([kind, text], k) => (kind === '' ? text : <span key={k} class={kind}>{text}</span>))}</li>
        ))}</ol>
      </div>
    </div>
  );
}

/** Each hint holds the next: they open in their order. */
function Hints({ hints, n = 0 }: { hints: readonly string[]; n?: number }): JSX.Element | null {
  const hint = hints[n];
  if (hint === undefined) return null;
  return (
    <details class="hint">
      <summary>{n === 0 ? 'A hint' : 'The next hint'} <span>{n + 1} of {hints.length}</span></summary>
      <p>{withCode(hint)}</p>
      <Hints hints={hints} n={n + 1} />
    </details>
  );
}

function One({ exercise: e, n, open }: { exercise: Shown; n: number; open: boolean }): JSX.Element {
  return (
    <details class="exercise" id={`exercise-${e.name}`} open={open}>
      <summary><h3>Exercise {n}: {e.title}</h3><span>about {e.minutes} minutes; needs {e.needs}</span></summary>
      <Source excerpt={e.code} />
      <pre class="shell" tabIndex={0} aria-label="Commands that copy and grade it">cp exercises/{e.file} .{'\n'}build/vitrine grade {e.file}</pre>
      <Hints hints={e.hints} />
      <details class="hint"><summary>A worked solution</summary><Source excerpt={e.solution} /></details>
    </details>
  );
}

function View({ props }: { props: Props }): JSX.Element {
  const exercises = props.exercises ?? [];
  return (
    <Part title="Exercises" words={<>
      <p>
        Copy a file, write the body of its function, and have it graded. The grader compiles it and runs it on random numbers in
        several shapes, compares every element, and tells the first tensor that is wrong, the index, what was expected and what was
        found, and what to look at. A crash, an endless loop or a write outside an array is told as such.
      </p>
      <p>Try without the hints first. They open one by one; the last is nearly the line.</p>
    </>}>
      <div class="exercises">{exercises.map((e, k) => <One key={e.name} exercise={e} n={k + 1} open={k === 0} />)}</div>
    </Part>
  );
}

function whole(site: SiteData, file: string): CodeExcerpt {
  return site.code(file, 1, lineCount(site.text(file)));
}

export const island = defineIsland<Props>({
  inert: true,
  prepare: (props, site) => ({
    ...props,
    exercises: readExercises(site.text('src/lab/exercise_text.c')).map((e): Shown => {
      const code = whole(site, `exercises/${e.file}`);
      for (const name of e.functions) if (!site.text(code.file).includes(`${name}(`)) throw new Error(`${code.file}: expected the function ${name}`);
      return { ...e, code, solution: whole(site, solutionOf(e.file)) };
    }),
  }),
  view: View,
});
