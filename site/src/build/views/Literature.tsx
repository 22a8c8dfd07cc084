/* Literature.tsx -- papers: cited in short where a concept rests on them, in full once a page. */
import type { JSX } from 'preact';
import type { Concept, Paper } from '../../components/content';
import { useBuild } from '../context';

/** "Vaswani et al. 2017": the first author; two are both named. */
export function shortName(p: Paper): string {
  const names = p.authors.split(/,\s*|\s+and\s+/).filter((name) => name !== '' && name !== 'et al.');
  const who = names.length <= 2 ? names.join(' and ') : `${names[0] as string} et al.`;
  return `${who} ${p.year}`;
}

export function Citation({ id }: { id: string }): JSX.Element | null {
  const paper = useBuild().content.papers[id];
  return paper ? <a class="plain" href={`#paper-${id}`}>{shortName(paper)}</a> : null;
}

/** All papers that the concepts cite, in the order of the alphabet. */
export function Literature({ concepts }: { concepts: readonly Concept[] }): JSX.Element | null {
  const { papers } = useBuild().content;
  const cited = [...new Set(concepts.flatMap((c) => c.literature.map((l) => l.paper)))].filter((id) => id in papers).sort();
  if (cited.length === 0) return null;
  return (
    <section class="papers" aria-labelledby="literature">
      <h2 id="literature">Literature</h2>
      {cited.map((id) => {
        const p = papers[id] as Paper;
        return <p class="paper" id={`paper-${id}`}>{p.authors}, {p.link === undefined ? <cite>{p.title}</cite> : <a class="plain" href={p.link}><cite>{p.title}</cite></a>}, {p.venue === undefined ? '' : `${p.venue}, `}{p.year}</p>;
      })}
    </section>
  );
}
