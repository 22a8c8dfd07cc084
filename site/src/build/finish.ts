/* finish.ts -- puts the parts together as build/site: pages, scripts, the module, the offline worker with its list. */
import { createHash } from 'node:crypto';
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Paths } from './site';

export function filesUnder(folder: string): string[] {
  const found: string[] = [];
  const visit = (at: string): void => {
    for (const name of readdirSync(at).sort()) {
      const path = join(at, name);
      if (statSync(path).isDirectory()) visit(path);
      else found.push(relative(folder, path));
    }
  };
  visit(folder);
  return found;
}

export const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

/** The worker's text with the list of files: a change of any file changes the worker, so browsers see it. */
function writeWorker(folder: string): void {
  const list: Record<string, string> = {};
  for (const file of filesUnder(folder)) if (file !== 'sw.js') list[file] = sha256(readFileSync(join(folder, file))).slice(0, 16);
  const json = JSON.stringify(list);
  const path = join(folder, 'sw.js');
  const text = readFileSync(path, 'utf8');
  for (const place of ['__VITRINE_FILES__', '__VITRINE_VERSION__']) if (text.split(place).length !== 2) throw new Error(`sw.js: ${place} is not there once`);
  const quoted = json.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('"', '\\"').replaceAll('`', '\\`');
  writeFileSync(path, text.replace('__VITRINE_FILES__', () => quoted).replace('__VITRINE_VERSION__', sha256(json).slice(0, 16)));
}

const BOOK = 'vitrine-mathematics.pdf';

/** Was the PDF printed from this book.html? It names its style sheets by their hash. */
function printed(paths: Paths, site: string): boolean {
  const of = join(paths.work, 'book.of'), page = join(site, 'book.html');
  return [of, page, join(paths.work, BOOK)].every((file) => existsSync(file)) && readFileSync(of, 'utf8') === sha256(readFileSync(page));
}

export function finish(paths: Paths): number {
  const site = join(paths.root, 'build/site');
  const fresh = `${site}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  cpSync(join(paths.work, 'client'), fresh, { recursive: true });
  rmSync(join(fresh, 'chunks.json'));
  cpSync(paths.out, fresh, { recursive: true });
  const wasm = join(paths.root, 'build/wasm/vitrine.wasm');
  if (existsSync(wasm)) copyFileSync(wasm, join(fresh, 'vitrine.wasm'));
  writeWorker(fresh);
  if (printed(paths, fresh)) copyFileSync(join(paths.work, BOOK), join(fresh, BOOK));
  rmSync(site, { recursive: true, force: true });
  renameSync(fresh, site);
  console.log(`site: build/site, ${filesUnder(site).length} files`);
  return 0;
}
