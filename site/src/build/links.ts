/* links.ts -- every link inside the site leads to a file and an anchor that exist. */
import type { Faults } from './faults';

export interface PageLinks {
  readonly ids: ReadonlySet<string>;
  readonly hrefs: readonly string[];
}

const unescape = (text: string): string => text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

/** Anchors and links of a page that the build has written (attributes in double quotes). */
export function scan(html: string): PageLinks {
  const text = html.replace(/<script type="application\/json"[\s\S]*?<\/script>/g, '').replace(/ data-props='[^']*'/g, '');
  const ids = new Set([...text.matchAll(/\sid="([^"]*)"/g)].map((m) => unescape(m[1] as string)));
  const hrefs = [...text.matchAll(/<a\s[^>]*?href="([^"]*)"/g)].map((m) => unescape(m[1] as string));
  return { ids, hrefs };
}

/** "source/x.html" and "../attention.html" to "attention.html". */
function resolve(from: string, href: string): string {
  const parts = [...from.split('/').slice(0, -1), ...href.split('/')];
  const path: string[] = [];
  for (const part of parts) {
    if (part === '..') path.pop();
    else if (part !== '.' && part !== '') path.push(part);
  }
  return path.join('/');
}

/** Files that are beside the pages but not made here. */
const others: ReadonlySet<string> = new Set(['vitrine-mathematics.pdf', 'vitrine.wasm']);

export function checkLinks(files: ReadonlyMap<string, string>, faults: Faults): void {
  const pages = new Map([...files].map(([name, html]) => [name, scan(html)] as const));
  for (const [name, page] of pages) for (const href of new Set(page.hrefs)) {
    if (/^https?:\/\//.test(href)) continue;
    const [path, anchor] = href.split('#') as [string, string | undefined];
    const target = path === '' ? name : resolve(name, path.split('?')[0] ?? '');
    const found = pages.get(target);
    if (!found) {
      if (!others.has(target)) faults.add(name, `link "${href}"`, `there is no ${target === '' ? 'address' : target}`);
    } else if (anchor !== undefined && !found.ids.has((anchor.split('?')[0] ?? ''))) {
      faults.add(name, `link "${href}"`, `${target} has no anchor "${anchor.split('?')[0] ?? ''}"`);
    }
  }
}
