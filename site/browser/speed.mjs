/* speed.mjs -- how fast the live pages are, in Chromium: a step of the lab, a token of the playground.
 *
 * usage: node site/browser/speed.mjs SITE [--quick] [--json] [--require]
 *
 *   SITE       a folder with both models, as `vitrine site` writes it (./run: build/www)
 *   --quick    fewer of each: that it can be measured, not how fast it is
 *   --json     one JSON object, its cases with the fields that `vitrine bench --json` gives them
 *   --require  exit status 1 where a target is missed
 *
 * What is measured, as medians with quartiles; the machine should have nothing else to do:
 *   lab-step            from a key that chooses the next step to its numbers in the page: script, style and layout
 *   lab-step-picture    the same key, by the browser's own count (Event Timing), to the picture: it waits for the
 *                       screen's next one, and comes in steps of 8 ms, from 16 on; so it has no target
 *   playground          a token drawn while the window has room, so that the cache serves; the worker's time, with
 *                       the list of candidates, sent to the page
 *   playground-full     a token behind a full window: each reads the whole window again, as `vitrine generate` does
 *
 * Exit status: 0 measured, 1 missed, 2 usage, 3 no site with models, 4 no Chromium or no server.
 */
import { existsSync, readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { launch, open } from './browser.mjs';
import { serveByVitrine } from './servers.mjs';

/** @typedef {import('playwright-core').Page} Page */

const words = process.argv.slice(2), [folder, ...more] = words.filter((word) => !word.startsWith('--'));
const unknown = words.find((word) => word.startsWith('--') && !['--quick', '--json', '--require'].includes(word));
const end = (/** @type {number} */ status, /** @type {string} */ line) => { console.error(`speed.mjs: ${line}`); process.exit(status); };
if (unknown !== undefined) end(2, `no option ${unknown}; expected --quick, --json or --require`);
if (folder === undefined || more.length > 0) end(2, `${more.length + (folder === undefined ? 0 : 1)} folders; expected one, a site with models: node site/browser/speed.mjs SITE`);
const site = /** @type {string} */ (folder), file = join(site, 'data/playground/manifest.json');
if (!existsSync(join(site, 'attention.html'))) end(3, `${join(site, 'attention.html')}: not there; expected a site, as vitrine site writes it`);
if (!existsSync(file)) end(3, `${file}: not there; expected a site with a model for its playground (vitrine site --playground)`);
const quick = words.includes('--quick');

/** Seconds of each step, to its numbers and to its picture. @param {Page} page @param {string} address */
async function labSteps(page, address) {
  await open(page, `${address}attention.html#lab?step=scores`);
  await page.evaluate(() => {
    const lab = /** @type {Element} */ (document.querySelector('[data-island=lab]'));
    const told = Object.assign(globalThis, { began: 0, laidOut: 0, pictures: /** @type {number[]} */ ([]) });
    addEventListener('keydown', () => { told.began = performance.now(); }, true);
    // After each change the page is laid out at once: what the browser would do before its next picture.
    new MutationObserver(() => { lab.getBoundingClientRect(); told.laidOut = performance.now(); }).observe(lab, { subtree: true, childList: true, attributes: true, characterData: true });
    new PerformanceObserver((list) => { for (const e of list.getEntries()) if (e.name === 'keydown') told.pictures.push(e.duration / 1000); }).observe(/** @type {any} */ ({ type: 'event', durationThreshold: 16 }));
  });
  const name = () => page.locator('[data-island=lab] .figwrap [role=grid]').first().getAttribute('aria-label');
  await page.locator('[data-island=lab] .figwrap [tabindex="0"]').first().focus();
  const seconds = [];
  // There and back: the first round is not counted, in which the scripts are compiled.
  for (let round = 0; round < (quick ? 2 : 6); round++) for (const key of ['PageDown', 'PageUp']) for (let step = 0; step < (quick ? 3 : 13); step++) {
    const before = await name();
    await page.evaluate(() => { /** @type {any} */ (globalThis).laidOut = 0; });
    await page.keyboard.press(key);
    const took = await page.evaluate(() => new Promise((done) => {
      const told = /** @type {any} */ (globalThis);
      requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done((told.laidOut - told.began) / 1000))));
    }));
    if (await name() === before) throw new Error(`the lab: ${key} at "${before}" chose no other step`);
    if (round > 0) seconds.push(Number(took));
    else await page.evaluate(() => { /** @type {any} */ (globalThis).pictures.length = 0; });
  }
  const pictures = await page.evaluate(() => /** @type {number[]} */ (/** @type {any} */ (globalThis).pictures));
  // Below 16 ms the browser tells nothing: those are counted as 16.
  while (pictures.length < seconds.length) pictures.push(0.016);
  return { seconds, pictures };
}

/** Seconds of a token, in runs of twenty: with room in the window, and behind a full one. @param {Page} page @param {string} address @param {number} window */
async function tokens(page, address, window) {
  const draw = page.getByRole('button', { name: 'Draw twenty' });
  /** @type {number[]} */
  const room = [];
  /** @type {number[]} */
  const full = [];
  for (let seed = 1; seed <= (quick ? 1 : 40) || room.length === 0 || full.length === 0; seed++) {
    if (room.length >= (quick ? 1 : 20) && full.length >= (quick ? 1 : 20)) break;
    if (seed > 200) throw new Error('the playground: 200 texts, each ended before its window was full');
    await page.goto('about:blank');
    await open(page, `${address}playground.html#play?text=It&t=1&k=0&p=1&seed=${seed}`);
    await page.locator('.pnext .br').first().waitFor();
    const prompt = await page.locator('.chip').count();
    for (let drawn = 0; drawn < window + 60; drawn += 20) {
      await draw.click();
      await page.waitForFunction((n) => document.querySelectorAll('.outp .gt').length === n || document.querySelector('.eot'), drawn + 20);
      await page.locator('.outp[aria-busy=false]').waitFor();
      const rate = /: ([\d.,]+) tokens per second, measured here/.exec(await page.locator('.smp > [role=status]').innerText())?.[1];
      if (rate === undefined) break;
      const seconds = 1 / Number(rate.replaceAll(',', ''));
      // The first twenty of the first text compile the module.
      if (prompt + drawn + 20 <= window && (quick || seed > 1 || drawn > 0)) room.push(seconds);
      if (prompt + drawn >= window) full.push(seconds);
    }
  }
  return { room, full };
}

const quantile = (/** @type {readonly number[]} */ sorted, /** @type {number} */ q) => {
  const at = q * (sorted.length - 1), below = /** @type {number} */ (sorted[Math.floor(at)]);
  return below + (at % 1) * (/** @type {number} */ (sorted[Math.ceil(at)]) - below);
};

/** @param {string} name @param {string} what @param {number[]} taken @param {string} unit @param {{ target: number, target_of: 'seconds' | 'rate' } | null} aim */
function row(name, what, taken, unit, aim) {
  const sorted = [...taken].sort((a, b) => a - b);
  const [low, seconds, high] = /** @type {[number, number, number]} */ ([0.25, 0.5, 0.75].map((q) => quantile(sorted, q)));
  const rate = 1 / seconds;
  const met = aim === null ? null : aim.target_of === 'rate' ? rate >= aim.target : seconds <= aim.target;
  return { name, group: 'browser', what, verdict: 'measured', samples: taken.length, seconds, low, high, spread: (high - low) / seconds, rate, unit, per_call: 1, target: aim?.target ?? null, target_of: aim?.target_of ?? null, met };
}

const began = Date.now(), load = /** @type {number} */ (loadavg()[0]);
const model = JSON.parse(readFileSync(file, 'utf8'));
const window = Math.min(model.model.context, model.settings?.seq ?? model.model.context);
/** @type {import('./servers.mjs').Server | undefined} */
let server;
try {
  server = await serveByVitrine(site);
  const browser = await launch();
  const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 }, serviceWorkers: 'block' })).newPage();
  const steps = await labSteps(page, server.address);
  const drawn = await tokens(page, server.address, window);
  const chromium = browser.version();
  await browser.close();
  await server.close();
  const cases = [
    row('lab-step', 'a key to the next step\'s numbers: script, style, layout', steps.seconds, 'steps/s', { target: 0.016, target_of: 'seconds' }),
    row('lab-step-picture', 'a key to the picture, in steps of 8 ms, from 16 on', steps.pictures, 'steps/s', null),
    row('playground', 'a token, the window has room: with the cache', drawn.room, 'tokens/s', { target: 200, target_of: 'rate' }),
    row('playground-full', 'a token behind a full window: it is read again', drawn.full, 'tokens/s', null),
  ];
  const missed = cases.filter((c) => c.met === false);
  const about = { parameters: model.model.parameters, layers: model.model.layers, channels: model.model.channels, window };
  if (words.includes('--json')) {
    console.log(JSON.stringify({ version: model.vitrine?.version ?? null, chromium, date: new Date(began).toISOString(), quick, machine: { cpu: cpus()[0]?.model ?? '', cores: cpus().length, load_before: load, load_after: loadavg()[0] },
      model: about, cases, targets: cases.filter((c) => c.target !== null).length, missed: missed.length, seconds: (Date.now() - began) / 1000 }));
  } else {
    console.log(`Chromium ${chromium}, ${cpus()[0]?.model}, ${cpus().length} cores, load ${load.toFixed(2)}`);
    console.log(`the playground's model: ${about.parameters} parameters, ${about.layers} layers, width ${about.channels}, window ${window}\n`);
    console.log(`${'case'.padEnd(17)}${'median'.padStart(10)}${'quartiles'.padStart(20)}${'rate'.padStart(18)}${'samples'.padStart(9)}  target`);
    const ms = (/** @type {number} */ s) => (1000 * s).toPrecision(3);
    for (const c of cases) {
      const aim = c.target === null ? '' : `${c.target_of === 'rate' ? `>= ${c.target} ${c.unit}` : `<= ${ms(c.target)} ms`}: ${c.met ? 'met' : 'missed'}`;
      console.log(`${c.name.padEnd(17)}${`${ms(c.seconds)} ms`.padStart(10)}${`${ms(c.low)} .. ${ms(c.high)} ms`.padStart(20)}${`${c.rate.toPrecision(3)} ${c.unit}`.padStart(18)}${String(c.samples).padStart(9)}  ${aim}`);
    }
    console.log(`\n${cases.map((c) => `${c.name}: ${c.what}`).join('\n')}`);
  }
  if (words.includes('--require') && missed.length > 0) end(1, `missed: ${missed.map((c) => c.name).join(', ')}`);
  process.exit(0);
} catch (error) {
  await server?.close();
  end(4, error instanceof Error ? /** @type {string} */ (error.message.split('\n')[0]) : String(error));
}
