/* book.mjs -- "The mathematics of Vitrine" as PDF: its numbers are those of book.html, its equations, sections and
 * links are all there, and every link to a source leads to a file and a line.
 *
 * usage: node site/browser/book.mjs [SITE]       SITE has book.html and vitrine-mathematics.pdf (tools/site --book)
 *
 * The PDF is read by poppler (pdftotext, pdfinfo), which knows nothing of the site.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch } from './browser.mjs';
import { shows } from './digits.mjs';
import { at } from './golden.mjs';
import { root, serveFiles } from './servers.mjs';
import { run } from './tap.mjs';

const folder = process.argv[2] ?? join(root, 'build/site');
const pdf = join(folder, 'vitrine-mathematics.pdf');
/** @param {string} program @param {string[]} args */
const poppler = (program, args) => execFileSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28 });

/** Words that are numbers, with how often each stands there. @param {readonly string[]} words */
function counts(words) {
  const found = new Map();
  for (const word of words) if (/^\u2212?\d+\.\d+(e\u2212?\d+)?$/.test(word)) found.set(word, (found.get(word) ?? 0) + 1);
  return found;
}

/** Numbers of the page that the PDF has not, or not as often. @param {Map<string, number>} wanted @param {Map<string, number>} found */
const missing = (wanted, found) => [...wanted].flatMap(([word, n]) => ((found.get(word) ?? 0) >= n ? [] : [`${word}: ${n} times on the page, ${found.get(word) ?? 0} in the PDF`]));

await run(async (tap) => {
  tap.ok(existsSync(pdf), 'the PDF is there');
  const server = await serveFiles(folder);
  const browser = await launch();
  const page = await browser.newPage({ viewport: { width: 1000, height: 1400 } });
  await page.emulateMedia({ media: 'print', colorScheme: 'light' });
  await page.goto(`${server.address}book.html`, { waitUntil: 'load' });
  const book = await page.evaluate(() => {
    const drawn = (/** @type {Element} */ e) => e.getClientRects().length > 0;
    const text = (/** @type {string} */ selector) => [...document.querySelectorAll(selector)].filter(drawn).map((e) => (e.textContent ?? '').trim());
    return {
      cells: [...document.querySelectorAll('[data-island=example][data-props*=\'"use":"attention"\'] [data-t]')].map((e) => ({ t: e.getAttribute('data-t') ?? '', i: e.getAttribute('data-i') ?? '', text: e.textContent ?? '' })),
      numbers: text('[data-t]'), equations: text('.eqn'), sections: text('article h2 .no'), titles: text('article.concept > h2 > span:not(.no)'),
      links: [...document.querySelectorAll('a[href]')].filter(drawn).map((a) => a.getAttribute('href') ?? ''), ids: [...document.querySelectorAll('[id]')].map((e) => e.id),
    };
  });
  await browser.close();
  await server.close();
  const wrong = book.cells.filter(({ t, i, text }) => { const x = at(t, i); return x === undefined || !shows(text, x); });
  tap.none(wrong.map(({ t, i, text }) => `${t}[${i}] shows ${text}`), `${book.cells.length} numbers of the attention example on book.html are the golden file's`);

  const info = poppler('pdfinfo', [pdf]);
  const pages = Number(/^Pages:\s+(\d+)/m.exec(info)?.[1]);
  tap.ok(pages > 40 && /^Tagged:\s+yes/m.test(info), `${pages} pages, tagged`);
  tap.ok(/Title:\s+The mathematics of Vitrine/.test(info), 'its title');
  const words = poppler('pdftotext', ['-layout', pdf, '-']).split(/\s+/);
  const [wanted, found] = [counts(book.numbers), counts(words)];
  tap.none(missing(wanted, found), `${[...wanted.values()].reduce((a, b) => a + b, 0)} numbers of figures stand in the PDF, each as often as on the page`);
  const [one] = wanted.keys();
  tap.ok(wanted.size > 100 && missing(new Map([[one, (found.get(one) ?? 0) + 1], ['9.8765', 1]]), found).length === 2, 'a number that is missing, or once too few, is seen');
  const set = new Set(words);
  tap.none(book.equations.filter((n) => !set.has(n)), `${book.equations.length} equation numbers`);
  const flat = words.join(' ');
  tap.none(book.sections.filter((n, k) => !flat.includes(`${n} ${(book.titles[k] ?? '').split(/\s+/)[0] ?? ''}`)), `${book.sections.length} numbered sections`);

  const dests = poppler('pdfinfo', ['-dests', pdf]);
  const named = new Set([...dests.matchAll(/"([^"]+)"\s*$/gm)].map((m) => m[1] ?? ''));
  const inside = [...new Set(book.links.filter((h) => h.startsWith('#')).map((h) => decodeURIComponent(h.slice(1))))];
  tap.none(inside.filter((id) => !book.ids.includes(id)), `${inside.length} places in the book that it links to are there`);
  tap.none(inside.filter((id) => !named.has(id)), `and are named places of the PDF (it has ${named.size})`);
  const urls = [...poppler('pdfinfo', ['-url', pdf]).matchAll(/^\s*\d+\s+\S+\s+(\S+)\s*$/gm)].map((m) => m[1] ?? '');
  const relative = urls.filter((u) => !/^[a-z]+:/.test(u));
  const text = readFileSync(pdf, 'latin1');
  tap.ok(!/127\.0\.0\.1|localhost/.test(text), 'no address of the machine that printed it');
  const resolved = [...new Set(relative)].flatMap((u) => {
    const [path = '', anchor] = u.split('#');
    const file = join(folder, decodeURIComponent(path));
    if (!existsSync(file)) return [`${u}: no such file`];
    return anchor === undefined || readFileSync(file, 'utf8').includes(`id="${decodeURIComponent(anchor)}"`) ? [] : [`${u}: no such anchor`];
  });
  const out = urls.filter((u) => /^[a-z]+:/.test(u) && !u.startsWith('https://'));
  const source = relative.filter((u) => u.startsWith('source/')).length + urls.filter((u) => /\/blob\/[0-9a-f]{40}\//.test(u)).length;
  tap.none([...resolved, ...out], `${urls.length} links out of the book, ${source} of them to lines of C, lead to a file and an anchor, or by https to the literature`);
  tap.ok(source > 200, 'the equations are linked to their lines');
  tap.show(`the book: ${pages} pages, ${(text.length / 1e6).toFixed(1)} MB, ${book.equations.length} equations, ${book.sections.length} sections`);
});
