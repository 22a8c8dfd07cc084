/* browser.mjs -- Debian's Chromium, and pages that keep account of what goes wrong in them. */
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { chromiumPath } from '../src/build/chromium.mjs';
import { ways } from './ways.mjs';

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('playwright-core').BrowserContext} BrowserContext */
/** @typedef {import('playwright-core').Page} Page */

const require = createRequire(import.meta.url);

/** Milliseconds that a test waits for what must come: far beyond what a slow and busy machine needs, so that only what never comes fails. */
const PATIENCE = 180_000;

/** @param {readonly string[]} [args] @returns {Promise<Browser>} */
export async function launch(args = []) {
  // Its sandbox works for every user but root.
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath: chromiumPath(), timeout: PATIENCE, args: [...sandbox, '--disable-gpu', '--disable-dev-shm-usage', ...args] });
  browser.on('context', (context) => context.setDefaultTimeout(PATIENCE));
  return browser;
}

/**
 * What goes wrong in a page: errors and warnings of the console, exceptions, answers that are errors,
 * requests to another host, violations of the content policy.
 * @param {Page} page @param {string} address of the site
 * @returns {string[]} a list that grows
 */
export function watch(page, address) {
  /** @type {string[]} */
  const faults = [];
  const host = new URL(address).host;
  page.on('console', (message) => {
    // A test that has no offline worker has blocked it.
    if ((message.type() === 'error' || message.type() === 'warning') && !message.text().includes('Service Worker registration blocked')) faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`exception: ${error.message}`));
  page.on('dialog', (dialog) => { faults.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (/^(https?|wss?|ftp):$/.test(url.protocol) && url.host !== host) faults.push(`another host: ${request.url()}`);
  });
  page.on('response', (response) => { if (response.status() >= 400) faults.push(`${response.status()}: ${response.url()}`); });
  return faults;
}

/** Waits until what the page reports makes it true; false when it never does. @param {() => boolean} condition */
export async function comes(condition) {
  for (const last = Date.now() + PATIENCE; !condition() && Date.now() < last;) await new Promise((done) => setTimeout(done, 20));
  return condition();
}

/** Opens a page and waits until all of its live parts answer. @param {Page} page @param {string} url */
export async function open(page, url) {
  await page.goto(url, { waitUntil: 'load' });
  // The book and the source viewer hold live parts as they were drawn, and no script that wakes them.
  if (await page.locator('script[type=module]').count() > 0 && await page.locator('[data-island]').count() > 0) await page.locator('html[data-awake]').waitFor({ state: 'attached' });
}

const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Rules whose verdict follows from colours, and what they look at. */
const SEEN = { 'color-contrast': '*', 'link-in-text-block': 'a[href], [role=link]' };
export const COLOURS = Object.keys(SEEN);
/** Is on the elements whose colours are to be judged. */
const FRESH = 'data-fresh';

/**
 * What axe finds, one line for each element.
 * @param {Page} page
 * @param {{ only?: readonly string[], but?: readonly string[], part?: string, mark?: string }} [asked] only these rules, or all of
 *   WCAG 2.2 A and AA and good practice but these; the first element of a kind instead of the page; of colours those of elements with this attribute
 * @returns {Promise<string[]>}
 */
export async function axe(page, { only, but = [], part, mark } = {}) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource);
  return page.evaluate(async ([rules, without, selector, seen, mark]) => {
    const { axe } = /** @type {any} */ (globalThis);
    axe.configure({ rules: Object.entries(seen).map(([id, all]) => ({ id, selector: mark ? all.split(', ').map((one) => `${one}[${mark}]`).join(', ') : all })) });
    const { violations } = await axe.run(selector ? document.querySelector(selector) : document, {
      resultTypes: ['violations'], ...(rules ? { runOnly: { type: 'rule', values: rules } } : { rules: Object.fromEntries(without.map((rule) => [rule, { enabled: false }])) }),
    });
    return violations.flatMap((/** @type {any} */ v) => v.nodes.map((/** @type {any} */ n) => `axe ${v.id}: ${n.target.join(' ')}: ${n.failureSummary}`));
  }, /** @type {const} */ ([only, but, part, SEEN, mark]));
}

/**
 * What axe finds of colours, in the ways of drawing text that were not judged before.
 *
 * axe looks at each element of a page before it judges one, which is nearly all of its work: a part of the text that
 * holds nothing to be judged is emptied meanwhile.  What an element is drawn on lies in its own part, or around it; and
 * an empty part stands where it stood, so that rules of style mean the same elements.
 * @param {Page} page as it is: its width, its theme
 * @param {Set<string>} judged grows
 * @param {string} [part] the first element of that kind, instead of the page
 */
export async function axeColours(page, judged, part) {
  const all = await page.evaluateHandle(ways, part);
  const fresh = (await all.evaluate((list) => list.map(([name]) => name))).filter((name) => !judged.has(name));
  for (const name of fresh) judged.add(name);
  if (fresh.length === 0) return [];
  const emptied = await all.evaluateHandle((list, [names, mark]) => {
    const chosen = new Set(names);
    for (const [name, some] of list) if (chosen.has(name)) for (const e of some) e.setAttribute(mark, '');
    return [...document.querySelectorAll(':is(main, article, .chapter) > *')].flatMap((full) => {
      if (!full.isConnected || full.matches(`[${mark}]`) || full.querySelector(`[${mark}]`)) return [];
      const empty = /** @type {Element} */ (full.cloneNode(false));
      full.replaceWith(empty);
      return [{ full, empty }];
    });
  }, /** @type {const} */ ([fresh, FRESH]));
  const found = await axe(page, { only: COLOURS, mark: FRESH });
  await emptied.evaluate((list, mark) => {
    for (const { full, empty } of list) empty.replaceWith(full);
    for (const e of document.querySelectorAll(`[${mark}]`)) e.removeAttribute(mark);
  }, FRESH);
  return found;
}
