/* chromium.mjs -- which Chromium opens the pages for the tests and prints the book. */
import { existsSync } from 'node:fs';

/** Debian's: the engine without the browser's own windows, which starts and draws in less time; then the whole browser. */
const DEBIAN = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

/** The program: what VITRINE_CHROMIUM names, else the first of Debian's that is there. @returns {string} */
export function chromiumPath() {
  const asked = process.env['VITRINE_CHROMIUM'];
  const path = (asked === undefined ? DEBIAN : [asked]).find((file) => existsSync(file));
  if (path === undefined) throw new Error(`${asked ?? DEBIAN[0]}: not there; expected Chromium (Debian's package chromium-headless-shell, or VITRINE_CHROMIUM)`);
  return path;
}
