/* PageView.tsx -- a page: its head, its live parts, its concepts beside the rail. */
import type { JSX } from 'preact';
import type { Block, Page } from '../../components/content';
import { useBuild } from '../context';
import { ConceptView, Live } from './ConceptView';
import { Literature } from './Literature';
import { Inline } from '../prose';
import { Layout, PageHead, Rail, type RailEntry } from './Layout';
import { PageList } from './PageList';

/** A block's anchor: its island's name. */
function blockId(block: Block): string {
  return typeof block.props['anchor'] === 'string' ? block.props['anchor'] : block.island;
}

/** No landmark of its own: the case inside has the name. */
function PageBlock({ block }: { block: Block }): JSX.Element {
  return (
    <div class="wideblock" id={blockId(block)}>
      <Live block={block} small={false} />
    </div>
  );
}

/** Where to go from here: the next page, in the order in which data flows; from the last one back to the first. */
function Onward({ page }: { page: Page }): JSX.Element | null {
  const { pages } = useBuild().content;
  const next = pages[(pages.indexOf(page) + 1) % pages.length];
  return next === undefined || next === page ? null : (
    <p class="onward"><span>Next</span> <a href={`${next.id}.html`}>{next.group === 'home' ? next.nav : next.title}</a>: <Inline text={next.line} /></p>
  );
}

export function PageView({ page, faults }: { page: Page; faults: number }): JSX.Element {
  const { islands } = useBuild();
  const drawn = (blocks: readonly Block[]): readonly Block[] => blocks.filter((b) => islands.has(b));
  const head = drawn(page.head);
  const foot = drawn(page.foot);
  const entry = (b: Block): RailEntry => ({ href: `#${blockId(b)}`, text: b.title ?? b.island });
  const entries = [...head.map(entry), ...page.concepts.map((c) => ({ href: `#${c.id}`, text: c.title })), ...foot.map(entry)];
  return (
    <Layout current={page.id} faults={faults}>
      <PageHead page={page} />
      {head.map((b) => <PageBlock block={b} />)}
      {page.group === 'home' ? <PageList /> : null}
      {page.concepts.length === 0 ? null : (
        <div class="doc">
          <Rail page={page} entries={entries} />
          <div class="concepts">{page.concepts.map((c) => <ConceptView concept={c} />)}</div>
        </div>
      )}
      {foot.map((b) => <PageBlock block={b} />)}
      <Literature concepts={page.concepts} />
      <Onward page={page} />
    </Layout>
  );
}
