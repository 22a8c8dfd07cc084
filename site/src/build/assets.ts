/* assets.ts -- files that Vite made for the browser, by the modules that are in them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import registryText from '../pages/islands.ts?raw';
import examplesText from '../examples/registry.ts?raw';

/** One entry of chunks.json (vite.config.ts). */
export interface Chunk {
  readonly file: string;
  /** Its modules of ours, from the folder site/. */
  readonly modules: readonly string[];
  /** Files of chunks that it imports at once. */
  readonly imports: readonly string[];
  readonly css: readonly string[];
}

/** NAME: () => import('PATH') of a registry, as paths from the folder site/. */
export function registryPaths(text: string, folder: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, quoted, plain, path] of text.matchAll(/^ {2}(?:'([^']+)'|([A-Za-z0-9]+)): \(\) => import\('([^']+)'\)/gm)) {
    found.set((quoted ?? plain) as string, join(folder, path as string));
  }
  return found;
}

export class Assets {
  private readonly byFile: ReadonlyMap<string, Chunk>;
  private readonly byModule: ReadonlyMap<string, Chunk>;

  constructor(
    chunks: readonly Chunk[],
    private readonly islandPaths = registryPaths(registryText, 'src/pages'),
    private readonly examplePaths = registryPaths(examplesText, 'src/examples'),
  ) {
    this.byFile = new Map(chunks.map((c) => [c.file, c]));
    this.byModule = new Map(chunks.flatMap((c) => c.modules.map((m) => [m, c] as const)));
  }

  static read(file: string): Assets {
    return new Assets(JSON.parse(readFileSync(file, 'utf8')) as Chunk[]);
  }

  private chunkOf(path: string): Chunk {
    for (const end of ['', '.ts', '.tsx', '/index.ts', '/index.tsx']) {
      const chunk = this.byModule.get(path + end);
      if (chunk) return chunk;
    }
    throw new Error(`chunks.json: no chunk has the module ${path}`);
  }

  /** The chunk of a registered name. */
  private named(paths: ReadonlyMap<string, string>, name: string): Chunk {
    const path = paths.get(name);
    if (path === undefined) throw new Error(`"${name}" is in no registry line of the form  name: () => import('./path'),`);
    return this.chunkOf(path);
  }

  /** Adds a chunk and all that it imports at once. */
  private close(chunk: Chunk, into: Set<Chunk>): void {
    if (into.has(chunk)) return;
    into.add(chunk);
    for (const file of chunk.imports) {
      const next = this.byFile.get(file);
      if (next) this.close(next, into);
    }
  }

  /** Chunks that a page with these islands and examples loads at its start; `whole`: with all of the engine. */
  private chunks(islands: Iterable<string>, examples: Iterable<string>, whole: boolean): Set<Chunk> {
    const found = new Set<Chunk>();
    this.close(this.chunkOf('src/client/main.ts'), found);
    for (const name of islands) this.close(this.named(this.islandPaths, name), found);
    for (const name of examples) this.close(this.named(this.examplePaths, name), found);
    if (whole) this.close(this.chunkOf('src/engine/whole'), found);
    return found;
  }

  get entry(): string {
    return this.chunkOf('src/client/main.ts').file;
  }

  get theme(): string {
    return this.chunkOf('src/client/theme.ts').file;
  }

  /** Style sheets of a page with these islands, each once. */
  styles(islands: Iterable<string>): string[] {
    return [...new Set([...this.chunks(islands, [], false)].flatMap((c) => c.css))];
  }

  /** Script files that a page loads at its start. */
  scripts(islands: Iterable<string>, examples: Iterable<string>, whole: boolean): string[] {
    return [...new Set([...this.chunks(islands, examples, whole)].map((c) => c.file)), this.theme];
  }

  /** Script files that come when a part that waits is asked for. */
  askedFor(islands: Iterable<string>, examples: readonly string[], whole: boolean, waiting: Iterable<string>): string[] {
    const there = new Set(this.scripts(islands, examples, whole));
    return this.scripts(waiting, examples, false).filter((file) => !there.has(file));
  }
}
