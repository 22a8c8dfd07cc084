/* ConceptView.tsx -- a concept: nine parts, always in one order, made from its content file and the map. */
import type { ComponentChildren, JSX } from 'preact';
import { Case } from '../../components/Case';
import type { Block, Concept } from '../../components/content';
import { drawTree } from '../../components/Tex';
import { exampleBlock, shapesBlock } from '../blocks';
import { useBuild } from '../context';
import { excerptsOf } from '../excerpts';
import { typeset } from '../mathml';
import { rangeOfNumbers } from '../numbering';
import { Inline, Prose } from '../prose';
import type { Sources } from '../site-data';
import { CodeBox } from './Code';
import { EquationRow, LineLink } from './EquationRow';
import { Citation } from './Literature';

/** The nine parts, for those who count them. */
export const parts = ['what-why', 'mathematics', 'symbols', 'example', 'shapes', 'implementation', 'code', 'where', 'status'] as const;
export type PartName = (typeof parts)[number];

function Part({ name, title, children }: { name: PartName; title: string; children: ComponentChildren }): JSX.Element {
  // No landmark of its heading's name: every concept has parts of the same names, and landmarks must differ.
  return <section class="part" data-part={name}><h3>{title}</h3>{children}</section>;
}

/** A live part, in a case of its source where the content gives one. */
export function Live({ block, small = true, number }: { block: Block; small?: boolean; number?: string | undefined }): JSX.Element {
  const drawn = useBuild().islands.draw(block);
  return (
    <>
      {block.text === undefined ? null : <Prose text={block.text} />}
      {block.source === undefined ? drawn : <Case source={block.source} note={block.note} small={small} label={number === undefined ? block.title : `${number} ${block.title ?? ''}`}>{drawn}</Case>}
    </>
  );
}

function Symbols({ concept }: { concept: Concept }): JSX.Element {
  return (
    <div class="tbl">
      <table class="data stack">
        <thead><tr><th scope="col">Symbol</th><th scope="col">Meaning</th><th scope="col">In the code</th><th scope="col">Shape</th></tr></thead>
        <tbody>
          {concept.symbols.map((s) => (
            <tr><td class="nw">{drawTree(typeset(s.tex, false))}</td><td><Inline text={s.meaning} /></td><td><code>{s.code}</code></td><td class="nw">{s.shape}</td></tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Implementation({ concept }: { concept: Concept }): JSX.Element {
  const { sources, medium } = useBuild();
  return <>{excerptsOf(concept, sources.map).map((e) => <CodeBox of={medium === 'book' ? `${concept.number} ${concept.title}` : concept.title} excerpt={sources.code(e.file, e.start, e.end)} now={e.now} />)}</>;
}

interface CodeRow {
  readonly role: 'computes' | 'calls' | 'tests' | 'follows from';
  readonly file: string;
  readonly line: number;
  readonly text: string;
}
interface CodeGroup {
  readonly equation: string;
  readonly rows: readonly CodeRow[];
}

/** Which lines compute, call and test each equation of a concept: made from the map. A function's callers stand with its first equation. */
export function codeGroups(concept: Concept, sources: Sources): CodeGroup[] {
  const told = new Set<string>();
  return concept.equations.flatMap((e): CodeGroup[] => {
    const entry = e.label === null ? undefined : sources.map.labels[e.label];
    if (!entry) {
      // A derived equation shows the line it follows from, unless this concept shows that line anyway.
      const line = e.from === null || concept.equations.some((other) => other.label === e.from) ? undefined : sources.map.labels[e.from]?.lines[0];
      return line ? [{ equation: e.title, rows: [{ role: 'follows from', file: line.file, line: line.line, text: sources.statement(line.file, line.line) }] }] : [];
    }
    const rows: CodeRow[] = entry.lines.map((l) => ({ role: 'computes', file: l.file, line: l.line, text: sources.statement(l.file, l.line) }));
    for (const { function: name } of entry.lines) {
      if (name === null || told.has(name)) continue;
      told.add(name);
      for (const c of sources.map.functions[name]?.calledBy ?? []) {
        if (!c.file.startsWith('tests/')) rows.push({ role: 'calls', file: c.file, line: c.line, text: sources.statement(c.file, c.line) });
      }
    }
    for (const t of entry.tests) rows.push({ role: 'tests', file: t.file, line: t.line, text: t.name });
    return [{ equation: e.title, rows }];
  });
}

function CodeAndMathematics({ concept }: { concept: Concept }): JSX.Element {
  return (
    <div class="tbl" tabIndex={0} role="region" aria-label={`${useBuild().medium === 'book' ? `${concept.number} ` : ''}${concept.title}: code and mathematics`}>
      <table class="data grouped">
        <thead><tr><th scope="col">Equation</th><th scope="col">Role</th><th scope="col">Where</th><th scope="col">The line</th></tr></thead>
        {codeGroups(concept, useBuild().sources).map((g) => (
          <tbody>
            {g.rows.map((r, i) => (
              <tr>
                {i === 0 ? <th scope="rowgroup" rowSpan={g.rows.length}><Inline text={g.equation} /></th> : null}
                <td class={r.role.split(' ')[0]}>{r.role}</td>
                <td><LineLink file={r.file} line={r.line} /></td>
                <td><pre>{r.text}</pre></td>
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </div>
  );
}

/** Items with commas between them, the first six; the rest are counted. */
function Several({ items }: { items: readonly JSX.Element[] }): JSX.Element {
  if (items.length === 0) return <>nobody but itself</>;
  const rest = items.length - 6;
  return <>{items.slice(0, 6).map((item, i) => <>{i > 0 ? ', ' : ''}{item}</>)}{rest > 0 ? ` and ${rest} more` : ''}</>;
}

function Where({ concept }: { concept: Concept }): JSX.Element {
  const { functions } = useBuild().sources.map;
  return (
    <>
      {concept.where.map((name) => {
        const f = functions[name];
        if (!f) return null;
        return (
          <dl class="kv ui">
            <dt>Function</dt><dd><code>{name}</code>, <LineLink file={f.file} line={f.start} end={f.end} /></dd>
            <dt>Called by</dt><dd><Several items={f.calledBy.filter((c) => !c.file.startsWith('tests/')).map((c) => <><code>{c.function}</code> <LineLink file={c.file} line={c.line} /></>)} /></dd>
            <dt>Tested by</dt><dd><Several items={f.testedBy.map((t) => <><code>{t.name}</code> <LineLink file={t.file} line={t.line} /></>)} /></dd>
          </dl>
        );
      })}
    </>
  );
}

function Status({ concept }: { concept: Concept }): JSX.Element {
  const { medium } = useBuild();
  const equations = concept.equations.map((e) => e.number);
  return (
    <dl class="kv ui">
      <dt>Status</dt><dd><Inline text={concept.status} /></dd>
      <dt>In the book</dt>
      <dd>{medium === 'book' ? null : <a class="plain" href={`book.html#${concept.page}-${concept.id}`}>section {concept.number}</a>}{medium === 'book' ? `section ${concept.number}` : null}, {equations.length === 1 ? 'equation' : 'equations'} {rangeOfNumbers(equations)}</dd>
      <dt>Literature</dt>
      <dd>
        {concept.literature.map((l) => <p class="paper"><Citation id={l.paper} />: <Inline text={l.where} /></p>)}
      </dd>
    </dl>
  );
}

export function ConceptView({ concept }: { concept: Concept }): JSX.Element {
  const { medium } = useBuild();
  // In the book, where all pages stand in one document, titles come again.
  const number = medium === 'book' ? concept.number : undefined;
  const id = medium === 'book' ? `${concept.page}-${concept.id}` : concept.id;
  return (
    <article class="concept" id={id} data-concept={`${concept.page}/${concept.id}`} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{medium === 'book' ? <span class="no">{concept.number}</span> : null}<span><Inline text={concept.title} /></span> <a class="hash" href={`#${id}`} aria-label={`Link to ${concept.title}`}>#</a></h2>
      <div class="two" data-part="what-why">
        <div><h3>What is it?</h3><Prose text={concept.what} /></div>
        <div><h3>Why does the model need it?</h3><Prose text={concept.why} /></div>
      </div>
      <Part name="mathematics" title="Mathematics"><ol class="eqs">{concept.equations.map((e) => <EquationRow equation={e} />)}</ol></Part>
      <Part name="symbols" title="Symbols"><Symbols concept={concept} /></Part>
      <Part name="example" title="Tiny numerical example">
        {concept.example.text === undefined ? null : <p class="measure"><Inline text={concept.example.text} /></p>}
        <Live block={exampleBlock(concept)} number={number} />
      </Part>
      {concept.sections.map((b) => (
        <section class="part extra"><h3>{b.title ?? concept.title}</h3><Live block={b} number={number} /></section>
      ))}
      <Part name="shapes" title="Tensor shapes"><Live block={shapesBlock(concept)} number={number} /></Part>
      <Part name="implementation" title="Actual implementation"><Implementation concept={concept} /></Part>
      <Part name="code" title="Code and mathematics"><CodeAndMathematics concept={concept} /></Part>
      <div class="two pair">
        <Part name="where" title="Where it is used"><Where concept={concept} /></Part>
        <Part name="status" title="Status and reference"><Status concept={concept} /></Part>
      </div>
    </article>
  );
}
