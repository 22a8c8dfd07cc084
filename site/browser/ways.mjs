/* ways.mjs -- runs in a page: the ways in which it draws text, and some elements of each.
 *
 * Whether words stand out from their ground, and a link from the words around it, follows from colours, sizes and
 * what is behind. The site has thousands of cells and lines, drawn in some three hundred ways: what was judged once
 * need not be judged at each width and on each page. A way is named by what the verdict follows from, as computed
 * in the page as it is: a colour that comes at one width, in one theme or on one cell alone is a way of its own.
 */

/**
 * @param {string} [part] the first element of that kind, instead of the page
 * @returns {[string, Element[]][]} a name, the same on all pages; the first, middle and last element
 */
export function ways(part) {
  const plain = 'false|rgba(0, 0, 0, 0)|none|1|none|normal|false';
  /** @type {Map<Element | null, string>} */
  const grounds = new Map([[null, '']]);
  /** What is behind the words of an element: itself, and all that it stands in. @param {Element | null} e @returns {string} */
  const ground = (e) => {
    const known = grounds.get(e);
    if (known !== undefined || e === null) return known ?? '';
    const s = getComputedStyle(e);
    // Words of what cannot be used need not stand out.
    const off = e.matches(':disabled, [aria-disabled=true], [inert]');
    // What is out of its place may have anything behind it, and another thing at each width.
    const out = ['absolute', 'fixed', 'sticky'].includes(s.position) || s.transform !== 'none' || s.marginTop.startsWith('-');
    const drawn = [off, s.backgroundColor, s.backgroundImage, s.opacity, s.filter, s.mixBlendMode, out && innerWidth].join('|');
    const here = drawn === plain ? ground(e.parentElement) : `${ground(e.parentElement)}/${drawn}`;
    grounds.set(e, here);
    return here;
  };
  /** How the words around a link are drawn, where there are any. @param {Element} e */
  const around = (e) => {
    let block = e.parentElement;
    while (block && getComputedStyle(block).display === 'inline') block = block.parentElement;
    if ((block?.textContent ?? '').trim().length <= (e.textContent ?? '').trim().length) return '';
    const [s, b] = [getComputedStyle(e), getComputedStyle(e.parentElement ?? e)];
    return [b.color, b.fontWeight, s.fontWeight, s.fontStyle, s.textDecorationLine, s.borderBottom].join('|');
  };
  /** @type {Map<string, Element[]>} */
  const found = new Map();
  for (const e of (part ? document.querySelector(part) : document.body)?.querySelectorAll('*') ?? []) {
    const words = [...e.childNodes].map((n) => (n.nodeType === Node.TEXT_NODE ? n.textContent : '')).join('').trim();
    if ((words === '' && !e.matches('a[href], input, select, textarea')) || !e.checkVisibility({ visibilityProperty: true })) continue;
    const s = getComputedStyle(e), px = Number.parseFloat(s.fontSize), bold = Number(s.fontWeight) >= 700;
    // Large words may be paler; of a single sign, or of signs alone, axe does not say that it is too pale.
    const name = [ground(e), s.color, px >= 24 || (px >= 18.66 && bold), s.textShadow, /[\p{L}\p{N}].*\S|\S.*[\p{L}\p{N}]/u.test(words), e.localName === 'a' && around(e)].join('|');
    const others = found.get(name);
    if (others) others.push(e);
    else found.set(name, [e]);
  }
  return [...found].map(([name, all]) => [name, [...new Set([all[0], all[all.length >> 1], all[all.length - 1]])].filter((e) => e !== undefined)]);
}
