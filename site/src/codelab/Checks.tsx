/* Checks.tsx -- the gradients by hand against two other ways to find each of their entries,
 * and the first of these again in float, where it must fail. */
import { useMemo } from 'preact/hooks';
import type { JSX } from 'preact';
import { Case } from '../components/Case';
import { defineIsland, type ViewProps } from '../components/island';
import { fmt, sci } from '../components/numbers';
import type { Engine, LabOptions, LabVerdict } from '../engine/types';
import { drawn, FIRST } from '../examples/codelab';
import { useOptions } from './options';
import { Part, Verdict } from './Part';
import { constant, readPublished, type Published } from './published';
import '../style/blocks.css';

interface Row {
  readonly tensor: string;
  readonly entries: number;
  readonly central: number;
  readonly complex: number;
  /** Central differences all in float. */
  readonly float: number;
}
export interface Checked {
  readonly rows: readonly Row[];
  readonly verdict: LabVerdict;
  /** The gradients by hand in float against the complex step. */
  readonly rightInFloat: boolean;
}
interface Props {
  readonly published?: Published;
  /** Steps of the two checks: src/lab/lab.h. */
  readonly eps?: number;
  readonly step?: number;
}

/** Both number types are checked, whichever the run shows. */
export function checkLab(engine: Engine, options: LabOptions): Checked {
  const double: LabOptions = { ...options, scalar: 'f64' }, float: LabOptions = { ...options, scalar: 'f32' };
  const { tensors } = engine.lab(double), inFloat = engine.labCheck(float);
  return {
    rows: engine.labCheck(double).map((c, k) => ({
      tensor: c.tensor, entries: tensors.get(c.tensor)!.data.length, central: c.central, complex: c.complex, float: inFloat[k]!.central,
    })),
    verdict: engine.labVerdict(double),
    rightInFloat: engine.labVerdict(float).complex.pass,
  };
}

/** Small errors by their power of ten, others plainly. */
const size = (x: number): string => (x < 0.01 ? sci(x, 2) : fmt(x, 2));

function Table({ rows, verdict }: Pick<Checked, 'rows' | 'verdict'>): JSX.Element {
  const entries = rows.reduce((n, r) => n + r.entries, 0), worst = (of: (r: Row) => number): number => Math.max(...rows.map(of));
  const bound = (share: number): string => `${fmt(100 * share, share < 0.1 ? 2 : 0)} % of its bound used`;
  return (
    <div class="tbl" tabIndex={0} role="region" aria-label="Checks of every gradient">
      <table class="data clchecks">
        <thead><tr>
          <th scope="col">Gradient on</th><th scope="col" class="num">Entries compared</th><th scope="col" class="num">Central differences</th>
          <th scope="col" class="num">Complex step</th><th scope="col" class="num">Central differences, float32</th>
        </tr></thead>
        <tbody>
          {rows.map((r) => (
            <tr key={r.tensor}><th scope="row">{r.tensor}</th><td class="num">{r.entries} of {r.entries}</td><td class="num">{size(r.central)}</td><td class="num">{size(r.complex)}</td><td class="num">{size(r.float)}</td></tr>
          ))}
          <tr class="sum">
            <th scope="row">all, the worst</th><td class="num">{entries} of {entries}</td><td class="num">{size(worst((r) => r.central))}</td><td class="num">{size(worst((r) => r.complex))}</td><td class="num">{size(worst((r) => r.float))}</td>
          </tr>
          <tr>
            <th scope="row">verdict</th><td />
            <td class="num"><Verdict pass={verdict.central.pass} /><br />{bound(verdict.central.share)}</td>
            <td class="num"><Verdict pass={verdict.complex.pass} /><br />{bound(verdict.complex.share)}</td>
            <td class="num"><Verdict pass={verdict.float.pass} /></td>
          </tr>
        </tbody>
      </table>
    </div>
  );
}

function Float({ verdict: { float: f }, entries, right, eps }: { verdict: LabVerdict; entries: number; right: boolean; eps: number }): JSX.Element {
  return (
    <div class="why32">
      <h3>Why it fails in float32</h3>
      <p class="measure">
        The difference subtracts two losses that are almost the same. Near {fmt(f.loss, 6)} the next float32 is {sci(f.spacing)} away,
        and a step of {sci(eps, 0)} often moves it by less: for {f.still} of the {entries} entries it did not move at all, and the
        derivative came out as zero. Elsewhere it moved by a few whole spacings, which are then divided by twice the step. The mean
        relative error is {fmt(f.mean, 2)}, the worst {fmt(f.worst, 2)}, and {f.within === 0 ? 'not one entry' : `${f.within} of ${entries}`} comes within the
        bound of the check in double.{' '}
        {right ? 'The gradients by hand, computed in float32, are as good as float32 allows: the complex step, which subtracts nothing, passes them. It is the check that cannot see.'
          : 'Here the gradients by hand, computed in float32, are beyond the bound of the complex step, too.'}
      </p>
    </div>
  );
}

function View({ props, loaded, engine }: ViewProps<Props, Checked>): JSX.Element {
  const [options] = useOptions();
  const { eps = NaN, step = NaN } = props;              /* prepare() has set both */
  const key = `${options.seed} ${options.heads} ${options.temperature}`;
  const checked = useMemo(() => (key === `${FIRST.seed} ${FIRST.heads} ${FIRST.temperature}` ? loaded : checkLab(engine, options)), [key, loaded, engine]);
  const entries = checked.rows.reduce((n, r) => n + r.entries, 0);
  return (
    <Part title="Check it" words={<>
      <p>
        A gradient written by hand is a claim. Here every entry of every gradient is found in two other ways. A <a href="verification.html#finite-differences">central
        difference</a> nudges one number up and down by {sci(eps, 0)} and looks at the loss. The <a href="verification.html#complex-step">complex
        step</a> moves it by {sci(step, 0)} in the imaginary direction, and loses nothing to subtraction.
      </p>
      <p>
        The figures are the worst relative error of each tensor, |found {'\u2212'} expected| / (|found| + |expected|). That grows without limit where
        a gradient happens to be near zero, so it does not decide. <em>PASS</em> means: every error is within what rounding and
        truncation can explain, a bound that is computed for each entry.
      </p>
    </>}>
      <Case small source="codelab" note={drawn(options).replace(/, float(32|64)$/, '')} label="Checks of the gradients">
        <Table rows={checked.rows} verdict={checked.verdict} />
        <Float verdict={checked.verdict} entries={entries} right={checked.rightInFloat} eps={eps} />
      </Case>
      {props.published === undefined ? null : <p class="cap clnote"><em>published</em> (Code Lab 01, its own run with seed 0): loss {props.published.loss} beside {props.published.uniform}; central
        differences of a few sampled entries, worst relative error {props.published.differences}; largest difference from PyTorch {sci(props.published.torch)}. A third check, against PyTorch's automatic
        differentiation, runs in a terminal: <code>vitrine lab --torch</code>.</p>}
    </Part>
  );
}

export const island = defineIsland<Props, Checked>({
  prepare: (props, site) => ({ ...props, published: readPublished(site), eps: constant(site, 'src/lab/lab.h', 'LAB_EPS'), step: constant(site, 'src/lab/lab.h', 'LAB_STEP') }),
  load: async (_, engine) => checkLab(engine, FIRST),
  view: View,
});
