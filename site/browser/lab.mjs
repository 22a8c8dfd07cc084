/* lab.mjs -- the attention lab in Chromium: its numbers against the golden file, with scripts and without;
 * by keyboard alone from a cold load; what is edited, against arithmetic of its own; a trained model's numbers
 * against the file that they were exported to.
 *
 * usage: node site/browser/lab.mjs SITE
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { attention } from './attention.mjs';
import { launch, open, watch } from './browser.mjs';
import { read, shows } from './digits.mjs';
import { at, golden, sizes, tokens } from './golden.mjs';
import { Keyboard } from './keyboard.mjs';
import { unlabelled } from './labels.mjs';
import { tensorsIn } from './safetensors.mjs';
import { serveByVitrine } from './servers.mjs';
import { run } from './tap.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./tap.mjs').Tap} Tap */
/** @typedef {{ tensor: string, index: string, text: string }} Cell */

const folder = process.argv[2];
if (folder === undefined) {
  console.error('usage: node site/browser/lab.mjs SITE');
  process.exit(2);
}

/** Step, what it shows of the lab, and the golden tensor. */
const STEPS = ['scores', 'scaled', 'masked', 'softmax', 'values', 'output', 'dOut', 'dO', 'dV', 'dA', 'dS', 'dQ', 'dK', 'dX'];
/** @type {Readonly<Record<string, string>>} */
const TENSORS = { softmax: 'A', values: 'O', output: 'out', dX: 'dXn' };
const PER_HEAD = new Set(['scores', 'scaled', 'masked', 'A', 'dA', 'dS']);

/** Cells of the example's tensors: of the lab, and of each concept that shows them. @param {Page} page @param {string} within @returns {Promise<Cell[]>} */
const cellsOf = (page, within) => page.evaluate((selector) => [...document.querySelectorAll(selector)].flatMap((root) => [...root.querySelectorAll('[data-t][data-i]')])
  .map((e) => ({ tensor: e.getAttribute('data-t') ?? '', index: e.getAttribute('data-i') ?? '', text: e instanceof HTMLInputElement ? e.value : e.textContent ?? '' })), within);

/** What differs from the golden file. @param {readonly Cell[]} cells */
function differing(cells) {
  return cells.flatMap(({ tensor, index, text }) => {
    const expected = at(tensor, index);
    if (expected === undefined) return [`${tensor}[${index}]: the golden file has no such number`];
    // Masked weights are zero, not nearly.
    const exact = tensor === 'A' && expected === 0;
    return shows(text, expected) && (!exact || text === '0') ? [] : [`${tensor}[${index}] shows ${text}, the golden file has ${expected}`];
  });
}

const ISLANDS = '[data-island=lab], [data-island=example][data-props*=\'"use":"attention"\']';

/** @param {import('playwright-core').Browser} browser @param {string} address @param {Tap} tap */
async function asSent(browser, address, tap) {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const faults = watch(page, address);
  await page.goto(`${address}attention.html`, { waitUntil: 'load' });
  const cells = await cellsOf(page, ISLANDS);
  tap.none(differing(cells), `without scripts: ${cells.length} cells show the golden file's numbers`);
  const seen = new Set(cells.map((c) => c.tensor));
  tap.none(['Q', 'scores', 'scaled', 'masked', 'A', 'O', 'out'].filter((t) => !seen.has(t)), 'every step of the way forward is among them');
  tap.ok(differing([{ tensor: 'A', index: '0,1,0', text: '0.848' }, { tensor: 'A', index: '0,0,1', text: '3e\u221218' }, { tensor: 'A', index: '0,9,9', text: '0' }]).length === 3,
    'a number changed in its last digit, a masked weight that is not zero, and a cell that is not there are seen');
  const words = await page.evaluate(() => document.querySelector('main')?.innerText ?? '');
  tap.ok(words.length > 20_000 && (await page.locator('math').count()) > 100, 'text and equations are there without scripts');
  tap.none(faults, 'and nothing goes wrong');
  await context.close();
}

/** Every step, both heads. @param {Page} page @param {Tap} tap */
async function everyStep(page, tap) {
  const lab = page.locator('[data-island=lab]');
  /** @param {string} tensor @param {number} head */
  const wanted = (tensor, head) => {
    const hs = sizes.d / sizes.H;
    const columns = PER_HEAD.has(tensor) ? sizes.T : ['out', 'dOut', 'dXn'].includes(tensor) ? sizes.d : hs;
    return new Set(Array.from({ length: sizes.T * columns }, (_, k) => {
      const [r, c] = [Math.floor(k / columns), k % columns];
      return PER_HEAD.has(tensor) ? `${head},${r},${c}` : `${r},${columns === hs ? head * hs + c : c}`;
    }));
  };
  let count = 0;
  /** @type {string[]} */
  const faults = [];
  for (const head of Array.from({ length: sizes.H }, (_, h) => h)) {
    for (const [step, tensor] of [['project', 'Q'], ['project', 'K'], ['project', 'V'], ...STEPS.map((s) => [s, TENSORS[s] ?? s])]) {
      await goTo(page, `step=${step === 'project' ? `project:${tensor}` : step}&head=${head}`, tensor ?? '');
      const cells = await cellsOf(page, '[data-island=lab] .figwrap');
      const places = wanted(tensor ?? '', head);
      const missing = [...places].filter((p) => !cells.some((c) => c.index === p && c.tensor === tensor));
      faults.push(...differing(cells).map((f) => `head ${head}, ${step}: ${f}`), ...missing.map((p) => `head ${head}, ${step}: ${tensor}[${p}] is not shown`));
      // The chosen cell in full: all of its digits.
      const [cell] = await cellsOf(page, '[data-island=lab] .cellbox');
      const full = cell && read(cell.text);
      const expected = cell && at(cell.tensor, cell.index);
      if (!full || expected === undefined || !(Math.abs(full.value - expected) <= 1e-15 || full.value === expected)) faults.push(`head ${head}, ${step}: in full ${cell?.tensor}[${cell?.index}] = ${cell?.text}, expected ${expected}`);
      count += cells.length;
    }
  }
  tap.none(faults, `every step, both heads: ${count} cells show the golden file's numbers; in full to 1e-15`);
  await goTo(page, 'step=dS&head=1&view=table', null);
  const table = await lab.locator('.figwrap table tbody tr').evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('td')].map((td) => (td.querySelector('.hat')?.firstChild ?? td).textContent ?? '')));
  tap.none(differing(table.flatMap((row, r) => row.map((text, c) => ({ tensor: 'dS', index: `1,${r},${c}`, text })))), `so does the table: ${table.flat().length} numbers`);
}

/** Another view, by its address. @param {Page} page @param {string} view @param {string | null} tensor what the map then shows; null: the table */
async function goTo(page, view, tensor) {
  await page.evaluate((hash) => { location.hash = hash; }, `#lab?${view}`);
  const shown = tensor === null ? '.figwrap table' : `.figwrap [data-t="${tensor}"]`;
  await page.locator(`[data-island=lab] ${shown}`).first().waitFor();
  // What stood there before and is another head's now is drawn within the event of the changed address, which comes before the next picture.
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 0)); }));
}

/** Keyboard alone, from a cold load. @param {import('playwright-core').Browser} browser @param {string} address @param {Tap} tap */
async function walk(browser, address, tap) {
  const context = await browser.newContext({ serviceWorkers: 'block', viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', permissions: ['clipboard-read', 'clipboard-write'] });
  const page = await context.newPage();
  const faults = watch(page, address);
  await open(page, `${address}attention.html`);
  const keys = new Keyboard(page);
  await keys.press('Tab');
  tap.is((await keys.focus()).name, 'Skip to the content', 'the first stop leads over the navigation');
  await keys.press('Enter');
  const entries = await page.evaluate(() => history.length);

  await keys.tabTo('a token', (f) => f.group === 'Token that reads' && f.name === tokens[4]);
  await keys.press('Enter');
  tap.is((await keys.focus()).pressed, 'true', `the token "${tokens[4]}" is chosen`);
  await keys.tabTo('head 1', (f) => f.group === 'Head' && f.name === '1', 'Shift+Tab');
  await keys.press('Space');
  tap.is((await keys.focus()).pressed, 'true', 'the head is chosen');
  await keys.tabTo('step dS', (f) => f.group === 'Steps' && /^d\s*S$/.test(f.name));
  await keys.press('Enter');
  await keys.tabTo('the map', (f) => f.role === 'gridcell' && f.group.startsWith('dS'));
  const cellNow = async () => (await cellsOf(page, '[data-island=lab] .cellbox'))[0];
  tap.is((await cellNow())?.index.split(',')[1], '4', 'the map\'s cell is in the row of the token');
  await keys.press('Home');
  await keys.press('ArrowRight');
  await keys.press('ArrowRight');
  const cell = await cellNow();
  tap.is(cell && [cell.tensor, cell.index], ['dS', '1,4,2'], 'arrows choose the cell, whose arithmetic opens');
  tap.none(differing(cell ? [cell] : []), `its value: ${cell?.text}`);
  const ledger = await page.locator('[data-island=lab] .cellbox table.led tbody tr').count();
  tap.ok(ledger >= sizes.T, `with its operands, in ${ledger} lines`);
  await keys.press('PageUp');
  tap.is((await cellNow())?.tensor, 'dA', 'PageUp is the step before');
  await keys.press('PageDown');
  tap.is((await cellNow())?.tensor, 'dS', 'PageDown the next');
  await keys.press('h');
  tap.is((await cellNow())?.index, '0,4,2', 'h is the other head');
  await keys.press('h');

  await keys.tabTo('the proof', (f) => f.role === 'gridcell' && f.group.startsWith('Gradient of'));
  await keys.press('ArrowRight');
  await keys.press('ArrowRight');
  const checked = await gradients(page);
  tap.ok(agrees(checked), `the gradient check agrees: by hand ${checked.hand}, central ${checked.central}, complex step ${checked.complex}`);
  await keys.tabTo('the editor', (f) => f.tag === 'SUMMARY');
  await keys.press('Enter');
  await page.locator('[data-island=lab] details.edit input').first().waitFor();
  await keys.tabTo('Wq[0,2], of head 1', (f) => f.name === 'Wq[0,2]');
  await keys.press('Control+a');
  await page.keyboard.type('much');
  await keys.press('Tab');
  tap.ok((await page.locator('[data-island=lab] details.edit [role=status]').innerText()).includes('Nothing was changed'), 'what is no number is said to be none');
  await keys.press('Shift+Tab');
  await keys.press('Control+a');
  await page.keyboard.type('0.75');
  await keys.press('Tab');
  const tag = page.locator('[data-island=lab] .case > .tag').first();
  await page.locator('[data-island=lab] .tag.is-edit').first().waitFor();
  tap.ok((await tag.innerText()).includes('edited'), 'an edited weight: the tag says so');
  const own = attention({ Wq: [[0, 2, 0.75]] });
  const edited = await cellsOf(page, '[data-island=lab] .figwrap');
  tap.none(edited.flatMap((c) => {
    const [h, i, j] = c.index.split(',').map(Number);
    const expected = own.dS[h ?? 0]?.[i ?? 0]?.[j ?? 0] ?? NaN;
    return shows(c.text, expected) ? [] : [`${c.tensor}[${c.index}] shows ${c.text}, arithmetic gives ${expected}`];
  }), `${edited.length} cells show what arithmetic in this test gives for the edited weight`);
  tap.ok(edited.some((c) => differing([c]).length > 0), 'which are other numbers than before');
  const after = await gradients(page);
  tap.ok(agrees(after) && after.hand !== checked.hand, `the gradient check agrees again: by hand ${after.hand}, central ${after.central}, complex step ${after.complex}`);

  await keys.tabTo('Copy link', (f) => f.name === 'Copy link', 'Shift+Tab');
  await keys.press('Enter');
  await page.getByText('Link copied.').waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  const before = await snapshot(page);
  const other = await context.newPage();
  const otherFaults = watch(other, address);
  await open(other, link);
  await other.locator('[data-island=lab] .tag.is-edit').first().waitFor();
  tap.is(await snapshot(other), before, `the link restores the view: ${link.slice(link.indexOf('#'))}`);
  tap.is(await page.evaluate(() => history.length), entries, 'and no choice made an entry in the history');
  tap.none(keys.hidden, `${keys.stops} tab stops: each shows that it has the focus, inside the window`);
  tap.none([...faults, ...otherFaults], 'nothing goes wrong on the way');
  await context.close();
}

/** What the three ways give. @param {Page} page */
async function gradients(page) {
  const values = await page.locator('[data-island=lab] table.three .v').allInnerTexts();
  const [hand, central, complex] = values.map((t) => read(t)?.value ?? NaN);
  return { hand, central, complex };
}
/** Central differences have an error of the size of h^2 and of round-off / h, the complex step of round-off. @param {Awaited<ReturnType<typeof gradients>>} g */
const agrees = ({ hand = NaN, central = NaN, complex = NaN }) => Math.abs(central - hand) <= 1e-8 && Math.abs(complex - hand) <= 1e-14 && hand !== 0;

/** The whole view of the lab as text. @param {Page} page */
function snapshot(page) {
  return page.evaluate(() => {
    const lab = document.querySelector('[data-island=lab]');
    const chosen = [...(lab?.querySelectorAll('[aria-pressed=true], [aria-selected=true], [aria-current]') ?? [])].map((e) => e.textContent);
    const cells = [...(lab?.querySelectorAll('[data-t]') ?? [])].map((e) => (e instanceof HTMLInputElement ? '' : `${e.getAttribute('data-t')}[${e.getAttribute('data-i')}]=${e.textContent}`));
    return { chosen, cells: cells.filter((c) => c !== ''), tag: lab?.querySelector('.tag')?.textContent, three: lab?.querySelector('table.three')?.textContent };
  });
}

/** A trained model. @param {Page} page @param {string} address @param {Tap} tap */
async function model(page, address, tap) {
  await open(page, `${address}attention.html#lab?src=model`);
  const lab = page.locator('[data-island=lab]');
  await lab.locator('.prov dd.ok', { hasText: 'the same bits' }).waitFor();
  tap.ok(true, 'a trained model: its files are verified in the page, which computes the native program\'s bits');
  tap.is(await lab.locator('[data-source]').evaluateAll((all) => [...new Set(all.map((e) => e.getAttribute('data-source')))]), ['model'], 'nothing of the example stays in view');
  const labels = await page.evaluate(unlabelled);
  tap.none(labels.faults, `${labels.numbers} numbers, each under its source`);
  const tensors = tensorsIn(readFileSync(join(folder ?? '', 'data/lab/window.safetensors')));
  const { model: m, tokens: ids, text } = JSON.parse(readFileSync(join(folder ?? '', 'data/lab/manifest.json'), 'utf8'));
  const [T, HS] = [ids.length, m.channels / m.heads];
  /** @type {string[]} */
  const faults = [];
  let count = 0;
  for (const [step, shown, name] of [['softmax', 'A', 'att'], ['scaled', 'scaled', 'scaled'], ['dS', 'dS', 'dscaled'], ['values', 'O', 'values'], ['dQ', 'dQ', 'dq']]) {
    await goTo(page, `src=model&step=${step}`, shown ?? '');
    await goTo(page, `src=model&step=${step}&view=table`, null);
    const rows = await lab.locator('.figwrap table tbody tr').evaluateAll((all) => all.map((row) => [...row.querySelectorAll('td')].map((td) => (td.querySelector('.hat')?.firstChild ?? td).textContent ?? '')));
    const data = tensors.get(`h.0.${name}`);
    const square = ['att', 'scaled', 'dscaled'].includes(name ?? '');
    rows.forEach((row, i) => row.forEach((t, j) => {
      const expected = data?.[square ? i * T + j : i * m.channels + j] ?? NaN;
      count += 1;
      if (!shows(t, expected)) faults.push(`${name}[${i},${j}] shows ${t}, window.safetensors has ${expected}`);
    }));
    if (rows.length !== T || rows[0]?.length !== (square ? T : HS)) faults.push(`${name}: ${rows.length} rows of ${rows[0]?.length}`);
  }
  tap.none(faults, `${count} numbers of head 0 are those of window.safetensors`);
  await lab.getByLabel('Your own text, run in this page and sent nowhere').fill('He said so');
  await lab.getByRole('button', { name: 'Run', exact: true }).click();
  await lab.locator('.tag', { hasText: 'your text' }).first().waitFor();
  const chips = (await lab.getByRole('radiogroup', { name: 'Token that reads' }).getByRole('radio').allInnerTexts()).join('').replace(/\u00b7/g, ' ');
  tap.ok(chips.startsWith('He said so') && text !== 'He said so', `the visitor's own text: ${chips}`);
}

/** Milliseconds of a step and of a gradient check: shown, not judged. @param {Page} page @param {string} address */
async function times(page, address) {
  await open(page, `${address}attention.html`);
  return page.evaluate(async () => {
    const settle = async () => { for (let k = 0; k < 20; k++) await Promise.resolve(); };
    const median = (/** @type {number[]} */ list) => [...list].sort((a, b) => a - b)[list.length >> 1] ?? NaN;
    /** @param {string} grid @param {string} key @param {number} times */
    const press = async (grid, key, times) => {
      const all = [];
      for (let k = 0; k < times; k++) {
        const cell = document.querySelector(`${grid} [tabindex="0"]`);
        if (cell instanceof HTMLElement) cell.focus();
        await new Promise((done) => setTimeout(done, 60));
        const began = performance.now();
        cell?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
        await settle();
        void document.body.offsetHeight;
        all.push(performance.now() - began);
      }
      return all;
    };
    await press('[data-island=lab] .figwrap', 'PageUp', 6);
    const steps = [...await press('[data-island=lab] .figwrap', 'PageDown', 14), ...await press('[data-island=lab] .figwrap', 'PageUp', 14)];
    const checks = [...await press('[data-island=lab] .prove .gridbox', 'ArrowRight', 3), ...await press('[data-island=lab] .prove .gridbox', 'ArrowLeft', 3)];
    return { step: median(steps), worstStep: Math.max(...steps), check: median(checks), worstCheck: Math.max(...checks) };
  });
}

await run(async (tap) => {
  const own = attention({});
  tap.none(own.dS.flatMap((head, h) => head.flatMap((row, i) => row.flatMap((x, j) => (Math.abs(x - golden.get('dS')[h][i][j]) <= 1e-15 ? [] : [`dS[${h},${i},${j}] ${x}`])))), 'the arithmetic of this test gives the golden file\'s dS');
  const server = await serveByVitrine(folder ?? '');
  const browser = await launch();
  await asSent(browser, server.address, tap);
  const context = await browser.newContext({ serviceWorkers: 'block', viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const faults = watch(page, server.address);
  await open(page, `${server.address}attention.html`);
  const cells = await cellsOf(page, ISLANDS);
  tap.none(differing(cells), `awake: ${cells.length} cells show the golden file's numbers`);
  await everyStep(page, tap);
  await walk(browser, server.address, tap);

  await open(page, `${server.address}attention.html#lab?step=masked&head=9&view=sideways&%3Cimg%20src=x%3E=1&edit=Wq:0,0=NaN&h=99`);
  const note = await page.locator('[data-island=lab] .note').allInnerTexts();
  tap.ok(['view=sideways', '<img src', 'edit=', 'h=99'].every((w) => note.join(' ').includes(w)), 'what an address has wrong is left out, and said', note);
  tap.is(await page.locator('[data-island=lab] .figwrap [data-t=masked]').count(), sizes.T * sizes.T, 'and what it has right is shown');
  await model(page, server.address, tap);
  tap.none(faults, 'nothing goes wrong');
  const t = await times(page, server.address);
  tap.show(`a step of the lab ${t.step.toFixed(1)} ms (at most ${t.worstStep.toFixed(1)}; budget 16); a gradient check with its curve ${t.check.toFixed(1)} ms (at most ${t.worstCheck.toFixed(1)}; budget 100): script, style and layout`);
  await browser.close();
  await server.close();
});
