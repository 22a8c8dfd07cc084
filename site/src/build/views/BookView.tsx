/* BookView.tsx -- "The mathematics of Vitrine": all concepts in one document, with contents and an index of symbols. */
import type { JSX } from 'preact';
import type { Concept, Page } from '../../components/content';
import { drawTree } from '../../components/Tex';
import { useBuild } from '../context';
import { typeset } from '../mathml';
import { Inline } from '../prose';
import { ConceptView } from './ConceptView';
import { Literature } from './Literature';

function Contents({ chapters }: { chapters: readonly Page[] }): JSX.Element {
  return (
    <nav class="toc" aria-labelledby="toc">
      <h2 id="toc">Contents</h2>
      <ol>
        {chapters.map((p) => (
          <li>
            <a href={`#chapter-${p.id}`}><span class="no">{p.chapter}</span> {p.title}</a>
            <ol>{p.concepts.map((c) => <li><a href={`#${c.page}-${c.id}`}><span class="no">{c.number}</span> <Inline text={c.title} /></a></li>)}</ol>
          </li>
        ))}
        <li><a href="#symbols-index">Index of symbols</a></li>
        <li><a href="#equations-index">Index of equations by label</a></li>
      </ol>
    </nav>
  );
}

interface Entry {
  readonly tex: string;
  readonly meanings: { readonly meaning: string; readonly concept: Concept }[];
}

/** Each symbol with every section that explains it, in the order of first use. */
function symbolEntries(chapters: readonly Page[]): Entry[] {
  const entries = new Map<string, Entry>();
  for (const p of chapters) for (const concept of p.concepts) for (const s of concept.symbols) {
    const entry = entries.get(s.tex) ?? { tex: s.tex, meanings: [] };
    entry.meanings.push({ meaning: s.meaning, concept });
    entries.set(s.tex, entry);
  }
  const sign = (tex: string): string => tex.replace(/\\(mathrm|hat|bar|tilde|partial|operatorname|text|widehat|dot)\b|[^A-Za-z]/g, '');
  return [...entries.values()].sort((a, b) => sign(a.tex).toLowerCase().localeCompare(sign(b.tex).toLowerCase(), 'en') || a.tex.localeCompare(b.tex, 'en'));
}

function SymbolsIndex({ chapters }: { chapters: readonly Page[] }): JSX.Element {
  return (
    <section class="index" aria-labelledby="symbols-index">
      <h2 id="symbols-index">Index of symbols</h2>
      <div class="tbl" tabIndex={0} role="region" aria-label="Index of symbols: table"><table class="data">
        <thead><tr><th scope="col">Symbol</th><th scope="col">Meaning</th><th scope="col">Section</th></tr></thead>
        <tbody>
          {symbolEntries(chapters).flatMap((e) => e.meanings.map((m, i) => (
            <tr><td class="nw">{i === 0 ? drawTree(typeset(e.tex, false)) : null}</td><td><Inline text={m.meaning} /></td><td><a href={`#${m.concept.page}-${m.concept.id}`}>{m.concept.number}</a></td></tr>
          )))}
        </tbody>
      </table></div>
    </section>
  );
}

function EquationsIndex({ chapters }: { chapters: readonly Page[] }): JSX.Element {
  const all = chapters.flatMap((p) => p.concepts.flatMap((c) => c.equations)).sort((a, b) => a.id.localeCompare(b.id, 'en'));
  return (
    <section class="index" aria-labelledby="equations-index">
      <h2 id="equations-index">Index of equations by label</h2>
      <div class="tbl" tabIndex={0} role="region" aria-label="Index of equations by label: table"><table class="data">
        <thead><tr><th scope="col">Label</th><th scope="col">Equation</th><th scope="col">Number</th></tr></thead>
        <tbody>{all.map((e) => <tr><td><code>{e.id}</code></td><td><Inline text={e.title} />{e.derived ? ', derived' : ''}</td><td><a href={`#eq-${e.id}`}>({e.number})</a></td></tr>)}</tbody>
      </table></div>
    </section>
  );
}

export function BookView(): JSX.Element {
  const { content, sources, moduleHash } = useBuild();
  const chapters = content.pages.filter((p) => p.chapter !== null);
  return (
    <main class="book" id="main">
      <header class="cover">
        <h1>The mathematics of Vitrine</h1>
        <p class="lede">The equations of a small GPT, each with the line of C that computes it or that it follows from, the numbers that the code gives, and the tests that prove it.</p>
        <p class="cap">Commit {sources.map.commit}{sources.map.modified ? ', with local changes' : ''}; module {moduleHash ?? 'missing'}. The numbers of the examples were computed by that module when this was built.</p>
        <p class="screen"><a href="index.html">The site</a> has the same text with everything alive. <a href="vitrine-mathematics.pdf">As PDF</a>, where the build made it.</p>
      </header>
      <Contents chapters={chapters} />
      {chapters.map((p) => (
        <section class="chapter" aria-labelledby={`chapter-${p.id}`}>
          <h1 id={`chapter-${p.id}`}><span class="no">{p.chapter}</span> {p.title}</h1>
          <p class="lede"><Inline text={p.lede} /></p>
          {p.concepts.map((c) => <ConceptView concept={c} />)}
        </section>
      ))}
      <Literature concepts={chapters.flatMap((p) => p.concepts)} />
      <SymbolsIndex chapters={chapters} />
      <EquationsIndex chapters={chapters} />
    </main>
  );
}
