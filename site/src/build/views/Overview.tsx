/* Overview.tsx -- the first page: the whole model as one picture, and the list of pages. */
import type { JSX } from 'preact';
import { useBuild } from '../context';
import { Inline } from '../prose';

function PageList(): JSX.Element {
  const { pages } = useBuild().content;
  return (
    <section class="part pages" aria-labelledby="pages">
      <h2 id="pages">The pages</h2>
      <dl>
        {pages.filter((p) => p.group !== 'home').map((p) => <><dt><a href={`${p.id}.html`}>{p.title}</a></dt><dd><Inline text={p.line} /></dd></>)}
        <dt><a href="book.html">The mathematics of Vitrine</a></dt><dd>every concept with numbered sections and equations, on one page, for print</dd>
      </dl>
    </section>
  );
}

export function Overview(): JSX.Element {
  return <PageList />;
}
