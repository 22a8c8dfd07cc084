/* pages.mjs -- every page of the site, in Chromium: at three widths, in both themes, with reduced motion.
 *
 * usage: node site/browser/pages.mjs SITE [--screens] [PAGE...]
 *
 * No error in the console, no request to another host, no horizontal scroll, nothing that axe finds, every number
 * under its source, every line of C the file's, every link and anchor there.  SITE is a folder with models; it is
 * served by `vitrine serve`.  Screenshots, with an index, are in build/screens: how a page begins, of the widest view
 * in light and the narrowest in dark; with --screens of all.  Speaks TAP.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { axe, axeColours, COLOURS, comes, launch, open, watch } from './browser.mjs';
import { unlabelled } from './labels.mjs';
import { Screens } from './screens.mjs';
import { root, serveByVitrine } from './servers.mjs';
import { run } from './tap.mjs';
import { brokenLinks, claimsOf, lineOf, linesOf, wrongLabel, wrongLine } from './tree.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./tree.mjs').Claims} Claims */

const HEIGHT = 900;
/** What axe judges in the middle view: what scrolls depends on the room there is. All else is there in the widest or in the narrowest, whose rules of style hold the middle one's. */
const BETWEEN = ['scrollable-region-focusable'];
/** Elements beyond which axe judges a page at its full width only, and its beginning is pictured: the book holds every concept of the pages once more. */
const HUGE = 20_000;

const words = process.argv.slice(2), everything = words.includes('--screens');
const [folder, ...only] = words.filter((word) => word !== '--screens');
if (folder === undefined) {
  console.error('usage: node site/browser/pages.mjs SITE [--screens] [PAGE...]');
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
      await page.locator('[data-island=lab] .prov').getByText(/the same bits/).first().waitFor();
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
      await page.locator('.provchecks').first().waitFor();
      await page.getByRole('button', { name: 'Draw twenty' }).click();
      await page.getByText(/tokens per second, measured here|drew the end/).first().waitFor();
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

/**
 * What is wrong with a page as it is. Names, roles and structure are judged in the widest and the narrowest view, whose
 * rules of style hold the middle one's, in light: a theme changes colours and nothing else. Colours are judged in both
 * themes, in the ways of drawing text that were not there before.
 * @param {Page} page @param {number} width @param {'light' | 'dark'} theme @param {Set<string>} judged ways seen before in this theme
 * @param {string} [part] @param {boolean} [huge]
 */
async function judge(page, width, theme, judged, part, huge = false) {
  const found = width === 768 ? [] : await axeColours(page, judged, part);
  if (theme === 'dark') return found;
  found.push(...await sticksOut(page));
  if (!huge || width === 1440) found.push(...await axe(page, width === 768 ? { only: BETWEEN, part } : { but: COLOURS, part }));
  return found;
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
  tap.ok((await axe(page, { only: ['label'] })).length > 0, 'a field without a name is seen by axe');
  await page.evaluate(() => {
    const box = document.createElement('div'), words = document.createElement('p');
    words.textContent = 'more of it than there is room '.repeat(200);
    // By script: the content policy refuses styles in markup.
    Object.assign(box.style, { overflow: 'scroll', height: '40px' });
    box.append(words);
    document.querySelector('h1')?.after(box);
  });
  tap.ok((await axe(page, { only: BETWEEN })).length > 0, 'so is a box that only a mouse can scroll');
  const told = await claimsOf(page);
  const line = told.lines.find((l) => bareLength(l.text) > 20);
  tap.ok(line !== undefined && wrongLine({ ...line, line: line.line + 1 }) !== null, 'a line with another number is seen');
  const labelled = told.labels[0];
  tap.ok(labelled !== undefined && wrongLabel({ ...labelled, label: `${labelled.label}x` }) !== null, 'a label that the line does not hold is seen');
  const broken = { ...told, links: [{ href: `${address}attention.html#nowhere`, text: '' }, { href: `${address}nothing.html`, text: '' }] };
  tap.is(brokenLinks(new Map([['attention.html', broken]]), address, () => false).length, 2, 'an anchor and a page that are not there are seen');
  const faults = watch(page, address);
  await page.evaluate(() => { void fetch('https://vitrine.invalid/').catch(() => undefined); document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="alert(1)">'); });
  const both = await comes(() => faults.some((f) => /vitrine\.invalid|Content Security Policy/.test(f)) && faults.some((f) => /inline/.test(f)));
  tap.ok(both, 'a request to another host and an inline script are refused, and seen', faults);
}

/** Faults at one width, in one theme or on one element alone. @param {Page} page @param {string} address @param {import('./tap.mjs').Tap} tap */
async function plantAlone(page, address, tap) {
  await open(page, `${address}index.html`);
  const judged = { light: new Set(), dark: new Set() };
  const at = async (/** @type {number} */ width, /** @type {'light' | 'dark'} */ theme) => {
    await page.setViewportSize({ width, height: HEIGHT });
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    return judge(page, width, theme, judged[theme]);
  };
  const all = async () => ({ wide: await at(1440, 'light'), dark: await at(1440, 'dark'), narrow: await at(320, 'light') });
  tap.is(await all(), { wide: [], dark: [], narrow: [] }, 'a page without a fault');
  await page.evaluate(() => {
    document.querySelector('h1')?.insertAdjacentHTML('afterend', `<input class="planted-field"><p class="planted-narrow">pale where it is narrow</p>${'<p>as it should be</p>'.repeat(4)}<p class="planted-dark">dark on dark</p>${'<p>as it should be</p>'.repeat(4)}`);
    for (const rule of ['.planted-field { display: none }', '@media (max-width: 320px) { .planted-field { display: block } .planted-narrow { color: #aaa } }', '@media (prefers-color-scheme: dark) { .planted-dark { color: #444 } }']) document.styleSheets[0]?.insertRule(rule, document.styleSheets[0].cssRules.length);
  });
  const { wide, dark, narrow } = await all();
  const found = (/** @type {string[]} */ faults) => faults.map((fault) => fault.split(': ').slice(0, 2).join(': ')).sort();
  tap.is(found(wide), [], 'words too pale and a field without a name that are there at 320 px only: not at 1440 px');
  tap.is(found(narrow), ['axe color-contrast: .planted-narrow', 'axe label: input'], 'but there');
  tap.is(found(dark), ['axe color-contrast: .planted-dark'], 'and one line of many that is too dark in the dark theme only');
}
const bareLength = (/** @type {string} */ text) => text.trim().length;

await run(async (tap) => {
  const server = await serveByVitrine(folder);
  const browser = await launch();
  const context = await browser.newContext({ reducedMotion: 'reduce', serviceWorkers: 'block', viewport: { width: 1440, height: HEIGHT } });
  const screens = new Screens(join(root, 'build/screens'), everything ? Infinity : 1);
  /** @type {Map<string, Claims>} */
  const told = new Map();
  /** Ways of drawing text that were judged. */
  const judged = { light: new Set(), dark: new Set() };
  let numbers = 0;
  const began = Date.now();
  /** @param {Page} page @param {string[]} faults what goes wrong in it, a list that grows @param {string} name */
  const look = async (page, faults, name) => {
    /** @type {string[]} */
    const bad = [];
    const view = views[name], part = view ? '[data-island]' : undefined;
    const url = server.address + (view?.page ?? name);
    const enter = async (/** @type {number} */ width) => {
      // Two addresses may differ in the fragment alone.
      await page.goto('about:blank');
      await page.setViewportSize({ width, height: HEIGHT });
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
      await open(page, url);
      await view?.does(page);
    };
    await enter(1440);
    if (!view) told.set(name, await claimsOf(page));
    const labels = await page.evaluate(unlabelled);
    numbers += labels.numbers;
    tap.none(labels.faults, `${name}: ${labels.numbers} numbers of live parts, each under its source`);
    const cells = view ? { faults: [], count: 0 } : await changedByWaking(page, url);
    if (cells.count > 0) tap.none(cells.faults, `${name}: ${cells.count} cells show the same before and after it wakes`);
    const huge = await page.evaluate(() => document.querySelectorAll('*').length) >= HUGE;
    const parts = huge || view ? 1 : undefined;
    /** @param {number} width @param {'light' | 'dark'} theme @param {boolean} [scroll] once through the page, so that what waits to be seen is drawn before it is judged */
    const see = async (width, theme, scroll = false) => {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      if (scroll || everything) await screens.take(page, name, width, theme, parts);
      await page.setViewportSize({ width, height: HEIGHT });
      bad.push(...(await judge(page, width, theme, judged[theme], part, huge)).map((fault) => `${width} px, ${theme}: ${fault}`));
    };
    await see(1440, 'light', true);
    await see(1440, 'dark');
    // The middle view is what becomes of the widest in a smaller window; the narrowest is entered anew: what a page draws first depends on its width.
    await see(768, 'light');
    if (everything) await see(768, 'dark');
    await enter(320);
    await see(320, 'dark', true);
    await see(320, 'light');
    await page.goto('about:blank');
    bad.push(...faults.splice(0));
    tap.none(bad, `${name}: 1440, 768, 320 px, light and dark: no error, no other host, nothing sticks out, axe finds nothing`);
  };
  const queue = [...pages, ...Object.keys(views).filter((name) => only.length === 0 || only.includes(name))];
  const work = async () => {
    // One tab for all: it keeps what it has compiled.
    const page = await context.newPage(), faults = watch(page, server.address);
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      if (name in views || existsSync(join(folder, name))) await look(page, faults, name);
      else tap.ok(false, `${name} is there`, ['pages.yaml lists it; the site does not have it']);
    }
    await page.close();
  };
  await Promise.all([work(), work()]);
  screens.index();
  tap.show(`${pages.length} pages, ${screens.count} screenshots (build/screens/index.html), ${numbers} labelled numbers, ${((Date.now() - began) / 1000).toFixed(0)} s`);

  // The source viewer, without scripts: it is what it is.
  const plain = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 320, height: HEIGHT } });
  /** @type {string[]} */
  const wide = [];
  const left = only.length === 0 ? [...sources] : [];
  const read = async () => {
    const reader = await plain.newPage(), faults = watch(reader, server.address);
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      await reader.goto(server.address + name, { waitUntil: 'load' });
      told.set(name, await claimsOf(reader));
      wide.push(...[...await sticksOut(reader), ...faults.splice(0)].map((fault) => `${name}: ${fault}`));
    }
  };
  await Promise.all([read(), read()]);
  tap.none(wide, `${sources.length} files in the source viewer: no error, nothing sticks out at 320 px`);

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
  if (only.length === 0) {
    await plantAlone(await context.newPage(), server.address, tap);
    await plant(await context.newPage(), server.address, tap);
  }
  await browser.close();
  await server.close();
});
