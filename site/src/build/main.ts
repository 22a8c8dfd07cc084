/* main.ts -- the tool that writes the site and says what is in it.  tools/site bundles it and runs it in Node:
 *
 *   main.mjs site [--draft]    pages into build/site-work/pages
 *   main.mjs finish            build/site: pages, scripts, module, offline worker
 *   main.mjs census            per concept: parts, equations, live cells; exit 1 on a blank
 *   main.mjs budgets           compressed sizes of every page; exit 1 over the budget
 *   main.mjs book              the book as PDF, by Chromium
 */
import { existsSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { printBook } from './book';
import { budgets } from './budgets';
import { census } from './census';
import { finish } from './finish';
import { buildSite, writeFiles, type Paths } from './site';

/** The tree: the folder above that has the content. */
function findRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'site/content/pages.yaml'))) {
    const above = dirname(folder);
    if (above === folder) throw new Error('site/content/pages.yaml is in no folder above this program');
    folder = above;
  }
  return folder;
}

function pathsOf(root: string): Paths {
  return { root, work: join(root, 'build/site-work'), out: join(root, 'build/site-work/pages') };
}

async function site(paths: Paths, draft: boolean): Promise<number> {
  const built = await buildSite(paths, draft);
  for (const fault of built.faults.list) console.error(fault);
  if (built.faults.list.length > 0) {
    console.error(`site: ${built.faults.list.length} ${built.faults.list.length === 1 ? 'fault' : 'faults'}${draft ? ' (draft: built all the same)' : ''}`);
    if (!draft) return 1;
  }
  rmSync(paths.out, { recursive: true, force: true });
  writeFiles(paths.out, built.files);
  const loads = Object.fromEntries([...built.loads].map(([page, l]) => [page, { scripts: built.assets.scripts(l.islands, l.examples, l.whole), styles: built.assets.styles(l.drawn), asked: built.assets.askedFor(l.islands, [...l.examples], l.whole, l.waiting) }]));
  writeFiles(paths.work, new Map([['loads.json', JSON.stringify(loads, null, 1)]]));
  console.log(`site: ${built.content.pages.length} pages, ${built.content.pages.reduce((n, p) => n + p.concepts.length, 0)} concepts, ${built.files.size} files`);
  return 0;
}

async function run(words: readonly string[]): Promise<number> {
  const paths = pathsOf(resolve(findRoot()));
  const draft = words.includes('--draft');
  switch (words[0]) {
    case 'site': return site(paths, draft);
    case 'finish': return finish(paths);
    case 'census': return census(paths);
    case 'budgets': return budgets(paths);
    case 'book': return printBook(paths);
    default:
      console.error('main.mjs: expected site, finish, census, budgets or book');
      return 2;
  }
}

run(process.argv.slice(2)).then((code) => { process.exitCode = code; }, (error: unknown) => {
  console.error(error instanceof Error ? (process.env['VITRINE_TRACE'] ? error.stack : `site: ${error.message}`) : error);
  process.exitCode = 1;
});
