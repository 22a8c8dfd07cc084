/* keyboard.mjs -- one who has a keyboard only: where the focus is, and whether it can be seen. */

/** @typedef {{ tag: string, role: string, name: string, group: string, pressed: string | null, seen: boolean }} Focus */

export class Keyboard {
  stops = 0;
  /** Stops that do not show the focus. @type {string[]} */
  hidden = [];
  #page;

  /** @param {import('playwright-core').Page} page */
  constructor(page) { this.#page = page; }

  /** @returns {Promise<Focus>} */
  focus() {
    return this.#page.evaluate(() => {
      const e = document.activeElement ?? document.body;
      const group = e.closest('[role=group], [role=radiogroup], [role=grid], nav, fieldset');
      const style = getComputedStyle(e);
      const box = e.getBoundingClientRect();
      const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
      const marked = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
      return {
        tag: e.tagName, role: e.getAttribute('role') ?? '', name: (e.getAttribute('aria-label') ?? e.textContent ?? '').trim(), pressed: e.getAttribute('aria-pressed') ?? e.getAttribute('aria-checked'),
        group: group?.getAttribute('aria-label') ?? '', seen: e === document.body || (inside && marked),
      };
    });
  }

  /** @param {string} key */
  async press(key) {
    await this.#page.keyboard.press(key);
    // Until the choice is drawn and the focus is where it leads.
    await this.#page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 0)); }));
  }

  /** Goes on by Tab until the focus is where it should be. @param {string} what @param {(focus: Focus) => boolean} there @param {'Tab' | 'Shift+Tab'} key */
  async tabTo(what, there, key = 'Tab') {
    const seen = [];
    for (let k = 0; k < 150; k++) {
      await this.press(key);
      const focus = await this.focus();
      this.stops += 1;
      if (!focus.seen) this.hidden.push(`${focus.tag} "${focus.name.slice(0, 40)}" in "${focus.group}"`);
      if (there(focus)) return;
      seen.push(focus.name.slice(0, 24));
    }
    throw new Error(`${what}: not reached by ${key}; the focus was on ${seen.slice(0, 60).join(' | ')}`);
  }
}
