/* browser.mjs -- Debian's Chromium, and pages that keep account of what goes wrong in them. */
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('playwright-core').BrowserContext} BrowserContext */
/** @typedef {import('playwright-core').Page} Page */

const require = createRequire(import.meta.url);

/** @param {readonly string[]} [args] @returns {Promise<Browser>} */
export function launch(args = []) {
  const executablePath = process.env['VITRINE_CHROMIUM'] ?? '/usr/bin/chromium';
  if (!existsSync(executablePath)) throw new Error(`${executablePath}: not there; the tests need Chromium (Debian's package chromium, or VITRINE_CHROMIUM)`);
  // Its sandbox works for every user but root.
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath, args: [...sandbox, '--disable-gpu', '--disable-dev-shm-usage', ...args] });
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
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`console: ${message.text()}`);
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

/** Opens a page and waits until all of its live parts answer. @param {Page} page @param {string} url */
export async function open(page, url) {
  await page.goto(url, { waitUntil: 'load' });
  // The book and the source viewer hold live parts as they were drawn, and no script that wakes them.
  if (await page.locator('script[type=module]').count() > 0 && await page.locator('[data-island]').count() > 0) await page.locator('html[data-awake]').waitFor({ state: 'attached', timeout: 60_000 });
}

const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/**
 * What axe finds, one line for each element.
 * @param {Page} page @param {readonly string[]} [rules] only these; else all of WCAG 2.2 A and AA and good practice
 * @param {string} [part] the first element of that kind, instead of the page
 * @returns {Promise<string[]>}
 */
export async function axe(page, rules, part) {
  await page.evaluate(`if (!globalThis.axe) { ${axeSource} }`);
  return page.evaluate(async ([only, selector]) => {
    const { violations } = await /** @type {any} */ (globalThis).axe.run(selector ? document.querySelector(selector) : document, {
      resultTypes: ['violations'], ...(only ? { runOnly: { type: 'rule', values: only } } : {}),
    });
    return violations.flatMap((/** @type {any} */ v) => v.nodes.map((/** @type {any} */ n) => `axe ${v.id}: ${n.target.join(' ')}: ${n.failureSummary}`));
  }, /** @type {const} */ ([rules, part]));
}
