/* budgets.ts -- compressed sizes against the budgets: each page with all that it loads at its start, the module, the models.
 *
 * A page is judged by Brotli, which hosts send to every browser of today; what gzip -9
 * makes of it stands beside, with a word where that is over.  gzip looks back 32 KB only,
 * and a long page of like parts (Attention) costs a quarter more by it.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Paths } from './site';

const KB = 1024;
export const limits = { page: 90 * KB, module: 60 * KB, lab: 350 * KB, playground: 4 * KB * KB } as const;

interface Loads {
  readonly scripts: readonly string[];
  readonly styles: readonly string[];
  /** What comes when a visitor asks for a part that waits: beside the budget. */
  readonly asked: readonly string[];
}

/** Each file once: most scripts and styles are of many pages. */
function once(size: (bytes: Uint8Array) => number): (file: string) => number {
  const known = new Map<string, number>();
  return (file) => {
    const bytes = known.get(file) ?? size(readFileSync(file));
    known.set(file, bytes);
    return bytes;
  };
}
const packed = once((bytes) => gzipSync(bytes, { level: 9 }).length);
const brotli = once((bytes) => brotliCompressSync(bytes).length);

const shown = (bytes: number): string => (bytes / KB).toFixed(1).padStart(8);

export function budgets(paths: Paths): number {
  const site = join(paths.root, 'build/site');
  const loads = JSON.parse(readFileSync(join(paths.work, 'loads.json'), 'utf8')) as Record<string, Loads>;
  let over = 0;
  const judge = (name: string, bytes: number, limit: number, parts: string): void => {
    if (bytes > limit) over += 1;
    console.log(`${name.padEnd(22)} ${shown(bytes)} KB of ${(limit / KB).toFixed(0).padStart(4)}  ${bytes > limit ? 'OVER' : 'ok  '}  ${parts}`);
  };
  for (const [page, l] of Object.entries(loads)) {
    const sum = (files: readonly string[], size: (file: string) => number): number => files.reduce((n, f) => n + size(join(site, f)), 0);
    const parts = [[`${page}.html`], l.styles, l.scripts];
    const [html, css, js] = parts.map((files) => shown(sum(files, brotli)));
    const gzip = sum(parts.flat(), packed);
    judge(`${page}.html`, sum(parts.flat(), brotli), limits.page,
      `html${html}  css${css}  js${js}  by gzip${shown(gzip)}${gzip > limits.page ? ' (over)' : ''}${l.asked.length > 0 ? `  when asked${shown(sum(l.asked, brotli))}` : ''}`);
  }
  judge('vitrine.wasm', packed(join(site, 'vitrine.wasm')), limits.module, 'gzip -9');
  // A model's size is what travels for its use: the weights and what goes with them.
  for (const [name, limit] of [['lab', limits.lab], ['playground', limits.playground]] as const) {
    const folder = join(paths.root, 'build/www/data', name);
    if (!existsSync(folder)) {
      console.log(`${`data/${name}`.padEnd(22)}  not exported yet (build/www)`);
      continue;
    }
    const model = statSync(join(folder, 'model.safetensors')).size;
    const all = readdirSync(folder).reduce((n, f) => n + packed(join(folder, f)), 0);
    judge(`data/${name}`, model, limit, `model.safetensors as it is; the whole folder compressed${shown(all)}`);
  }
  return over > 0 ? 1 : 0;
}
