/* EquationRow.tsx -- one equation: title, formula, number, label, and the line that computes it. */
import type { JSX } from 'preact';
import type { Equation } from '../../components/content';
import { drawTree } from '../../components/Tex';
import { useBuild } from '../context';
import { typeset } from '../mathml';
import { Inline } from '../prose';

/** "attention.c:38", linked to the line. Names of files are unique in the tree. */
export function LineLink({ file, line, end }: { file: string; line: number; end?: number }): JSX.Element {
  const { sources } = useBuild();
  const name = file.split('/').pop() ?? file;
  return <a class="src" href={sources.lineHref(file, line)}>{name}:{line}{end === undefined || end === line ? '' : `\u2013${end}`}</a>;
}

/** What LaTeX sets side by side (\qquad) is a formula each: where the column is too narrow, the second wraps and is not cut off. */
function Formulas({ tex }: { tex: string }): JSX.Element {
  return <>{tex.split(/\s*\\qquad\s*/).map((part) => drawTree(typeset(part, true)))}</>;
}

export function EquationRow({ equation }: { equation: Equation }): JSX.Element {
  const { sources, href } = useBuild();
  const label = equation.label ?? equation.from;
  const entry = label === null ? undefined : sources.map.labels[label];
  return (
    <li id={`eq-${equation.id}`}>
      <div class="t"><Inline text={equation.title} />{equation.derived ? <em>derived</em> : null}</div>
      <div class="e" tabIndex={0} role="group" aria-label={`Equation ${equation.number}`}><Formulas tex={equation.tex} /></div>
      <div class="w">
        <a class="lbl" href={`#eq-${equation.id}`}>{equation.id}</a> <span class="eqn">({equation.number})</span><br />
        {equation.derived
          ? <>from <a href={href(label === null ? '' : sources.equationHref(label) ?? '')}>{label}</a></>
          : entry?.lines.map((l, i) => <>{i > 0 ? ', ' : ''}<LineLink file={l.file} line={l.line} /></>)}
      </div>
    </li>
  );
}
