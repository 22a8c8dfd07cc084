/* hostile.mjs -- WEB-01: tokens and texts that are markup stay text, wherever the site shows them.
 *
 * usage: node site/browser/hostile.mjs SITE
 *
 * SITE has models whose corpus is markup (tools/site-for-tests).  One server gives it as it is; another swaps in a
 * tokenizer that has all of the markup as one token, under a manifest that agrees: what a host could do, since
 * pre-splitting never makes such a token.  No offline worker: each context would fetch the whole site for it (offline.mjs has it).
 */
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { comes, launch, open, watch } from './browser.mjs';
import { serveByVitrine, serveFiles } from './servers.mjs';
import { run } from './tap.mjs';

const folder = process.argv[2];
if (folder === undefined) {
  console.error('usage: node site/browser/hostile.mjs SITE');
  process.exit(2);
}

const MARKUP = '<img src=x onerror=alert(1)>';
const SHOWN = MARKUP.replace(/ /g, '\u00b7');

/** GPT-2's stand-in for each byte, as far as MARKUP has them. @param {string} text */
const standIns = (text) => text.replace(/ /g, '\u0120');

/** Makes MARKUP the last merged token of each model in `site`, and the window's second token. @param {string} site */
function oneToken(site) {
  for (const name of ['lab', 'playground']) {
    const data = join(site, 'data', name);
    const tokenizer = JSON.parse(readFileSync(join(data, 'tokenizer.json'), 'utf8'));
    const old = tokenizer.model.merges.map((/** @type {string | string[]} */ m) => (Array.isArray(m) ? m : m.split(' ')));
    const made = new Set();
    const merges = [];
    const text = standIns(MARKUP);
    for (let n = 2; n <= text.length; n++) merges.push([text.slice(0, n - 1), text[n - 1] ?? '']);
    for (const pair of merges) made.add(pair.join(''));
    const chain = merges.length;
    // As many as before, so that the model's vocabulary stays what it is.
    for (const byte of '!#$%&()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ') {
      if (merges.length === old.length) break;
      merges.push([byte, 'q']);
    }
    if (merges.length !== old.length) throw new Error(`${old.length} merges: expected ${chain} to ${merges.length}`);
    const vocab = Object.fromEntries(Object.entries(tokenizer.model.vocab).filter(([, id]) => Number(id) < 256));
    merges.forEach(([a, b], k) => { vocab[`${a}${b}`] = 256 + k; });
    vocab['<|endoftext|>'] = 256 + merges.length;
    tokenizer.model.vocab = vocab;
    tokenizer.model.merges = merges.map((pair) => pair.join(' '));
    const written = JSON.stringify(tokenizer);
    writeFileSync(join(data, 'tokenizer.json'), written);
    const manifest = JSON.parse(readFileSync(join(data, 'manifest.json'), 'utf8'));
    manifest.files['tokenizer.json'] = { sha256: createHash('sha256').update(written).digest('hex'), bytes: Buffer.byteLength(written) };
    const id = 256 + chain - 1;
    manifest.tokens[1] = id;
    manifest.targets[0] = id;
    manifest.text = MARKUP;
    // And wherever else a manifest holds words.
    manifest.tokenizer_rebuilt = { equal: null, why: MARKUP };
    manifest.vitrine.build = MARKUP;
    manifest.corpus[MARKUP] = MARKUP;
    const sealed = JSON.stringify(manifest);
    writeFileSync(join(data, 'manifest.json'), sealed);
    writeFileSync(join(data, 'manifest.sha256'), `${createHash('sha256').update(sealed).digest('hex')}  manifest.json\n`);
  }
}

/** Elements that no page of ours has: all from markup taken for such. @param {import('playwright-core').Page} page */
const foreign = (page) => page.evaluate(() => [...document.querySelectorAll('img, iframe, object, embed, b[onload], svg[onload], [onerror], [onclick], body script:not([type="application/json"])')].map((e) => e.outerHTML.slice(0, 120)));

/** @param {import('playwright-core').Browser} browser @param {string} address @param {import('./tap.mjs').Tap} tap @param {string} whose @param {string} shown text of one token */
async function lab(browser, address, tap, whose, shown) {
  const context = await browser.newContext({ serviceWorkers: 'block', viewport: { width: 1440, height: 900 }, acceptDownloads: true });
  const page = await context.newPage();
  const faults = watch(page, address);
  await open(page, `${address}attention.html#lab?src=model`);
  const at = page.locator('[data-island=lab]');
  await at.locator('.prov, .note[role=alert]').first().waitFor();
  const refused = await at.locator('.note[role=alert]').allInnerTexts();
  if (refused.length > 0) throw new Error(`the lab shows no model: ${refused.join(' ')}`);
  const chips = await at.getByRole('radiogroup', { name: 'Token that reads' }).getByRole('radio').allInnerTexts();
  tap.ok(chips.includes(shown), `${whose}: the lab's chips have the token ${shown} as text`, [chips.join(' | ')]);
  const axes = await at.locator('.fig .tl, .fig .tt').allTextContents();
  tap.ok(axes.includes(shown), 'so has the figure, at its rows and columns', [axes.join(' | ')]);
  const names = await at.locator('[role=gridcell][aria-label]').evaluateAll((all) => all.map((e) => e.getAttribute('aria-label') ?? ''));
  tap.ok(names.some((n) => n.includes(shown)), 'so have the names of its cells');
  await at.getByLabel('This tensor as').selectOption('svg');
  const [download] = await Promise.all([page.waitForEvent('download'), at.getByRole('button', { name: 'Save', exact: true }).click()]);
  const svg = readFileSync(await download.path(), 'utf8');
  const parsed = await page.evaluate((text) => {
    const picture = new DOMParser().parseFromString(text, 'image/svg+xml');
    return {
      error: picture.querySelector('parsererror')?.textContent ?? '', tags: [...new Set([...picture.querySelectorAll('*')].map((e) => e.localName))].sort(),
      titles: [...picture.querySelectorAll('title')].map((e) => e.textContent ?? ''), texts: [...picture.querySelectorAll('text')].map((e) => e.textContent ?? ''),
      attributes: [...picture.querySelectorAll('*')].flatMap((e) => e.getAttributeNames()).filter((n) => n.startsWith('on') || n.includes('href')),
    };
  }, svg);
  tap.is([parsed.error, parsed.tags, parsed.attributes], ['', ['defs', 'g', 'pattern', 'rect', 'svg', 'text', 'title'], []], 'the picture that is saved is SVG, without a foreign element or a handler');
  tap.ok(parsed.titles.some((t) => t.includes(shown)) && parsed.texts.includes(shown), 'with the token as text, in its titles, too');
  await at.getByLabel('Your own text, run in this page and sent nowhere').fill(`${MARKUP}</script><script>alert(2)</script>`);
  await at.getByRole('button', { name: 'Run', exact: true }).click();
  await at.locator('.tag', { hasText: 'your text' }).first().waitFor();
  const own = (await at.getByRole('radiogroup', { name: 'Token that reads' }).getByRole('radio').allInnerTexts()).join('');
  tap.ok(own.startsWith(SHOWN) || SHOWN.startsWith(own), `the visitor's markup is text: ${own}`);
  tap.none(await foreign(page), 'no element came of it');
  tap.none(faults, 'nothing ran, and the content policy had nothing to refuse');
  await context.close();
}

/** @param {import('playwright-core').Browser} browser @param {string} address @param {import('./tap.mjs').Tap} tap @param {string} whose @param {string} shown */
async function playground(browser, address, tap, whose, shown) {
  const context = await browser.newContext({ serviceWorkers: 'block', viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const faults = watch(page, address);
  await open(page, `${address}playground.html`);
  await page.getByRole('button', { name: /^Load the model/ }).click();
  await page.locator('.bars li').first().waitFor();
  await page.locator('.provchecks, .provline.bad').first().waitFor();
  await page.getByLabel('Your text', { exact: true }).fill(MARKUP);
  const chips = page.getByRole('radiogroup', { name: 'Token that reads' });
  await chips.getByRole('radio', { name: 'x', exact: true }).or(chips.getByRole('radio', { name: ')', exact: true })).first().waitFor();
  const read = (await chips.getByRole('radio').allInnerTexts()).join('');
  // The model reads the last tokens, as many as its window holds.
  tap.ok(read.length > 12 && SHOWN.endsWith(read), `${whose}: the playground reads markup as text: ${read}`);
  // At a high temperature everything is drawn, markup too.
  await page.getByRole('button', { name: 'Draw twenty' }).click();
  await page.getByText('tokens per second, measured here').or(page.getByText('The model drew the end')).waitFor();
  const said = await page.locator('.outp').innerText();
  tap.ok(said.startsWith(MARKUP), `and says more of it: ${said.slice(0, 60)}`);
  const bars = await page.locator('.bars .t').allInnerTexts();
  tap.ok(bars.length > 3, `next tokens: ${bars.slice(0, 6).join(' ')}`);
  if (shown === SHOWN) {
    await page.locator('details.provall').first().evaluate((e) => e.setAttribute('open', ''));
    tap.ok((await page.locator('.provall').innerText()).includes(MARKUP), 'the manifest\'s words are text');
  }
  tap.none(await foreign(page), 'no element came of it');
  tap.none(faults, 'nothing ran');
  await context.close();
}

await run(async (tap) => {
  const browser = await launch();
  const real = await serveByVitrine(folder);
  await lab(browser, real.address, tap, 'a corpus of markup', '><');
  await playground(browser, real.address, tap, 'a corpus of markup', '><');
  // A text as markup in the addresses of both.
  const context = await browser.newContext({ serviceWorkers: 'block' });
  const page = await context.newPage();
  const faults = watch(page, real.address);
  await open(page, `${real.address}attention.html#lab?src=model&text=${encodeURIComponent(MARKUP)}&%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E=1`);
  await page.locator('[data-island=lab] .prov').waitFor();
  tap.none([...await foreign(page), ...faults], 'an address that holds markup');
  const notThere = await page.goto(`${real.address}%3Cimg%20src=x%20onerror=alert(1)%3E`);
  tap.is([notThere?.status(), await foreign(page)], [404, []], 'so does a page that is not there');
  await context.close();
  await real.close();

  const copy = mkdtempSync(join(tmpdir(), 'vitrine-hostile-'));
  try {
    cpSync(folder, copy, { recursive: true });
    oneToken(copy);
    const host = await serveFiles(copy);
    await lab(browser, host.address, tap, 'a token that is the whole element', SHOWN);
    await playground(browser, host.address, tap, 'a token that is the whole element', SHOWN);
    await host.close();
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }

  // The checks themselves: an element that came of markup, and what it runs, are seen.
  const server = await serveFiles(folder);
  const plain = await browser.newContext({ serviceWorkers: 'block' });
  const victim = await plain.newPage();
  const seen = watch(victim, server.address);
  await open(victim, `${server.address}404.html`);
  await victim.evaluate((markup) => { document.body.insertAdjacentHTML('beforeend', markup.replace('x', 'data:,')); }, MARKUP);
  const refused = await comes(() => seen.some((f) => /Content Security Policy|inline/i.test(f)));
  tap.ok((await foreign(victim)).length === 1 && refused, 'a planted element and its handler are seen', seen);
  await server.close();
  await browser.close();
});
