/* screens.mjs -- pictures of whole pages, and a page that shows them all. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A long page becomes several pictures: nobody looks at one of 50,000 px. */
const MOST = 3_000;

export class Screens {
  count = 0;
  /** @type {Map<string, { file: string, width: number, theme: string }[]>} */
  #taken = new Map();
  #folder;
  #most;

  /** @param {string} folder emptied first @param {number} most a page's first parts are kept, at most so many */
  constructor(folder, most) {
    this.#folder = folder;
    this.#most = most;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  }

  /**
   * Scrolls through the page in a high window: a picture of the whole would lay it out anew for each part.
   * @param {import('playwright-core').Page} page @param {string} name @param {number} width @param {string} theme
   * @param {number} [parts] at most so many; else to the end, so that what waits to be seen is drawn
   */
  async take(page, name, width, theme, parts = Infinity) {
    await page.setViewportSize({ width, height: MOST });
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    const stem = name.replace(/\.html/, '').replace(/[^\w-]+/g, '-');
    for (let part = 0; part * MOST < height && part < parts; part++) {
      // Of what no picture is kept nothing need be painted: it is where it is all the same, and who watches for it is told.
      if (part === this.#most) await page.evaluate(() => { document.documentElement.style.visibility = 'hidden'; });
      const file = `${stem}-${width}-${theme}${height > MOST ? `-${part + 1}` : ''}.jpg`;
      const top = await page.evaluate((y) => new Promise((done) => {
        scrollTo({ top: y, behavior: 'instant' });
        // Who watches for it is told after the next picture.
        requestAnimationFrame(() => requestAnimationFrame(() => done(scrollY)));
      }), part * MOST);
      if (part >= this.#most) continue;
      // The last part ends with the page: what the part before has shown is left out.
      const above = part * MOST - top;
      await page.screenshot({ path: join(this.#folder, file), type: 'jpeg', quality: 85, caret: 'initial', clip: { x: 0, y: above, width, height: Math.min(MOST - above, height - part * MOST) } });
      this.#taken.set(name, [...(this.#taken.get(name) ?? []), { file, width, theme }]);
      this.count += 1;
    }
    await page.evaluate(() => { document.documentElement.style.visibility = ''; });
  }

  /** Writes index.html. */
  index() {
    const parts = [...this.#taken].map(([name, list]) => `<h2>${name}</h2><div>${list
      .map(({ file, width, theme }) => `<a href="${file}"><img loading="lazy" src="${file}" alt="${name}, ${width} px, ${theme}"><br>${width} px, ${theme}</a>`).join('')}</div>`);
    writeFileSync(join(this.#folder, 'index.html'), ['<!doctype html><html lang="en-GB"><meta charset="utf-8"><title>Screenshots</title>',
      '<style>body{font:14px sans-serif;margin:24px}div{display:flex;gap:12px;overflow-x:auto;align-items:start}img{width:220px;max-height:600px;object-fit:cover;object-position:top;border:1px solid #888}</style>',
      '<h1>Every page</h1>', ...parts, '</html>', ''].join('\n'));
  }
}
