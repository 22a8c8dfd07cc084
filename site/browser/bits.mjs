/* bits.mjs -- tools/bits: the numbers of vitrine.wasm, computed in Node or in Chromium.
 *
 * usage: node site/browser/bits.mjs node|chromium WASM REFERENCE OUT [MODEL]
 *
 * REFERENCE is a folder that `bits dump` wrote: what is to be computed, and of which tokens.  OUT gets
 * tensors.f64 and steps.f64, and copies of the lists.  MODEL: the folder of the window's checkpoint.
 */
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const here = fileURLToPath(new URL('.', import.meta.url));

/** bits-page.ts and the engine as one script: a global `bits`. */
async function script() {
  const built = await build({
    configFile: false, logLevel: 'error', root: here,
    build: { write: false, minify: false, target: 'es2022', lib: { entry: `${here}bits-page.ts`, formats: ['iife'], name: 'bits' } },
  });
  const first = Array.isArray(built) ? built[0] : built;
  if (!first || !('output' in first)) throw new Error('the script was not built');
  return first.output[0].code;
}

/** @param {string} code @param {import('./bits-page').Task} task @returns {Promise<import('./bits-page').Numbers>} */
function inNode(code, task) {
  return new Function(`${code}\nreturn bits;`)().compute(task);
}

/** @param {string} code @param {import('./bits-page').Task} task @returns {Promise<import('./bits-page').Numbers>} */
async function inChromium(code, task) {
  const { launch } = await import('./browser.mjs');
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.addScriptTag({ content: code });
    return await page.evaluate((t) => /** @type {any} */ (globalThis).bits.compute(t), task);
  } finally {
    await browser.close();
  }
}

const [where, wasm, reference, out, model] = process.argv.slice(2);
if ((where !== 'node' && where !== 'chromium') || !wasm || !reference || !out) {
  console.error('usage: node site/browser/bits.mjs node|chromium WASM REFERENCE OUT [MODEL]');
  process.exit(2);
}
const text = (/** @type {string} */ path) => readFile(path, 'utf8');
const base64 = async (/** @type {string} */ path) => (await readFile(path)).toString('base64');
const task = {
  wasm: await base64(wasm), tensors: await text(`${reference}/tensors.txt`), steps: await text(`${reference}/steps.txt`),
  tokens: await text(`${reference}/tokens.txt`),
  config: model ? await text(`${model}/config.json`) : '', model: model ? await base64(`${model}/model.safetensors`) : '',
};
const code = await script();
const numbers = await (where === 'node' ? inNode(code, task) : inChromium(code, task));
await mkdir(out, { recursive: true });
for (const [name, bytes] of Object.entries(numbers)) {
  await copyFile(`${reference}/${name}.txt`, `${out}/${name}.txt`);
  await writeFile(`${out}/${name}.f64`, Buffer.from(bytes, 'base64'));
}
