/* PageList.tsx -- below the picture of the overview: who the site is for, and what each page holds. */
import type { JSX } from 'preact';
import { useBuild } from '../context';
import { Inline } from '../prose';

export function PageList(): JSX.Element {
  const { pages } = useBuild().content;
  return (
    <div class="two pages">
      <section class="part" aria-labelledby="pages">
        <h2 id="pages">The pages</h2>
        <dl>
          {pages.filter((p) => p.group !== 'home').map((p) => <><dt><a href={`${p.id}.html`}>{p.title.split(':')[0]}</a></dt><dd><Inline text={p.line} /></dd></>)}
          <dt><a href="book.html">The book</a></dt><dd>The mathematics of Vitrine: every concept with numbered sections and equations, on one page, for print</dd>
        </dl>
      </section>
      <section class="part" aria-labelledby="for">
        <h2 id="for">Who it is for</h2>
        <p>For everyone who wants to see how a language model computes, with nothing hidden. School mathematics is enough to start: each sign is explained where it is used first, and each concept has a small example with all of its numbers.</p>
        <p>For those who write such code: each equation names its line of C, each gradient is checked by two methods that know nothing of it, and you can run the check here, on any parameter of attention.</p>
        <p>For those who teach: every cell opens its arithmetic, a link keeps the view that you prepared, and the numbers can be changed.</p>
        <p>What the site does not have: a large model. The model here is small enough to be read whole. It takes the steps of GPT-2, which is far larger; newer models change some of them.</p>
      </section>
    </div>
  );
}
