/* site.tsx -- builds the pages: content and map in, HTML files out. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { VNode } from 'preact';
import type { Block, Content, Page } from '../components/content';
import { loadEngine } from '../engine/index';
import type { Engine } from '../engine/types';
import type { ExampleTensor } from '../examples/types';
import { examples } from '../examples/registry';
import { islands as registry } from '../pages/islands';
import { runTinyModel } from '../pages/overview/tiny-model';
import { Assets } from './assets';
import { exampleBlock, makeShapesBlock, shapesBlock, type About } from './blocks';
import { readContent } from './content';
import { BuildProvider, type Build } from './context';
import { jsonText, renderDocument } from './document';
import { Faults } from './faults';
import { checkCodelab, checkGaps } from './gates';
import { PreparedIslands } from './islands';
import { checkLinks } from './links';
import { checkMap, readMap, Tree } from './map';
import { checkModelTensors, checkReferences, checkTensors } from './references';
import { Sources, viewerFile } from './site-data';
import { highlight } from './code';
import { BookView } from './views/BookView';
import notFound from '../style/not-found.css?inline';
import tokens from '../style/tokens.css?inline';
import { NotFound } from './views/NotFound';
import { PageView } from './views/PageView';
import { SourceView } from './views/SourceView';

export interface Paths {
  /** The tree. */ readonly root: string;
  /** build/site-work */ readonly work: string;
  /** Where the pages go. */ readonly out: string;
}

export interface Site {
  readonly content: Content;
  readonly sources: Sources;
  readonly faults: Faults;
  readonly assets: Assets;
  /** HTML by file name. */
  readonly files: ReadonlyMap<string, string>;
  /** Islands and examples that each page loads. */
  readonly loads: ReadonlyMap<string, { readonly islands: ReadonlySet<string>; /** Also those that wait, and those that have no control. */ readonly drawn: ReadonlySet<string>; readonly waiting: ReadonlySet<string>; /** Asks all of the engine. */ readonly whole: boolean; readonly examples: ReadonlySet<string> }>;
}

async function openEngine(file: string, faults: Faults): Promise<{ engine: Engine | null; hash: string | null }> {
  if (!existsSync(file)) {
    faults.add('vitrine.wasm', '', 'missing: cmake --preset wasm && cmake --build build/wasm makes it');
    return { engine: null, hash: null };
  }
  const bytes = readFileSync(file);
  return { engine: await loadEngine(bytes), hash: createHash('sha256').update(bytes).digest('hex') };
}

interface ExampleRun {
  readonly tensors: readonly ExampleTensor[];
  readonly about: About;
}

/** Runs every example that the content uses, once. */
async function runExamples(content: Content, engine: Engine | null, faults: Faults): Promise<Map<string, ExampleRun>> {
  const runs = new Map<string, ExampleRun>();
  const names = new Set(content.pages.flatMap((p) => p.concepts.map((c) => c.example.use)));
  for (const name of names) {
    const open = examples[name];
    if (!open || engine === null) continue;
    try {
      const { example } = await open();
      const tensors = example.run(engine, example.inputs);
      checkGaps(name, tensors, faults);
      if (name === 'codelab') await checkCodelab(engine, faults);
      runs.set(name, { tensors, about: example });
    } catch (error) {
      faults.add(`examples/${name}`, '', error instanceof Error ? error.message : String(error));
    }
  }
  return runs;
}

function makeBlocks(content: Content, runs: ReadonlyMap<string, ExampleRun>, engine: Engine | null, faults: Faults): void {
  const window = engine && runTinyModel(engine).tensors;
  for (const page of content.pages) for (const c of page.concepts) {
    const run = runs.get(c.example.use);
    if (run) checkTensors(c, run.tensors, faults);
    if (window) checkModelTensors(c, window, faults);
    exampleBlock(c, run?.about);
    makeShapesBlock(c, (name) => run?.tensors.find((t) => t.id === name)?.shape ?? null, run?.about.source);
  }
}

/** Every live part of a page, with the file that asks for it. */
function blocksOf(page: Page): { block: Block; file: string }[] {
  return [
    ...[...page.head, ...page.foot].map((block) => ({ block, file: 'pages.yaml' })),
    ...page.concepts.flatMap((c) => [exampleBlock(c), shapesBlock(c), ...c.sections].map((block) => ({ block, file: c.file }))),
  ];
}

async function prepared(page: Page, engine: Engine | null, sources: Sources, faults: Faults): Promise<PreparedIslands> {
  const islands = new PreparedIslands(engine);
  for (const { block, file } of blocksOf(page)) await islands.prepare(block, page.id, sources, file, faults);
  return islands;
}

/** In a draft, pages that have nothing yet are left out; otherwise they are faults. */
function withoutEmpty(content: Content, draft: boolean): Content {
  if (!draft) return content;
  return { ...content, pages: content.pages.filter((p) => p.group === 'home' || p.concepts.length + p.head.length + p.foot.length > 0) };
}

/** What the parts of a page need that wait until they are asked (client/islands.tsx). */
function askedFile(page: string): string {
  return `asked/${page}.json`;
}

function bookHref(href: string): string {
  const match = /^([a-z-]+)\.html#(.+)$/.exec(href);
  if (!match) return href;
  const [, page, anchor] = match as unknown as [string, string, string];
  return anchor.startsWith('eq-') ? `#${anchor}` : `#${page}-${anchor}`;
}

export async function buildSite(paths: Paths, draft: boolean): Promise<Site> {
  const faults = new Faults();
  const tree = new Tree(paths.root);
  const map = readMap(join(paths.work, 'map.json'));
  checkMap(map, tree, faults);
  const whole = readContent(join(paths.root, 'site/content'), faults);
  const content = withoutEmpty(whole, draft);
  checkReferences(content, { map, islands: new Set(Object.keys(registry)), examples: new Set(Object.keys(examples)) }, faults);
  const figures = join(paths.work, 'measured.json');
  const sources = new Sources(map, tree, content, existsSync(figures) ? readFileSync(figures, 'utf8') : null);
  const assets = Assets.read(join(paths.work, 'client/chunks.json'));
  const { engine, hash } = await openEngine(join(paths.root, 'build/wasm/vitrine.wasm'), faults);
  const runs = await runExamples(content, engine, faults);
  makeBlocks(content, runs, engine, faults);
  if (faults.list.length > 0 && !draft) return { content, sources, faults, assets, files: new Map(), loads: new Map() };

  const files = new Map<string, string>();
  const loads = new Map<string, { islands: ReadonlySet<string>; drawn: ReadonlySet<string>; waiting: ReadonlySet<string>; whole: boolean; examples: ReadonlySet<string> }>();
  const render = (name: string, title: string, description: string, build: Build, body: VNode, scripts = true, style?: string): void => {
    const below = name.includes('/');
    files.set(name, renderDocument({
      title, description, assets, scripts, ...(style === undefined ? {} : { style }), base: below ? '../' : '', islands: build.islands.drawn, whole: () => build.islands.whole, dictionary: scripts ? build.islands.dictionary : {},
      body: <BuildProvider value={build}>{body}</BuildProvider>,
    }));
  };
  const build = (islands: PreparedIslands, medium: Build['medium']): Build => ({ content, sources, moduleHash: hash, islands, medium, href: medium === 'book' ? bookHref : (h) => h });

  for (const page of content.pages) {
    const islands = await prepared(page, engine, sources, faults);
    const title = page.group === 'home' ? page.title : `${page.title} \u00b7 Vitrine`;
    render(`${page.id}.html`, title, page.line, build(islands, 'page'), <PageView page={page} faults={faults.list.length} />);
    if (islands.asked.props.length > 0) files.set(askedFile(page.id), jsonText(islands.asked));
    loads.set(page.id, { islands: islands.names, drawn: islands.drawn, waiting: islands.waiting, whole: islands.whole, examples: new Set(page.concepts.map((c) => c.example.use)) });
  }
  const all = new PreparedIslands(engine);
  for (const page of content.pages) for (const { block, file } of blocksOf({ ...page, head: [], foot: [] })) await all.prepare(block, page.id, sources, file, faults);
  render('book.html', 'The mathematics of Vitrine', 'All concepts of Vitrine with numbered sections and equations.', build(all, 'book'), <BookView />, false);
  render('404.html', 'Not found \u00b7 Vitrine', 'There is no such page.', build(new PreparedIslands(engine), 'page'), <NotFound />, false, `${tokens}${notFound}`);
  for (const file of [...sources.named].sort()) {
    const lines = highlight(file, tree.text(file), (label) => label in map.labels);
    render(viewerFile(file), `${file} \u00b7 Vitrine`, `Source of ${file}.`, build(new PreparedIslands(engine), 'page'), <SourceView file={file} lines={lines} />, false);
  }
  checkLinks(files, faults);
  for (const [name, text] of sources.extra) files.set(name, text);
  return { content, sources, faults, assets, files, loads };
}

export function writeFiles(out: string, files: ReadonlyMap<string, string>): void {
  for (const [name, text] of files) {
    mkdirSync(dirname(join(out, name)), { recursive: true });
    writeFileSync(join(out, name), text);
  }
}
