/* Layout.tsx -- the frame of every page: the model as navigation, the title, the placard, the foot. */
import type { ComponentChildren, JSX } from 'preact';
import { sourceWords, type Page } from '../../components/content';
import { useBuild } from '../context';
import { Inline } from '../prose';

function Mark(): JSX.Element {
  return (
    <svg viewBox="0 0 22 22" aria-hidden="true" fill="none" stroke="currentColor">
      <path d="M3.5 7.5h11v11h-11z" />
      <path d="M7.5 3.5h11v11M3.5 7.5l4-4M14.5 7.5l4-4M14.5 18.5l4-4" class="glass" />
    </svg>
  );
}

function NavLink({ page, current }: { page: Page; current: string }): JSX.Element {
  return <a href={`${page.id}.html`} aria-current={page.id === current ? 'page' : undefined}>{page.nav}</a>;
}

/** The pages in the order in which data flows; the Transformer block is a frame around its three. */
function Flow({ current }: { current: string }): JSX.Element {
  const { pages } = useBuild().content;
  const items: JSX.Element[] = [];
  const inside = pages.filter((p) => p.group === 'inside');
  const block = pages.find((p) => p.group === 'block');
  let framed = false;
  for (const p of pages) {
    if (p.group === 'flow') items.push(<li><NavLink page={p} current={current} /></li>);
    if ((p.group === 'inside' || p.group === 'block') && !framed) {
      framed = true;
      items.push(
        <li class="blk">
          <ul>
            {block ? <li class="frame"><NavLink page={block} current={current} /></li> : null}
            {inside.map((q) => <li><NavLink page={q} current={current} /></li>)}
          </ul>
        </li>,
      );
    }
  }
  return <ul class="flow">{items}</ul>;
}

function Header({ current }: { current: string }): JSX.Element {
  const { pages } = useBuild().content;
  return (
    <header class="top">
      <a class="brand" href="index.html"><Mark />Vitrine</a>
      <nav aria-label="The model, in the order data flows" class="middle"><Flow current={current} /></nav>
      <details class="menu">
        <summary>Contents</summary>
        <nav aria-label="Contents">{pages.map((p) => <NavLink page={p} current={current} />)}<a href="book.html">The book</a></nav>
      </details>
      <div class="tools">
        {pages.filter((p) => p.group === 'tool').map((p) => <NavLink page={p} current={current} />)}
        <button type="button" id="theme" hidden>Dark</button>
      </div>
    </header>
  );
}

/** The first twelve signs of a hash: the whole stands in the title and in the provenance. */
function Hash({ value }: { value: string }): JSX.Element {
  return <code title={value}>{value.slice(0, 12)}</code>;
}

function Commit(): JSX.Element {
  const { map } = useBuild().sources;
  const name = <Hash value={map.commit} />;
  return <>{map.link === null ? name : <a href={map.link.replace('/blob/', '/tree/')}>{name}</a>}{map.modified ? ' with local changes' : ''}</>;
}

/** Where the numbers of the page come from. */
function Placard({ page }: { page: Page }): JSX.Element {
  const { moduleHash } = useBuild();
  const numbers = page.concepts.length + page.head.length + page.foot.length > 0;
  return (
    <aside class="placard" aria-label="Where the numbers come from">
      <dl>
        {numbers ? <><dt>Source</dt><dd id="placard-source">{sourceWords[page.source]}</dd></> : null}
        {numbers && page.source === 'model' ? <><dt>Model</dt><dd id="placard-model">loaded when you ask for it</dd><dt>Checkpoint</dt><dd id="placard-checkpoint">its sha256 is recomputed in this page</dd></> : null}
        {numbers && page.source !== 'measured' && page.source !== 'model' ? <><dt>Computed</dt><dd>by the C code, in double precision, when this page was built and again in it</dd></> : null}
        <dt>Commit</dt><dd><Commit /></dd>
        <dt>Module</dt><dd id="placard-module" data-sha256={moduleHash ?? undefined}>{moduleHash === null ? 'missing in this draft' : <><code>vitrine.wasm</code> <Hash value={moduleHash} /></>}</dd>
      </dl>
    </aside>
  );
}

export interface RailEntry {
  readonly href: string;
  readonly text: string;
}

/** "On this page"; the current section is marked by the browser. */
export function Rail({ page, entries }: { page: Page; entries: readonly RailEntry[] }): JSX.Element {
  return (
    <nav class="rail" aria-label="On this page">
      <span class="over">{page.title}</span>
      <ol>{entries.map((e) => <li><a href={e.href}>{e.text}</a></li>)}</ol>
    </nav>
  );
}

/** A page that opens with a live part: the way past it, to the first explanation. */
export function PageHead({ page }: { page: Page }): JSX.Element {
  const first = page.head.length > 0 ? page.concepts[0] : undefined;
  return (
    <div class="head">
      <div>
        <h1>{page.title}</h1>
        <p class="lede"><Inline text={page.lede} /></p>
        {first === undefined ? null : <p class="begin">New to this? The explanation begins with <a href={`#${first.id}`}>{first.title}</a>.</p>}
      </div>
      <Placard page={page} />
    </div>
  );
}

function Foot({ faults }: { faults: number }): JSX.Element {
  return (
    <footer class="foot">
      <span>Every number on this site is computed by the C code of Vitrine, or read from a model whose hash is shown.</span>
      <span><a href="book.html">The mathematics of Vitrine</a>, all concepts on one page, for print</span>
      <span>Commit <Commit /></span>
      {faults > 0 ? <strong>Draft: the build found {faults} {faults === 1 ? 'fault' : 'faults'}</strong> : null}
    </footer>
  );
}

/** The body of a page. */
export function Layout({ current, faults, children }: { current: string; faults: number; children: ComponentChildren }): JSX.Element {
  return (
    <>
      <a class="skip" href="#main">Skip to the content</a>
      <Header current={current} />
      <main class="page" id="main" tabIndex={-1}>
        {children}
        <Foot faults={faults} />
      </main>
    </>
  );
}
