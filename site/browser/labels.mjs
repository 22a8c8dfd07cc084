/* labels.mjs -- runs in a page: every number of a figure, a table, a ledger, a curve or a case stands
 * under a source, the source is said in visible words, and no case has two of them.
 *
 * Words of a live part (headings, questions, captions) may count things; what is computed stands in the others. */

/** @returns {{ faults: string[], numbers: number }} */
export function unlabelled() {
  /** @type {Readonly<Record<string, string>>} */
  const words = { example: 'Illustrative example', model: 'Actual model output', codelab: 'Code lab', measured: 'Measured', input: 'Your input' };
  /** @type {Set<string>} */
  const faults = new Set();
  let numbers = 0;
  const short = (/** @type {Element | null} */ e) => {
    const names = [];
    for (let at = e; at && names.length < 4; at = at.parentElement) names.unshift(at.tagName.toLowerCase() + (at.id ? `#${at.id}` : at.classList[0] ? `.${at.classList[0]}` : ''));
    const island = e?.closest('[data-island]');
    return `${island instanceof HTMLElement ? `${island.dataset['island']}: ` : ''}${names.join(' > ')}`;
  };
  const live = ['table', 'svg', 'dd', 'output', 'input'].map((e) => `[data-island] ${e}`).join(', ');
  const places = `${live}, [data-t], .case, .fig, figure, table.led, [role=grid]`;
  /** @param {string} text @param {Element} element */
  const look = (text, element) => {
    if (!/\d/.test(text) || !element.closest(places)) return;
    numbers += 1;
    const source = element.closest('[data-source]');
    if (!(source instanceof HTMLElement)) faults.add(`no source: "${text.trim().slice(0, 30)}" in ${short(element)}`);
    else if (!Object.hasOwn(words, source.dataset['source'] ?? '')) faults.add(`an unknown source "${source.dataset['source']}": ${short(source)}`);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (element && !element.closest('script, style, noscript')) look(node.textContent ?? '', element);
  }
  for (const box of document.querySelectorAll('input')) if (['text', 'number'].includes(box.type)) look(box.value, box);
  for (const source of document.querySelectorAll('[data-source]')) {
    if (!(source instanceof HTMLElement)) continue;
    const name = source.dataset['source'] ?? '';
    const outer = source.parentElement?.closest('[data-source]');
    if (outer instanceof HTMLElement) {
      if (outer.dataset['source'] !== name) faults.add(`two sources in one view: "${name}" in "${outer.dataset['source']}": ${short(source)}`);
      continue;
    }
    // A case says it on its frame, other views in their words. What is not drawn says nothing: innerText has only what is.
    const frame = source.matches('.case') ? source.querySelector(':scope > .tag') : source;
    const said = frame instanceof HTMLElement ? frame.innerText : '';
    if (/\d/.test(source.textContent ?? '') && source.getClientRects().length > 0 && !said.toLowerCase().includes((words[name] ?? '').toLowerCase())) {
      faults.add(`its words "${words[name]}" are not to be seen: ${short(source)}`);
    }
  }
  return { faults: [...faults], numbers };
}
