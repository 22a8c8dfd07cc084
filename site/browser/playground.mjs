/* playground.mjs -- the playground, provenance and curves of a run, in Chromium.
 *
 * usage: node site/browser/playground.mjs SITE
 *
 * SITE is a folder with both models, as `vitrine site` writes it.  What the page draws is compared
 * with `vitrine generate`; one wrong byte in each file is planted; foreign and hostile files are loaded.
 * Speaks TAP.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { axe, launch, open, watch } from './browser.mjs';
import { config, MARKUP, tokenizer, weights } from './foreign.mjs';
import { unlabelled } from './labels.mjs';
import { root, serveByVitrine } from './servers.mjs';
import { run } from './tap.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('./tap.mjs').Tap} Tap */

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node site/browser/playground.mjs SITE');
  process.exit(2);
}
const command = process.env['VITRINE'] ?? join(root, 'build/vitrine');
const data = join(folder, 'data/playground');
const work = mkdtempSync(join(tmpdir(), 'vitrine-playground-'));

const sha256 = (/** @type {Uint8Array | string} */ bytes) => createHash('sha256').update(bytes).digest('hex');
const manifest = JSON.parse(readFileSync(join(data, 'manifest.json'), 'utf8'));
const visible = (/** @type {string} */ text) => text.replace(/\s+/g, ' ').trim();

/** Without an offline worker, so that a file can be spoilt on its way. @param {Browser} browser @param {object} [more] */
const fresh = async (browser, more = {}) => (await browser.newContext({ serviceWorkers: 'block', viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...more })).newPage();
/** The model is there and the text was read. @param {Page} page */
const ready = (page) => page.locator('.pnext .br').first().waitFor();
/** @param {Page} page */
const drawn = async (page) => (await page.locator('.outp .gt').allTextContents()).join('');
/** No more is being drawn. @param {Page} page @param {number} [count] spans that there must be */
const still = async (page, count) => {
  if (count !== undefined) await page.waitForFunction((n) => document.querySelectorAll('.outp .gt').length === n || document.querySelector('.eot'), count);
  await page.locator('.outp[aria-busy=false]').waitFor();
};
/** @param {Page} page @param {string} name */
const put = async (page, name) => page.locator(`.sl:has-text("${name}") input`);

/** @param {Tap} tap @param {Browser} browser @param {string} address */
async function onDemand(tap, browser, address) {
  const page = await fresh(browser), seen = watch(page, address);
  /** @type {string[]} */
  const asked = [];
  page.on('request', (r) => asked.push(new URL(r.url()).pathname));
  await open(page, `${address}playground.html`);
  const button = page.getByRole('button', { name: /^Load the model \(\d+\.\d MB\)$/ });
  await button.waitFor();
  tap.none(asked.filter((path) => path.endsWith('.safetensors')), 'no weights are loaded before the button is pressed, which says their size');
  await button.focus();
  await page.keyboard.press('Enter');
  await ready(page);
  await page.locator('.provchecks').waitFor();
  tap.none(asked.filter((path) => /window\.safetensors|metrics\.jsonl/.test(path)), 'nor those that the model does not need');
  tap.is(await page.locator('.provfiles tbody td:last-child').allTextContents(), ['manifest.json', 'model.safetensors', 'tokenizer.json', 'config.json', 'vitrine.wasm'].map(() => 'match'), 'five files match');
  tap.is(await page.locator('.provfiles tbody tr:has-text("model.safetensors") code').allTextContents(), [sha256(readFileSync(join(data, 'model.safetensors')))], 'the hash that is shown is the file\'s');
  const bits = await page.locator('.prov h4 + dl code').allTextContents();
  tap.is(bits, [manifest.tensors.sha256, manifest.tensors.sha256], 'the page computes the native program\'s bits: both hashes');
  tap.is(await page.locator('.provchecks tbody td.bad').count(), 0, 'each check gives the native program\'s figure');
  tap.is(visible(await page.locator('#placard-checkpoint').innerText()), `sha256 ${manifest.files['model.safetensors'].sha256.slice(0, 12)}, verified in this page`, 'the placard says so');
  tap.is(await page.locator('.chip').count(), manifest.tokens.length, 'the window of the export, a chip a token');
  await page.locator('.provall summary').click();
  const fields = await page.locator('.provall th').allTextContents();
  tap.none(Object.keys(manifest).filter((key) => !fields.some((f) => f === key || f.startsWith(`${key} `))), 'every field of manifest.json is there');
  for (const theme of /** @type {const} */ (['light', 'dark'])) {
    await page.emulateMedia({ colorScheme: theme });
    tap.none(await axe(page), `axe finds nothing, ${theme}`);
  }
  const { faults: bare, numbers } = await page.evaluate(unlabelled);
  tap.none(bare, 'every number has its source');
  tap.ok(numbers > 50, `${numbers} numbers were looked at`);
  tap.none(seen, 'no error, no other host');
  await page.context().close();
}

/** @param {Tap} tap @param {Browser} browser @param {string} address */
async function keyboardAndSliders(tap, browser, address) {
  const page = await fresh(browser), seen = watch(page, address);
  await open(page, `${address}playground.html#play`);
  await ready(page);
  const title = () => page.locator('.one h3').innerText();
  await page.locator('.multi [tabindex="0"]').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  tap.is(await title(), 'Layer 1, head 1', 'arrows choose layer and head');
  const map = page.getByRole('grid', { name: /^Attention weights/ });
  await map.focus();
  await page.keyboard.press('Control+Home');
  const tokens = (await page.locator('.chip').allInnerTexts()).map((t) => t.trim());
  tap.is(visible(await page.locator('.one .full').innerText()), `${tokens[0]} reads ${tokens[0]}: 1.000000`, 'the first token reads itself alone');
  await page.keyboard.press('End');
  tap.ok(/may not read .*: masked, exactly 0$/.test(await page.locator('.one .full').innerText()), 'masked is said');
  tap.ok(/masked, exactly 0$/.test(await page.locator('#bigcell').getAttribute('aria-label') ?? ''), 'also to readers of the screen');
  await page.locator('.chip[tabindex="0"]').focus();
  await page.keyboard.press('End');
  const rows = (await page.locator('.reads .v').allTextContents()).map((t) => Number.parseFloat(t));
  tap.ok(rows.length > 1 && rows.every((x, k) => k === 0 || x <= /** @type {number} */ (rows[k - 1])), 'what the token reads most, in order');

  const [k, p, t] = [await put(page, 'Top-k'), await put(page, 'Top-p'), await put(page, 'Temperature')];
  const kept = () => page.locator('.dist .push').innerText();
  const V = manifest.model.vocabulary;
  await p.focus();
  await page.keyboard.press('End');
  await k.focus();
  await page.keyboard.press('Home');
  await page.waitForFunction((n) => document.querySelector('.dist .push')?.textContent === `${n} of ${n} kept`, V);
  tap.is(await kept(), `${V} of ${V} kept`, 'top-k and top-p off: every token is kept');
  tap.is(await page.locator('.dist .hat:not(.k2)').count(), 0, 'and none is hatched');
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => /^1 of/.test(document.querySelector('.dist .push')?.textContent ?? ''));
  tap.is((await page.locator('.dist .v').allInnerTexts()).map((v) => v.split('\n').pop()?.trim()), ['100.0 %', ...Array(11).fill('top-k')], 'top-k 1: the first has all, the others are cut, and named');
  tap.is(await page.locator('.dist .hat:not(.k2)').count(), 11, 'hatched');
  await k.focus();
  await page.keyboard.press('Home');
  await p.focus();
  await page.keyboard.press('Home');
  await page.waitForFunction(() => /^1 of/.test(document.querySelector('.dist .push')?.textContent ?? '') && /top-p/.test(document.querySelector('.dist')?.textContent ?? ''));
  tap.is(await page.locator('.dist .br.cut').count(), 11, 'top-p 0: one token is kept, the others are cut by top-p');
  await page.keyboard.press('End');
  await page.waitForFunction((n) => document.querySelector('.dist .push')?.textContent === `${n} of ${n} kept`, V);
  await t.focus();
  await page.keyboard.press('Home');
  await page.waitForFunction(() => /^1 of/.test(document.querySelector('.dist .push')?.textContent ?? ''));
  tap.is(await kept(), `1 of ${V} kept`, 'temperature 0: the most probable alone');
  tap.none(seen, 'no error');
  await page.context().close();
}

/** A slow model, on any machine: fifty tokens at 20 ms, then one a second, so that a thousand are not drawn before the test has looked. Each waits where the worker lets messages in. @param {Page} page */
const slowly = (page) => page.route(/\/worker-[^/]*\.js$/, async (route) => {
  const answer = await route.fetch();
  const pace = `{ let drawn = 0; const post = MessagePort.prototype.postMessage, clock = new Int32Array(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer);
MessagePort.prototype.postMessage = function (message) { Atomics.wait(clock, 0, 0, drawn++ < 50 ? 20 : 1000); post.call(this, message); }; }\n`;
  await route.fulfill({ response: answer, body: pace + await answer.text() });
});

/** @param {Tap} tap @param {Browser} browser @param {string} address */
async function drawing(tap, browser, address) {
  const page = await fresh(browser), seen = watch(page, address);
  const text = 'It was a truth that she had', asked = `#play?text=${encodeURIComponent(text)}&t=0.9&k=30&p=0.9&seed=7`;
  await open(page, `${address}playground.html${asked}`);
  await ready(page);
  await page.getByRole('button', { name: 'Draw twenty' }).click();
  await still(page, 20);
  const page20 = await drawn(page);
  await page.waitForURL(/&drawn=20$/);
  tap.ok(true, 'the address says how many were drawn');
  const again = await fresh(browser);
  await open(again, page.url());
  await ready(again);
  await still(again, 20);
  tap.is(await drawn(again), page20, 'and restores them');
  tap.is(await again.locator('#play-text').inputValue(), text, 'with the text');
  await again.context().close();

  await page.getByRole('button', { name: 'Start over' }).click();
  await page.waitForFunction(() => document.querySelectorAll('.outp .gt').length === 0);
  await page.getByRole('button', { name: 'Draw one' }).click();
  await still(page, 1);
  tap.ok(page20.startsWith(await drawn(page)), 'start over: the first draw is the same again');
  await page.locator('.seed input').fill('8');
  await page.locator('.seed input').press('Enter');
  await page.locator('.smp [role=status]:has-text("Settings changed")').waitFor();
  await page.waitForURL((url) => url.hash.includes('seed=8') && !url.hash.includes('drawn'));
  tap.ok(true, 'a changed seed is said, and the address asks for no draws that it cannot repeat');

  const slow = await fresh(browser), seenSlow = watch(slow, address);
  await slowly(slow);
  await slow.addInitScript(() => {
    const states = new Set();
    Object.assign(globalThis, { states });
    new MutationObserver(() => states.add(document.querySelectorAll('.outp .gt').length)).observe(document, { childList: true, subtree: true });
  });
  await slow.goto(`${address}playground.html#play?text=${encodeURIComponent(text)}&drawn=1000`);
  await slow.waitForFunction(() => /** @type {any} */ (globalThis).states.size >= 4);
  tap.ok(await slow.locator('.outp[aria-busy=true]').count() === 1, 'text comes as it is drawn: more and more of it stands there while the model draws on');
  await slow.getByRole('button', { name: 'Stop' }).click();
  await still(slow);
  const stopped = await slow.locator('.outp .gt').count();
  tap.ok(stopped > 0 && (stopped < 1000), `Stop ends a run of draws: ${stopped} of 1000`);

  tap.none(seenSlow, 'no error on the way');
  await slow.context().close();

  const long = 'She was not at all sorry to see him go. '.repeat(2000);
  await page.locator('#play-text').fill(long);
  await page.locator('.pwindow').waitFor();
  const T = Math.min(manifest.model.context, manifest.settings?.seq ?? manifest.model.context);
  tap.ok((await page.locator('.pwindow').innerText()).includes(`reads the last ${T} of them`), 'a text of 80,000 characters: the window is named');
  await page.waitForFunction((n) => document.querySelectorAll('.chip').length === n, T);
  tap.show(`a window of ${T} tokens, ${manifest.model.layers} layers, width ${manifest.model.channels}: ${(await page.locator('.pin .under .cap').innerText()).split('; ')[1]} in Chromium`);
  await page.locator('#play-text').fill('');
  await page.locator('.pg > [role=alert]').waitFor();
  tap.ok(/no tokens/.test(await page.locator('.pg > [role=alert]').innerText()), 'an empty text is said to be one');
  await page.locator('#play-text').fill(text);
  await ready(page);
  await page.getByRole('button', { name: 'Draw twenty' }).click();
  await still(page, 20);
  const words = await page.locator('.smp > [role=status]').innerText();
  tap.show(`drawing with the list of candidates, in Chromium: ${words}`);
  tap.none(seen, 'no error');
  await page.context().close();
}

/** @param {Tap} tap @param {Browser} browser @param {string} address */
async function addresses(tap, browser, address) {
  const page = await fresh(browser);
  await open(page, `${address}playground.html#play?layer=1&head=1&token=3&cell=3,1&t=1.5&k=7&p=0.5&seed=3&bad=%3Cimg%3E&text=one%20two%20three%20four%20five`);
  await ready(page);
  tap.is(await page.locator('.one h3').innerText(), 'Layer 1, head 1', 'the address restores layer and head');
  tap.ok(/^..*, ..*: 0\.\d{4}$/.test(await page.locator('#bigcell').getAttribute('aria-label') ?? ''), 'and the cell');
  tap.is([await page.locator('[role=row].bigrow').getAttribute('aria-rowindex'), await page.locator('#bigcell').getAttribute('aria-colindex')], ['4', '2'], 'where it stands');
  tap.is(await page.locator('.sl output').allTextContents(), ['1.50', '7', '0.50'], 'and the sliders');
  tap.is(await page.locator('.seed input').inputValue(), '3', 'and the seed');
  tap.ok((await page.locator('.pg > .note').innerText()).includes('bad=%3Cimg%3E'), 'what it does not understand is named, as text');
  await page.context().close();
}

/** @param {Tap} tap @param {Browser} browser @param {string} address */
async function ownFiles(tap, browser, address) {
  const page = await fresh(browser), seen = watch(page, address);
  const prompt = 'It was a truth that she had';
  await open(page, `${address}playground.html`);
  const box = page.locator('#own-files');
  const refused = () => page.locator('.pg > [role=alert]').innerText();
  const three = ['model.safetensors', 'tokenizer.json', 'config.json'].map((name) => join(data, name));
  /** @type {string[]} */
  const sent = [];
  page.on('request', (r) => { if (r.method() !== 'GET' || r.postData()) sent.push(r.url()); });

  await box.setInputFiles(/** @type {string} */ (three[0]));
  await page.locator('.pg > [role=alert]').waitFor();
  tap.ok(/tokenizer\.json is missing/.test(await refused()), 'weights alone: what is missing is named');
  await box.setInputFiles(three.slice(1));
  await ready(page);
  tap.ok((await page.locator('.tag').innerText()).includes('your own files'), 'with the others, it runs');
  tap.is(await page.locator('.provfiles tbody code').allTextContents(), three.map((f) => sha256(readFileSync(f))), 'their hashes are shown');
  tap.none(sent, 'nothing is sent');
  const own = await page.locator('.dist .v').allTextContents(), text = await page.locator('#play-text').inputValue();
  await page.evaluate((hash) => { location.hash = hash; }, `#play?text=${encodeURIComponent(prompt)}&t=0.9&k=30&p=0.9&seed=7`);
  await page.waitForFunction((words) => document.querySelector('.outp .pr')?.textContent === words, prompt);
  await page.waitForFunction(() => document.querySelector('.sl output')?.textContent === '0.90');
  await page.getByRole('button', { name: 'Draw twenty' }).click();
  await still(page, 20);
  const here = await drawn(page);
  await page.waitForURL(/&drawn=20$/);
  const native = execFileSync(command, ['generate', data, '--prompt', prompt, '--max-tokens', '20', '--temperature', '0.9', '--top-k', '30', '--top-p', '0.9', '--seed', '7', '--json'], { encoding: 'utf8' });
  tap.ok(here.length > 0 && native.includes(JSON.stringify(here).slice(1, -1)), 'the same text, settings and seed: what vitrine generate writes', [`page: ${here}`, `native: ${native}`]);

  const t = tokenizer(), sizes = { L: 2, C: 8, H: 2, T: 32, V: t.size };
  const file = (/** @type {string} */ name, /** @type {Buffer | string} */ content) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });
  const good = [file('model.safetensors', weights(sizes, t.id)), file('tokenizer.json', t.text), file('config.json', config(sizes))];
  const bad = /** @type {const} */ ([
    [[file('model.safetensors', weights(sizes, t.id).fill(0xff, 0, 8)), good[1], good[2]], /a header of \d+ bytes/],
    [[good[0], good[1], file('config.json', config({ ...sizes, H: 3 }))], /n_head: 3; expected a divisor of the model's width, 8/],
    [[good[0], file('tokenizer.json', `{"model":{"vocab":{${JSON.stringify(MARKUP)}:1e9},"merges":[]}}`), good[2]], /token "<img src=x onerror=alert\(1\)>" has id 1000000000/],
    [[file('notes.txt', 'x')], /notes\.txt: expected model\.safetensors/],
  ]);
  for (const [files, words] of bad) {
    await page.reload();
    await page.locator('html[data-awake]').waitFor({ state: 'attached' });
    await box.setInputFiles(/** @type {any} */ (files));
    await page.locator('.pg > [role=alert]').waitFor();
    const said = await refused();
    tap.ok(words.test(said), `refused: ${words.source}`, [said]);
  }
  await page.reload();
  await page.locator('html[data-awake]').waitFor({ state: 'attached' });
  await box.setInputFiles(/** @type {any} */ (good));
  await ready(page);
  await page.locator('#play-text').fill(MARKUP);
  await page.waitForFunction((n) => document.querySelectorAll('.chip').length === n, t.words);
  const chips = (await page.locator('.chip').allInnerTexts()).join('').replace(/\u00b7/g, ' ');
  tap.is(chips, MARKUP, 'markup in the text is text in the chips');
  const next = await page.locator('.dist .t').first().innerText();
  tap.is(next.replace(/\u00b7/g, ' '), MARKUP, 'a token that is markup is text in the list');
  await page.getByRole('button', { name: 'Draw one' }).click();
  await still(page, 1);
  tap.is(await drawn(page), MARKUP, 'and in what is drawn');
  tap.is(await page.locator('.case img, .case script, .case iframe').count(), 0, 'no element came of it');
  await page.reload();
  await page.locator('html[data-awake]').waitFor({ state: 'attached' });
  await box.setInputFiles(/** @type {any} */ (good.slice(0, 2)));
  await page.locator('.pg > [role=alert]').waitFor();
  tap.ok(/no tensor says how many heads/.test(await refused()), 'without config.json the heads are asked for');
  await page.locator('#own-heads').fill('2');
  await box.setInputFiles(/** @type {any} */ (good.slice(0, 2)));
  await ready(page);
  tap.ok(true, 'and taken from the field');
  tap.none(seen, 'no error, no dialog, no other host');

  const site = await fresh(browser);
  await open(site, `${address}playground.html#play?text=${encodeURIComponent(text)}`);
  await ready(site);
  tap.is(await site.locator('.dist .v').allTextContents(), own, 'the files of the site, as own files, give the site\'s numbers');
  await site.context().close();
  await page.context().close();
}

/** One wrong bit in the middle of a file. @param {Buffer} bytes @param {number} [at] */
function spoilt(bytes, at = Math.floor(bytes.length / 2)) {
  const copy = Buffer.from(bytes);
  copy[at] = /** @type {number} */ (copy[at]) ^ 1;
  return copy;
}

/** @param {Tap} tap @param {Browser} browser @param {string} address */
async function wrongBytes(tap, browser, address) {
  const files = ['manifest.json', 'manifest.sha256', 'model.safetensors', 'tokenizer.json', 'config.json', 'window.safetensors', 'metrics.jsonl', '../../vitrine.wasm'];
  // One tab for all: it keeps what it has compiled, and of a page that it left nothing.
  const page = await fresh(browser);
  /** Opens `where` with a file of `as` spoilt. @param {string} as @param {string} name @param {string} where @param {(page: Page) => Promise<void>} look */
  const spoil = async (as, name, where, look) => {
    await page.goto('about:blank');
    const path = new URL(`data/${as}/${name}`, address).pathname;
    const bytes = readFileSync(join(/** @type {string} */ (folder), 'data', as, name));
    // Of the module a byte of its data: it still runs, and is another all the same.
    const body = spoilt(bytes, name.endsWith('.wasm') ? bytes.lastIndexOf('%zu') : undefined);
    let used = 0;
    await page.route((url) => url.pathname === path, (route) => { used++; return route.fulfill({ body, contentType: name.endsWith('.wasm') ? 'application/wasm' : 'application/octet-stream' }); });
    await page.goto(address + where);
    await look(page);
    tap.ok(used > 0, `data/${as}/${name}: the page asked for it`);
    await page.unrouteAll();
  };
  for (const name of files) {
    await spoil('lab', name, 'attention.html#lab?src=model', async (page) => {
      const note = page.locator('#lab [role=alert]');
      await note.waitFor();
      const said = await note.innerText();
      tap.ok(/mismatch/i.test(said) && said.includes(name === 'manifest.sha256' ? 'manifest.json' : name), `lab, one wrong bit in ${name}: a mismatch is shown`, [said]);
      tap.is(await page.locator('#lab :is(.heads, .fig, .led, .prov)').count(), 0, `lab, ${name}: no number is drawn`);
    });
    if (name === 'window.safetensors' || name === 'metrics.jsonl') continue;
    await spoil('playground', name, 'playground.html#play', async (page) => {
      const note = page.locator('.pstart [role=alert]');
      await note.waitFor();
      const said = await page.locator('.pstart').innerText();
      tap.ok(said.includes('MISMATCH') && said.includes((name === 'manifest.sha256' ? 'manifest.json' : name).replace('../../', '')), `playground, one wrong bit in ${name}: a mismatch is shown`, [said]);
      tap.is(await page.locator(':is(.pmaps, .pnext, .chip)').count(), 0, `playground, ${name}: no number is drawn`);
    });
  }
  for (const as of ['playground', 'lab']) {
    await spoil(as, 'metrics.jsonl', 'training.html', async (page) => {
      await page.locator('html[data-awake]').waitFor({ state: 'attached' });
      await page.locator('#run').scrollIntoViewIfNeeded();
      if (as === 'lab') await page.getByRole('button', { name: 'of the attention lab' }).click();
      await page.locator('#run [role=alert]').waitFor();
      tap.ok(/metrics\.jsonl: the sha256 differs/.test(await page.locator('#run [role=alert]').innerText()), `training, one wrong bit in the log of ${as}: a mismatch is shown`);
      tap.is(await page.locator('#run :is(.runfigures, canvas)').count(), 0, `training, ${as}: no number is drawn`);
    });
  }
  await page.context().close();
}

/** A server with a run to follow. @param {string} runFolder @param {number} port */
async function serveRun(runFolder, port) {
  const child = spawn(command, ['serve', /** @type {string} */ (folder), '--run', runFolder, '--port', String(port), '--json'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const line = await new Promise((done, refuse) => { child.stdout.once('data', done); child.once('exit', (code) => refuse(new Error(`vitrine serve --run ended with ${code}`))); });
  return { ...JSON.parse(String(line)), close: () => new Promise((done) => { child.once('exit', done); child.kill('SIGTERM'); }) };
}

/** @param {Tap} tap @param {Browser} browser @param {string} address */
async function training(tap, browser, address) {
  const page = await fresh(browser), seen = watch(page, address);
  await open(page, `${address}training.html`);
  await page.locator('#run').scrollIntoViewIfNeeded();
  await page.locator('#run .curvebox canvas').nth(2).waitFor();
  const log = readFileSync(join(data, 'metrics.jsonl'), 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
  const last = log[log.length - 1];
  const figure = (/** @type {string} */ name) => page.locator(`#run .runfigures div:has(dt:text-is("${name}")) dd`).innerText();
  tap.is(await figure('Loss, last step'), last.loss.toFixed(3), 'the last loss of the log');
  tap.is(await figure('Lowest loss'), `${Math.min(...log.map((s) => s.loss)).toFixed(3)} step ${log.reduce((a, b) => (b.loss < a.loss ? b : a)).step}`, 'the lowest');
  tap.is(await figure('ln V, of a model that knows nothing'), Math.log(manifest.model.vocabulary).toFixed(3), 'ln V');
  await page.locator('#run .runpick input').focus();
  await page.keyboard.press('Home');
  tap.is(await page.locator('#run .runat dd').first().innerText(), log[0].loss.toFixed(4), 'by the keyboard, any step: the first');
  await page.locator('#run .runtable summary').click();
  tap.is(await page.locator('#run .runtable tbody tr:last-child :is(th, td)').first().innerText(), String(last.step), 'the table ends with the last step');
  const painted = await page.locator('#run .curvebox canvas').first().evaluate((c) => { const canvas = /** @type {HTMLCanvasElement} */ (c), d = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? []; let n = 0; for (let k = 3; k < d.length; k += 4) if (d[k]) n++; return n; });
  tap.ok(painted > 500, `a curve is painted: ${painted} pixels`);
  for (const theme of /** @type {const} */ (['light', 'dark'])) {
    await page.emulateMedia({ colorScheme: theme });
    tap.none(await axe(page), `training: axe finds nothing, ${theme}`);
  }
  const { faults: bare } = await page.evaluate(unlabelled);
  tap.none(bare, 'training: every number has its source');
  tap.none(seen, 'training: no error');
  await page.getByRole('button', { name: 'Follow a run in progress' }).click();
  await page.locator('#live:has-text("There is no run to follow here")').waitFor();
  tap.ok(true, 'where no run is served, that is said plainly');
  await page.context().close();

  const runFolder = join(work, 'run'), lines = readFileSync(join(data, 'metrics.jsonl'), 'utf8').trimEnd().split('\n').map((l) => `${l}\n`);
  mkdirSync(runFolder);
  for (const name of ['manifest.json']) if (existsSync(join(data, name))) copyFileSync(join(data, name), join(runFolder, name));
  writeFileSync(join(runFolder, 'metrics.jsonl'), lines.slice(0, 10).join(''));
  let server = await serveRun(runFolder, 0);
  const live = await fresh(browser);
  await live.goto(`${server.address}training.html#live`);
  const status = (/** @type {number} */ step) => live.locator('#live [role=status]').filter({ hasText: new RegExp(`step ${step}( of|$)`) }).waitFor();
  await status(JSON.parse(/** @type {string} */ (lines[9])).step);
  appendFileSync(join(runFolder, 'metrics.jsonl'), lines.slice(10, 20).join(''));
  await status(JSON.parse(/** @type {string} */ (lines[19])).step);
  tap.ok(true, 'a run in progress: later steps come by themselves');
  await server.close();
  await live.locator('#live [role=status]:has-text("The connection is lost")').waitFor();
  appendFileSync(join(runFolder, 'metrics.jsonl'), lines.slice(20, 30).join(''));
  server = await serveRun(runFolder, server.port);
  await status(JSON.parse(/** @type {string} */ (lines[29])).step);
  tap.is(await live.locator('#live .runpick input').getAttribute('max'), '29', 'the server goes and comes: followed again, each step once');
  writeFileSync(join(runFolder, 'metrics.jsonl'), lines.slice(0, 3).join(''));
  await status(JSON.parse(/** @type {string} */ (lines[2])).step);
  tap.is(await live.locator('#live .runpick input').getAttribute('max'), '2', 'the log begins anew: so do the curves');
  await live.context().close();
  await server.close();
}

/** speed.mjs says what it measured, of what kind each figure is, and what is wrong with its words. @param {Tap} tap */
async function speed(tap) {
  const measure = (/** @type {string[]} */ ...args) => spawnSync(process.execPath, [join(root, 'site/browser/speed.mjs'), ...args], { encoding: 'utf8' });
  const { status, stdout, stderr } = measure(/** @type {string} */ (folder), '--quick', '--json');
  tap.is([status, stderr], [0, ''], 'speed.mjs measures');
  const told = JSON.parse(stdout || '{"cases":[]}');
  tap.is(told.cases.map((/** @type {any} */ c) => [c.name, c.unit, c.target, c.target_of]), [['lab-step', 'steps/s', 0.016, 'seconds'], ['lab-step-picture', 'steps/s', null, null], ['playground', 'tokens/s', 200, 'rate'], ['playground-full', 'tokens/s', null, null]], 'four cases, two with a target');
  tap.none(told.cases.flatMap((/** @type {any} */ c) => {
    const whole = c.samples >= 1 && c.low > 0 && c.low <= c.seconds && c.seconds <= c.high && Math.abs(c.rate * c.seconds - 1) < 1e-9;
    const met = c.target === null ? null : c.target_of === 'rate' ? c.rate >= c.target : c.seconds <= c.target;
    return whole && c.met === met ? [] : [JSON.stringify(c)];
  }), 'each with its quartiles around the median, and met where it is');
  tap.is(told.missed, told.cases.filter((/** @type {any} */ c) => c.met === false).length, 'as many missed as are');
  tap.is(told.model?.parameters, manifest.model.parameters, 'and whose tokens they are');
  for (const [args, expected, line] of /** @type {const} */ ([[[], 2, /expected one, a site with models/], [['--fast', String(folder)], 2, /no option --fast/], [[join(root, 'build/site')], 3, /manifest\.json: not there/]])) {
    const wrong = measure(...args);
    tap.ok(wrong.status === expected && line.test(wrong.stderr) && /^[^\n]+\n$/.test(wrong.stderr) && wrong.stdout === '', `refused: ${line.source}`, [wrong.stderr]);
  }
}

await run(async (tap) => {
  const server = await serveByVitrine(folder);
  const browser = await launch();
  try {
    for (const test of [onDemand, keyboardAndSliders, drawing, addresses, ownFiles, wrongBytes, training, speed]) {
      const before = Date.now();
      await test(tap, browser, server.address).catch((error) => tap.ok(false, `${test.name} ran to its end`, [error instanceof Error ? (error.stack ?? error.message) : String(error)]));
      console.log(`# ${test.name}: ${((Date.now() - before) / 1000).toFixed(1)} s`);
    }
  } finally {
    await browser.close();
    await server.close();
    rmSync(work, { recursive: true, force: true });
  }
});
