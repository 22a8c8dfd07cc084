/* verification-self-test.tsx -- what `vitrine check --self-test` found in this commit: planted faults, how many of
 * them the check saw, and how many correct kernels it accused.
 *
 * The figures come from measured.json, which tools/measure-for-site writes; the build
 * puts them into the page.
 */
import type { JSX } from 'preact';
import { defineIsland } from '../components/island';
import type { SelfTest, SelfTestRow } from '../components/measured';
import { Scroll } from '../components/Scroll';
import '../style/blocks.css';

interface Props {
  readonly commit?: string;
  readonly modified?: boolean;
  readonly selfTest?: Summary;
}
interface Group {
  readonly op: string;
  readonly planted: number;
  readonly found: number;
  readonly right: number;
}
interface Fault {
  readonly what: string;
  readonly op: string;
  readonly precisions: string;
  readonly found: boolean;
}
interface Summary {
  readonly groups: readonly Group[];
  readonly faults: readonly Fault[];
  readonly all: Group;
  readonly seed: number;
  readonly correct: number;
  readonly falseAlarms: number;
  readonly worst: number;
}

function count(op: string, rows: readonly SelfTestRow[]): Group {
  return { op, planted: rows.length, found: rows.filter((r) => r.found).length, right: rows.filter((r) => r.right).length };
}

/** One line for each operator, one for each fault whatever its precisions. */
export function summarise(t: SelfTest): Summary {
  const ops = [...new Set(t.rows.map((r) => r.op))];
  const faults = new Map<string, { row: SelfTestRow; precisions: string[]; found: boolean }>();
  for (const r of t.rows) {
    const key = `${r.op} ${r.what}`, known = faults.get(key);
    if (known) {
      known.precisions.push(r.precision);
      known.found &&= r.found;
    } else faults.set(key, { row: r, precisions: [r.precision], found: r.found });
  }
  return {
    groups: ops.map((op) => count(op, t.rows.filter((r) => r.op === op))),
    faults: [...faults.values()].map((f) => ({ what: f.row.what, op: f.row.op, precisions: f.precisions.join(', '), found: f.found })),
    all: { op: 'all', planted: t.faults, found: t.found, right: t.kind_right },
    seed: t.seed, correct: t.correct, falseAlarms: t.false_alarms, worst: t.worst_budget_used,
  };
}

function Score({ g }: { g: Group }): JSX.Element {
  return <><td class="num">{g.planted}</td><td class="num">{g.found}</td><td class="num">{g.right}</td><td class="num">{((100 * g.found) / g.planted).toFixed(1)} %</td></>;
}

function View({ props }: { props: Props }): JSX.Element {
  const s = props.selfTest;
  if (!s) return <p class="block-words">The build gave this page no figures.</p>;
  return (
    <div data-source="measured">
      <p class="block-words">
        Measured by <code>vitrine check --self-test</code> at commit <code>{props.commit?.slice(0, 12)}</code>{props.modified ? ', with changes not committed' : ''}, seed {s.seed}.
        <em> Kind right</em> counts the faults whose cause the check also named correctly.
      </p>
      <Scroll label="Planted faults by operator">
        <table class="data">
          <caption class="vh">Planted faults by operator</caption>
          <thead><tr><th scope="col">Operator</th><th scope="col" class="num">Planted</th><th scope="col" class="num">Found</th><th scope="col" class="num">Kind right</th><th scope="col" class="num">Mutation score</th></tr></thead>
          <tbody>
            {s.groups.map((g) => <tr key={g.op}><th scope="row"><code>{g.op}</code></th><Score g={g} /></tr>)}
            <tr class="sum"><th scope="row">all</th><Score g={s.all} /></tr>
          </tbody>
        </table>
      </Scroll>
      <dl class="kv ui">
        <dt>Correct kernels put through the same check</dt><dd class="num">{s.correct}</dd>
        <dt>Of these called wrong</dt><dd class="num">{s.falseAlarms}</dd>
        <dt>Most of its error budget that a correct one used</dt><dd class="num">{(100 * s.worst).toFixed(0)} %</dd>
      </dl>
      <details class="block-more">
        <summary>Every planted fault</summary>
        <Scroll label="Every planted fault">
          <table class="data">
            <caption class="vh">Every planted fault</caption>
            <thead><tr><th scope="col">Operator</th><th scope="col">Fault</th><th scope="col">Precision</th><th scope="col">Found</th></tr></thead>
            <tbody>
              {s.faults.map((f, k) => <tr key={k}><td><code>{f.op}</code></td><td>{f.what}</td><td>{f.precisions}</td><td>{f.found ? 'found' : 'missed'}</td></tr>)}
            </tbody>
          </table>
        </Scroll>
      </details>
    </div>
  );
}

export const island = defineIsland<Props>({
  prepare: (props, site) => {
    const m = site.measured();
    return { ...props, commit: m.commit, modified: m.modified, selfTest: summarise(m.selfTest) };
  },
  view: View,
  inert: true,
});
