/* offline.mjs -- after one visit the site is there without a network, under any path; and on plain http under a
 * name that is not this machine's, where browsers have no digest function, nothing is said to be verified.
 *
 * usage: node site/browser/offline.mjs SITE
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, open, watch } from './browser.mjs';
import { serveFiles } from './servers.mjs';
import { run } from './tap.mjs';

const folder = process.argv[2];
if (folder === undefined) {
  console.error('usage: node site/browser/offline.mjs SITE');
  process.exit(2);
}
const PATH = '/papers/2026/a%20site/';

/** @param {import('playwright-core').Page} page */
const step = (page) => page.locator('[data-island=lab] .figwrap [role=grid]').getAttribute('aria-label');

/** The model's part of the lab. @param {import('playwright-core').Page} page */
async function modelSays(page) {
  // The last that comes: the window's run in the page, or why there is none.
  await page.locator('[data-island=lab] :is(.provchecks, .provline.bad, .note[role=alert])').first().waitFor();
  return (await page.locator('[data-island=lab]').innerText()).replace(/\s+/g, ' ');
}

await run(async (tap) => {
  // Another name of this machine, for the last tests.
  const browser = await launch(['--host-resolver-rules=MAP vitrine.example 127.0.0.1']);
  const server = await serveFiles(folder, decodeURIComponent(PATH));
  const address = `http://127.0.0.1:${server.port}${PATH}`;
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  let faults = watch(page, address);
  await open(page, `${address}attention.html#lab?src=model`);
  const online = await modelSays(page);
  tap.ok(online.includes('the same bits'), 'under a path with a space, from a host that sends no header but the type: all works', faults);
  tap.none(faults, 'and nothing goes wrong');
  await page.evaluate(() => navigator.serviceWorker.ready.then((r) => new Promise((done) => {
    const look = () => (r.active?.state === 'activated' ? done(undefined) : setTimeout(look, 50));
    look();
  })));
  // One more visit: the model's data is kept when the worker sees it.
  await page.goto('about:blank');
  await open(page, `${address}attention.html#lab?src=model`);
  await modelSays(page);

  await server.close();
  await context.setOffline(true);
  const pages = readdirSync(folder).filter((name) => name.endsWith('.html') && name !== '404.html');
  const some = readdirSync(join(folder, 'source')).slice(0, 3).map((name) => `source/${name}`);
  /** @type {string[]} */
  const bad = [];
  const next = await context.newPage(), own = watch(next, address);
  for (const name of [...pages, ...some]) {
    await open(next, address + name);
    if (!(await next.locator('h1').count())) own.push('no heading');
    // What only a model could show may say that it is not here.
    bad.push(...own.splice(0).filter((f) => !/data\/|api\/|ERR_INTERNET_DISCONNECTED|ERR_FAILED|ERR_CONNECTION/.test(f)).map((f) => `${name}: ${f}`));
  }
  await next.close();
  tap.none(bad, `the server gone and the browser offline: ${pages.length + some.length} pages`);
  const away = await context.newPage();
  faults = watch(away, address);
  await open(away, address);
  tap.is(await away.locator('h1').innerText(), 'Vitrine', 'the folder\'s own address is the overview');
  await open(away, `${address}attention.html`);
  const before = await step(away);
  await away.locator('[data-island=lab] .figwrap [tabindex="0"]').focus();
  await away.keyboard.press('PageDown');
  await away.locator('[data-island=lab] .figwrap [data-t=O]').first().waitFor();
  tap.ok(await step(away) !== before, 'the lab computes');
  // A change of the fragment alone would load nothing.
  await away.goto('about:blank');
  await open(away, `${address}attention.html#lab?src=model`);
  tap.ok((await modelSays(away)).includes('the same bits'), 'with the model that was shown before, verified again');
  tap.none(faults.filter((f) => !/data\/|api\//.test(f)), 'and nothing goes wrong');
  await context.close();

  // One byte of a model, from a host that changed it: an error, and none of its numbers.
  const copy = mkdtempSync(join(tmpdir(), 'vitrine-damaged-'));
  try {
    cpSync(folder, copy, { recursive: true });
    const file = join(copy, 'data/lab/model.safetensors');
    const bytes = readFileSync(file);
    bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1;
    writeFileSync(file, bytes);
    const host = await serveFiles(copy);
    const visitor = await browser.newContext();
    const view = await visitor.newPage();
    await open(view, `${host.address}attention.html#lab?src=model`);
    const said = await modelSays(view);
    tap.ok(/mismatch/i.test(said) && said.includes('model.safetensors'), `a byte of the weights changed: ${/mismatch.{0,90}/i.exec(said)?.[0] ?? said.slice(0, 200)}`);
    tap.is(await view.locator('[data-island=lab] [data-t]').count(), 0, 'no number of it is shown');
    await visitor.close();
    await host.close();
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }

  // Another name: no secure context.
  const plain = await serveFiles(folder);
  const there = `http://vitrine.example:${plain.port}/`;
  const guest = await (await browser.newContext()).newPage();
  const complaints = watch(guest, there);
  await open(guest, `${there}attention.html#lab?src=model`);
  tap.ok(!(await guest.evaluate(() => isSecureContext)), 'plain http under another name: no secure context');
  const words = await modelSays(guest);
  tap.ok(/cannot verify here/i.test(words), `the lab says: ${/.{0,40}cannot verify here.{0,60}/i.exec(words)?.[0]}`);
  tap.ok(!/the same bits|\bmatch\b|verified in this page/i.test(words), 'it never says match');
  tap.ok((await guest.locator('#placard-module').innerText()).includes('cannot be verified'), 'nor does the module\'s line');
  await open(guest, `${there}playground.html`);
  await guest.getByRole('button', { name: /^Load the model/ }).click();
  await guest.locator('.provfiles').first().waitFor();
  await guest.locator('.provchecks').first().waitFor();
  const panel = (await guest.locator('main').innerText()).replace(/\s+/g, ' ');
  tap.ok(/cannot verify here/i.test(panel) && !/\bmatch\b|the same bits|verified in this page/i.test(panel), 'the playground says so, too, of every file', [panel.slice(-600)]);
  tap.none(complaints, 'and nothing goes wrong');
  await browser.close();
  await plain.close();
});
