/* tree.mjs -- what pages say about the tree: links lead somewhere, lines are the file's lines, labels stand on them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './servers.mjs';

/** @type {Map<string, readonly string[]>} */
const texts = new Map();
/** Lines of a file of the tree, none where it is not there. @param {string} file */
export function linesOf(file) {
  const known = texts.get(file);
  if (known) return known;
  /** @type {readonly string[]} */
  let lines = [];
  try {
    lines = readFileSync(join(root, file), 'utf8').split('\n');
  } catch { /* said by who asks for a line */ }
  texts.set(file, lines);
  return lines;
}

/**
 * @typedef {{ href: string, text: string }} Link  absolute
 * @typedef {{ file: string, line: number, text: string }} Shown  a line of C as the page shows it
 * @typedef {{ label: string, href: string }} Labelled  an equation's label, and the link beside it to its line
 * @typedef {{ ids: string[], links: Link[], lines: Shown[], labels: Labelled[] }} Claims
 */

/** What a page says, as one text: Playwright would pack each of thousands of lines by itself. @param {import('playwright-core').Page} page @returns {Promise<Claims>} */
export const claimsOf = async (page) => JSON.parse(await page.evaluate(`JSON.stringify((${claims})())`));

/** Runs in the page. @returns {Claims} */
function claims() {
  /** @param {Element} li */
  const codeOf = (li) => {
    if (!li.querySelector('.n, .inl, a.lab')) return li.textContent ?? '';
    const copy = /** @type {Element} */ (li.cloneNode(true));
    for (const e of copy.querySelectorAll('.n, .inl')) e.remove();
    for (const e of copy.querySelectorAll('a.lab')) e.prepend(' ');
    return copy.textContent ?? '';
  };
  const lines = [...document.querySelectorAll('.codebox, .side')].flatMap((box) => {
    const source = location.pathname.includes('/source/');
    const file = source ? document.querySelector('h1')?.textContent : box.querySelector('.chead strong')?.textContent;
    // Lines of a whole file are counted by the style sheet.
    return [...box.querySelectorAll('.code li')].map((li, k) => ({ file: file ?? '', line: li.querySelector('.n') ? Number(li.querySelector('.n')?.textContent) : k + 1, text: codeOf(li) }));
  });
  const labels = [...document.querySelectorAll('.eqs > li')].flatMap((li) => {
    const label = li.querySelector('a.lbl')?.textContent ?? '';
    return [...li.querySelectorAll('a.src')].map((a) => ({ label, href: /** @type {HTMLAnchorElement} */ (a).href }));
  });
  return {
    ids: [...document.querySelectorAll('[id]')].map((e) => e.id),
    links: [...document.querySelectorAll('a[href]')].map((a) => ({ href: /** @type {HTMLAnchorElement} */ (a).href, text: (a.textContent ?? '').trim() })),
    lines, labels,
  };
}

const bare = (/** @type {string} */ text) => text.replace(/\/\*\s*|\s*\*\//g, ' ').replace(/\s+/g, ' ').trim();

/** Is the line shown the line of the file? Labels at its end are drawn apart, so spaces and the signs of comments are not compared. @param {Shown} shown */
export function wrongLine({ file, line, text }) {
  const real = linesOf(file)[line - 1];
  if (real === undefined) return `${file}:${line}: the tree has no such line`;
  return bare(real) === bare(text) ? null : `${file}:${line} is "${bare(real)}", the page shows "${bare(text)}"`;
}

/** The file and the line that an address of the source viewer, or of a host of repositories, means. @param {string} href @returns {{ file: string, line: number | null } | null} */
export function lineOf(href) {
  const url = new URL(href);
  const local = /\/source\/([^/]+)\.html$/.exec(url.pathname)?.[1];
  const remote = /\/blob\/[0-9a-f]{40}\/(.+)$/.exec(url.pathname)?.[1];
  const file = local !== undefined ? local.replace(/--/g, '/') : remote;
  if (file === undefined) return null;
  const line = /^#L(\d+)/.exec(url.hash)?.[1];
  return { file, line: line === undefined ? null : Number(line) };
}

/** @param {Labelled} labelled */
export function wrongLabel({ label, href }) {
  const where = lineOf(href);
  if (!where || where.line === null) return `${label}: ${href} names no line`;
  const real = linesOf(where.file)[where.line - 1] ?? '';
  const held = new RegExp(`(^|[\\s*])${label.replace(/\./g, '\\.')}([\\s*,;:]|$)`).test(real);
  return held ? null : `${label}: ${where.file}:${where.line} is "${real.trim()}", which does not hold it`;
}

/**
 * Links that lead nowhere.
 * @param {ReadonlyMap<string, Claims>} pages by path in the site
 * @param {string} address of the site
 * @param {(path: string) => boolean} exists other files of the site
 */
export function brokenLinks(pages, address, exists) {
  /** @type {Set<string>} */
  const faults = new Set();
  for (const [name, page] of pages) for (const { href } of page.links) {
    if (!href.startsWith(address)) {
      if (!/^https:\/\//.test(href)) faults.add(`${name}: ${href} leads out of the site`);
      continue;
    }
    const url = new URL(href);
    const path = decodeURIComponent(url.pathname.slice(new URL(address).pathname.length)) || 'index.html';
    const anchor = decodeURIComponent(url.hash.slice(1)).split('?')[0] ?? '';
    const there = pages.get(path);
    if (!there) { if (!exists(path)) faults.add(`${name}: no file ${path}`); }
    else if (anchor !== '' && !there.ids.includes(anchor)) faults.add(`${name}: ${path} has no anchor "${anchor}"`);
  }
  return [...faults];
}
