/* Plan.tsx -- the sitting at a glance: what there is, in which order, about how long.
 * Minutes of exercises are those that the grader itself names. */
import type { JSX } from 'preact';
import { defineIsland } from '../components/island';
import { readExercises } from './exercises';
import { Part } from './Part';

/** Exercises of the sitting; the others are for another day. */
export const SITTING: readonly string[] = ['forward', 'softmax', 'backward'];

interface Stage {
  readonly title: string;
  readonly href: string;
  readonly does: string;
  readonly minutes: number;
}
interface Props {
  readonly stages?: readonly Stage[];
  readonly later?: { readonly count: number; readonly minutes: number };
}

const before: readonly Stage[] = [
  { title: 'The model', href: '#model', does: 'read the picture: what flows where, in which shapes', minutes: 5 },
  { title: 'Run it', href: '#run', does: 'draw the numbers, look at every tensor, follow the arithmetic of a few cells', minutes: 10 },
  { title: 'Check it', href: '#checks', does: 'see the gradients proven by two methods, and one of them fail in float32', minutes: 10 },
  { title: 'Two experiments', href: '#scaling', does: 'why scores are divided by a root, and what a temperature does', minutes: 10 },
];
const after: readonly Stage[] = [{ title: 'Quiz', href: '#quiz', does: 'four questions, each with its answer explained', minutes: 5 }];

function View({ props }: { props: Props }): JSX.Element {
  const stages = props.stages ?? [], { later } = props;
  const total = stages.reduce((n, s) => n + s.minutes, 0);
  return (
    <Part title={`${total} minutes at a glance`} words={<p>
      You need a terminal, a C compiler and this repository, built once. Everything else is on this page. Where it says <em>published</em>,
      a figure was printed by another program: the lab that this one follows. All others are computed here, by the C code.
    </p>}>
      <div class="tbl">
        <table class="data plan">
          <thead><tr><th scope="col">Part</th><th scope="col">What you do</th><th scope="col" class="num">Minutes, about</th></tr></thead>
          <tbody>
            {stages.map((s) => <tr key={s.title}><th scope="row"><a href={s.href}>{s.title}</a></th><td>{s.does}</td><td class="num">{s.minutes}</td></tr>)}
            <tr class="sum"><th scope="row">together</th><td /><td class="num">{total}</td></tr>
          </tbody>
        </table>
      </div>
      {later === undefined ? null : <p class="cap">{later.count} more exercises wait after that, about {later.minutes} minutes together.</p>}
    </Part>
  );
}

export const island = defineIsland<Props>({
  inert: true,
  prepare: (props, site) => {
    const all = readExercises(site.text('src/lab/exercise_text.c'));
    const now = all.filter((e) => SITTING.includes(e.name)), rest = all.filter((e) => !SITTING.includes(e.name));
    if (now.length !== SITTING.length) throw new Error(`code lab: expected the exercises ${SITTING.join(', ')}`);
    return {
      ...props,
      stages: [...before, ...now.map((e, k) => ({ title: `Exercise ${k + 1}`, href: `#exercise-${e.name}`, does: `write it: ${e.title}`, minutes: e.minutes })), ...after],
      later: { count: rest.length, minutes: rest.reduce((n, e) => n + e.minutes, 0) },
    };
  },
  view: View,
});
