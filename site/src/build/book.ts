/* book.ts -- prints book.html to PDF with Chromium, and makes the links to source lines relative to the file. */
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { existsSync, readFileSync, writeFileSync, copyFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { chromiumPath } from './chromium.mjs';
import { sha256 } from './finish';
import type { Paths } from './site';

const types: Readonly<Record<string, string>> = { '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml', '.wasm': 'application/wasm' };

/** Serves a folder to Chromium on loopback while the book is printed. */
function serve(folder: string): Promise<{ address: string; close: () => void }> {
  const server = createServer((request, answer) => {
    const path = normalize(decodeURIComponent((request.url ?? '/').split(/[?#]/)[0] ?? '/'));
    const file = join(folder, path);
    if (!file.startsWith(folder) || !existsSync(file)) {
      answer.writeHead(404).end();
      return;
    }
    answer.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => {
    done({ address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() });
  }));
}

/**
 * Chromium writes links of the site as absolute addresses of this server.  Here
 * they become relative to the PDF's own place; the text keeps its length (spaces
 * after the string), so the file's table of offsets stays true.
 */
export function relativeLinks(pdf: Buffer, address: string): { pdf: Buffer; links: number } {
  let links = 0;
  const text = pdf.toString('latin1').replace(/\/URI \(((?:[^()\\]|\\.)*)\)/g, (whole, uri: string) => {
    links += 1;
    if (!uri.startsWith(address)) return whole;
    return `/URI (${uri.slice(address.length)})${' '.repeat(address.length)}`;
  });
  return { pdf: Buffer.from(text, 'latin1'), links };
}

interface Playwright {
  readonly chromium: { launch(options: object): Promise<{ newPage(): Promise<{ goto(url: string, options: object): Promise<unknown>; pdf(options: object): Promise<Buffer> }>; close(): Promise<void> }> };
}

export async function printBook(paths: Paths): Promise<number> {
  const executablePath = chromiumPath();
  const site = join(paths.root, 'build/site');
  if (!existsSync(join(site, 'book.html'))) throw new Error('build/site/book.html: not there; tools/site builds it');
  const require = createRequire(join(paths.root, 'site/package.json'));
  const { chromium: engine } = require('playwright-core') as Playwright;
  const server = await serve(site);
  const browser = await engine.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    await page.goto(`${server.address}book.html`, { waitUntil: 'load' });
    const printed = await page.pdf({
      format: 'A4', printBackground: true, outline: true, tagged: true, displayHeaderFooter: true, margin: { top: '18mm', bottom: '18mm', left: '17mm', right: '17mm' },
      headerTemplate: '<span></span>',
      footerTemplate: '<div style="width:100%;text-align:center;font:8pt sans-serif;color:#646973"><span class="pageNumber"></span></div>',
    });
    const { pdf, links } = relativeLinks(printed, server.address);
    const file = join(paths.work, 'vitrine-mathematics.pdf');
    writeFileSync(file, pdf);
    writeFileSync(join(paths.work, 'book.of'), sha256(readFileSync(join(site, 'book.html'))));
    copyFileSync(file, join(site, 'vitrine-mathematics.pdf'));
    console.log(`book: build/site/vitrine-mathematics.pdf, ${(pdf.length / 1024).toFixed(0)} KB, ${links} links to addresses`);
  } finally {
    await browser.close();
    server.close();
  }
  return 0;
}
