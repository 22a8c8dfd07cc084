/* pages.mjs -- every page of the site, in Chromium: at three widths, in both themes, with reduced motion.
 *
 * usage: node site/browser/pages.mjs SITE [PAGE...]
 *
 * No error in the console, no request to another host, no horizontal scroll, nothing that axe finds, every number
 * under its source, every line of C the file's, every link and anchor there.  SITE is a folder with models; it is
 * served by `vitrine serve`.  Screenshots: build/screens, with an index.  Tests in SPEAKS TAP.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { axe, launch, open, watch } from './browser.mjs';
import { unlabelled } from './labels.mjs';
import { Screens } from './screens.mjs';
import { root, serveByVitrine } from './servers.mjs';
import { run } from './tap.mjs';
import { brokenLinks, claims, lineOf, linesOf, wrongLabel, wrongLine } from './tree.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./tree.mjs').Claims} Claims */

const WIDTHS = [1440, 768, 320];
const HEIGHT = 900;
/** Elements beyond which axe judges a page at its full width only, and its beginning is pictured: the book holds every concept of the pages once more. */
const HUGE = 20_000;

const [folder, ...only] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node site/browser/pages.mjs SITE [PAGE...]');
  process.exit(2);
}

/** Pages that the site must have, by the content; and all that are there. */
const wanted = [...readFileSync(join(root, 'site/content/pages.yaml'), 'utf8').matchAll(/^- id: ([a-z]+)$/gm)].map((m) => `${m[1]}.html`);
const sources = readdirSync(join(folder, 'source')).map((name) => `source/${name}`);
const pages = [...new Set([...wanted, ...readdirSync(folder).filter((name) => name.endsWith('.html'))])].filter((name) => only.length === 0 || only.includes(name));

/**
 * What a page is once a visitor has done something.
 * @type {Readonly<Record<string, { page: string, does: (page: Page) => Promise<void> }>>}
 */
const views = {
  'attention.html, a model': {
    page: 'attention.html#lab?src=model', does: async (page) => {
      await page.locator('[data-island=lab] .prov').getByText(/the same bits/).first().waitFor({ timeout: 90_000 });
      await page.locator('[data-island=lab] details.edit summary').or(page.locator('[data-island=lab] .prov')).first().waitFor();
    },
  },
  'attention.html, edited': {
    page: 'attention.html#lab?step=dA&view=table&edit=Wq:0,2=0.75&head=1', does: async (page) => {
      await page.locator('[data-island=lab] details.edit summary').click();
      await page.locator('[data-island=lab] details.edit input').first().waitFor();
    },
  },
  'playground.html, a model': {
    page: 'playground.html', does: async (page) => {
      await page.getByRole('button', { name: /^Load the model/ }).click();
      await page.locator('.provchecks').first().waitFor({ timeout: 90_000 });
      await page.getByRole('button', { name: 'Draw twenty' }).click();
      await page.getByText(/tokens per second, measured here|drew the end/).first().waitFor({ timeout: 60_000 });
    },
  },
};

/** The widest things that stick out of the page. @param {Page} page */
function sticksOut(page) {
  return page.evaluate(() => {
    const room = document.documentElement.clientWidth;
    const over = Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - room;
    if (over <= 0) return [];
    const who = [...document.body.querySelectorAll('*')].filter((e) => {
      if (e.getBoundingClientRect().right <= room + 0.5) return false;
      for (let at = e.parentElement; at && at !== document.body; at = at.parentElement) if (getComputedStyle(at).overflowX !== 'visible') return false;
      return true;
    });
    return [`${over} px too wide`, ...who.slice(-6).map((e) => `${e.tagName.toLowerCase()}.${String(e.getAttribute('class'))}: "${(e.textContent ?? '').slice(0, 40)}"`)];
  });
}

/** Cells that show something else once the page answers: text of the page as sent, and as it is. @param {Page} page @param {string} url */
async function changedByWaking(page, url) {
  const sent = await (await page.request.get(url)).text();
  return page.evaluate((html) => {
    const cells = (/** @type {Document} */ d) => [...d.querySelectorAll('[data-island] [data-t]')].map((e) => [`${e.getAttribute('data-t')}[${e.getAttribute('data-i')}]`, e.textContent ?? ''].join(' '));
    const [before, after] = [cells(new DOMParser().parseFromString(html, 'text/html')), cells(document)];
    const faults = before.length === after.length ? [] : [`${before.length} cells as sent, ${after.length} once awake`];
    before.forEach((text, k) => { if (after[k] !== text) faults.push(`sent "${text}", awake "${after[k]}"`); });
    return { faults, count: before.length };
  }, sent);
}

/** Planted faults, which the checks of this file must see. @param {Page} page @param {string} address @param {import('./tap.mjs').Tap} tap */
async function plant(page, address, tap) {
  await open(page, `${address}attention.html`);
  const found = async (/** @type {() => void} */ fault) => {
    await page.evaluate(fault);
    return (await page.evaluate(unlabelled)).faults.length;
  };
  const before = (await page.evaluate(unlabelled)).faults.length;
  tap.ok(await found(() => document.querySelector('[data-island=lab] [data-source]')?.removeAttribute('data-source')) > before, 'a source that is taken away is missed');
  await open(page, `${address}attention.html`);
  tap.ok(await found(() => document.querySelector('[data-island=lab] .tag')?.remove()) > before, 'so are its words');
  tap.ok((await page.evaluate(() => { document.body.style.width = '3000px'; })) === undefined && (await sticksOut(page)).length > 0, 'a page that is too wide is seen');
  await page.evaluate(() => { document.querySelector('h1')?.insertAdjacentHTML('afterend', '<input>'); });
  tap.ok((await axe(page, ['label'])).length > 0, 'a field without a name is seen by axe');
  const told = await page.evaluate(claims);
  const line = told.lines.find((l) => bareLength(l.text) > 20);
  tap.ok(line !== undefined && wrongLine({ ...line, line: line.line + 1 }) !== null, 'a line with another number is seen');
  const labelled = told.labels[0];
  tap.ok(labelled !== undefined && wrongLabel({ ...labelled, label: `${labelled.label}x` }) !== null, 'a label that the line does not hold is seen');
  const broken = { ...told, links: [{ href: `${address}attention.html#nowhere`, text: '' }, { href: `${address}nothing.html`, text: '' }] };
  tap.is(brokenLinks(new Map([['attention.html', broken]]), address, () => false).length, 2, 'an anchor and a page that are not there are seen');
  const faults = watch(page, address);
  await page.evaluate(() => { void fetch('https://vitrine.invalid/').catch(() => undefined); document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="alert(1)">'); });
  await page.waitForTimeout(300);
  tap.ok(faults.some((f) => /vitrine\.invalid|Content Security Policy/.test(f)) && faults.some((f) => /inline/.test(f)), 'a request to another host and an inline script are refused, and seen', faults);
}
const bareLength = (/** @type {string} */ text) => text.trim().length;

await run(async (tap) => {
  const server = await serveByVitrine(folder);
  const browser = await launch();
  const context = await browser.newContext({ reducedMotion: 'reduce', viewport: { width: 1440, height: HEIGHT } });
  const screens = new Screens(join(root, 'build/screens'));
  /** @type {Map<string, Claims>} */
  const told = new Map();
  let numbers = 0;
  const began = Date.now();
  /** @param {string} name */
  const look = async (name) => {
    /** @type {string[]} */
    const bad = [];
    for (const width of WIDTHS) {
      // Opened anew for each width: what a page draws first depends on it.
      const page = await context.newPage();
      await page.setViewportSize({ width, height: HEIGHT });
      const faults = watch(page, server.address);
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      const view = views[name];
      await open(page, server.address + (view?.page ?? name));
      await view?.does(page);
      if (width === WIDTHS[0] && !view) told.set(name, await page.evaluate(claims));
      if (width === WIDTHS[0]) {
        const labels = await page.evaluate(unlabelled);
        numbers += labels.numbers;
        tap.none(labels.faults, `${name}: ${labels.numbers} numbers of live parts, each under its source`);
        const cells = view ? { faults: [], count: 0 } : await changedByWaking(page, server.address + name);
        if (cells.count > 0) tap.none(cells.faults, `${name}: ${cells.count} cells show the same before and after it wakes`);
      }
      // The rest of the page is judged as it is without a visitor.
      const part = view ? '[data-island]' : undefined;
      const huge = await page.evaluate(() => document.querySelectorAll('*').length) >= HUGE;
      const judged = width === WIDTHS[0] || !huge;
      const at = (/** @type {string} */ theme) => (/** @type {string} */ fault) => `${width} px, ${theme}: ${fault}`;
      bad.push(...(await sticksOut(page)).map(at('light')), ...(judged ? await axe(page, undefined, part) : []).map(at('light')));
      const parts = huge || view ? 1 : undefined;
      await screens.take(page, name, width, 'light', parts);
      await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
      // The theme changes colours and nothing else; the widest and the narrowest view have all of them.
      bad.push(...(judged && width !== 768 ? await axe(page, ['color-contrast'], part) : []).map(at('dark')));
      await screens.take(page, name, width, 'dark', parts);
      bad.push(...faults.map(at('both')));
      await page.close();
    }
    tap.none(bad, `${name}: ${WIDTHS.join(', ')} px, light and dark: no error, no other host, nothing sticks out, axe finds nothing`);
  };
  const queue = [...pages, ...Object.keys(views).filter((name) => only.length === 0 || only.includes(name))];
  const work = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      if (name in views || existsSync(join(folder, name))) await look(name);
      else tap.ok(false, `${name} is there`, ['pages.yaml lists it; the site does not have it']);
    }
  };
  await Promise.all([work(), work()]);
  screens.index();
  tap.show(`${pages.length} pages, ${screens.count} screenshots (build/screens/index.html), ${numbers} labelled numbers, ${((Date.now() - began) / 1000).toFixed(0)} s`);

  // The source viewer, without scripts: it is what it is.
  const plain = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 320, height: HEIGHT } });
  const reader = await plain.newPage();
  const viewerFaults = watch(reader, server.address);
  const wide = [];
  if (only.length === 0) for (const name of sources) {
    await reader.goto(server.address + name, { waitUntil: 'load' });
    told.set(name, await reader.evaluate(claims));
    wide.push(...(await sticksOut(reader)).map((fault) => `${name}: ${fault}`));
  }
  tap.none([...viewerFaults, ...wide], `${sources.length} files in the source viewer: no error, nothing sticks out at 320 px`);

  const all = [...told.entries()];
  const lines = all.flatMap(([name, page]) => page.lines.map((l) => ({ name, l })));
  tap.none(lines.flatMap(({ name, l }) => { const fault = wrongLine(l); return fault ? [`${name}: ${fault}`] : []; }), `${lines.length} lines of C on the pages are the tree's, with their numbers`);
  const labels = all.flatMap(([name, page]) => page.labels.map((l) => ({ name, l })));
  tap.none(labels.flatMap(({ name, l }) => { const fault = wrongLabel(l); return fault ? [`${name}: ${fault}`] : []; }), `${labels.length} links from equations lead to a line that holds the label`);
  const anchors = all.flatMap(([, page]) => page.links.map((l) => lineOf(l.href))).filter((w) => w !== null);
  tap.none([...new Set(anchors.filter((w) => w.line !== null && linesOf(w.file)[w.line - 1] === undefined).map((w) => `${w.file}:${w.line}`))], `${anchors.length} links to files of the tree name lines that are there`);
  if (only.length === 0) {
    const count = all.reduce((n, [, page]) => n + page.links.length, 0);
    tap.none(brokenLinks(told, server.address, (path) => existsSync(join(folder, path)) || path === 'vitrine-mathematics.pdf'), `${count} links on ${all.length} pages lead to a file and an anchor`);
    tap.ok(lines.length > 1000 && labels.length > 50 && anchors.length > 500, 'and there was something to compare');
  }
  if (only.length === 0) await plant(await context.newPage(), server.address, tap);
  await browser.close();
  await server.close();
});
