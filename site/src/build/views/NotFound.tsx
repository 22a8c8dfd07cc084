/* NotFound.tsx -- 404.html: a page by itself.
 *
 * A host shows it for any address that has nothing, however deep, so it cannot know
 * where the site's files are: its style is in it, it has no script, and it offers the
 * overview from this folder and from those above.
 */
import type { JSX } from 'preact';

const ABOVE: readonly (readonly [href: string, words: string])[] = [
  ['index.html', 'the overview, from this folder'],
  ['../index.html', 'from one folder up'],
  ['../../index.html', 'from two folders up'],
];

export function NotFound(): JSX.Element {
  return (
    <main id="main">
      <p>Vitrine</p>
      <h1>No such page</h1>
      <p>Nothing is kept at this address. Look for a wrong letter in it, or begin anew:</p>
      <ul>{ABOVE.map(([href, words]) => <li><a href={href}>{words}</a></li>)}</ul>
    </main>
  );
}
