/* assets.ts -- files that Vite made for the browser, by the modules they came from. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import registryText from '../pages/islands.ts?raw';
import examplesText from '../examples/registry.ts?raw';

interface Chunk {
  readonly file: string;
  readonly name?: string;
  readonly isDynamicEntry?: boolean;
  readonly css?: readonly string[];
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
}
type Manifest = Readonly<Record<string, Chunk>>;

/** NAME: () => import('PATH') of a registry, as paths from the folder site/. */
export function registryPaths(text: string, folder: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, quoted, plain, path] of text.matchAll(/^ {2}(?:'([^']+)'|([a-z0-9]+)): \(\) => import\('([^']+)'\)/gm)) {
    found.set((quoted ?? plain) as string, join(folder, path as string));
  }
  return found;
}

export class Assets {
  private readonly islandPaths = registryPaths(registryText, 'src/pages');
  private readonly examplePaths = registryPaths(examplesText, 'src/examples');

  constructor(private readonly manifest: Manifest) {}

  static read(file: string): Assets {
    return new Assets(JSON.parse(readFileSync(file, 'utf8')) as Manifest);
  }

  private key(path: string): string | null {
    if (path === '') return null;
    for (const end of ['', '.ts', '.tsx', '/index.ts', '/index.tsx']) if (path + end in this.manifest) return path + end;
    // A chunk that other chunks import from, too, goes by its name instead.
    const name = path.slice(path.lastIndexOf('/') + 1);
    return Object.keys(this.manifest).find((k) => k.startsWith('_') && this.manifest[k]?.isDynamicEntry === true && this.manifest[k]?.name === name) ?? null;
  }

  /** A module and all that it imports at once. */
  private closure(key: string, seen = new Set<string>()): Set<string> {
    if (seen.has(key)) return seen;
    seen.add(key);
    for (const next of this.manifest[key]?.imports ?? []) this.closure(next, seen);
    return seen;
  }

  private keysOf(islands: Iterable<string>): Set<string> {
    const keys = this.closure('src/client/main.ts');
    for (const name of islands) {
      const key = this.key(this.islandPaths.get(name) ?? '');
      if (key !== null) this.closure(key, keys);
    }
    return keys;
  }

  get entry(): string {
    return this.manifest['src/client/main.ts']?.file ?? '';
  }

  get theme(): string {
    return this.manifest['src/client/theme.ts']?.file ?? '';
  }

  /** Style sheets of a page with these islands, each once. */
  styles(islands: Iterable<string>): string[] {
    return [...new Set([...this.keysOf(islands)].flatMap((k) => this.manifest[k]?.css ?? []))];
  }

  /** Script files that a page with these islands and examples loads at its start, the engine's included. */
  scripts(islands: Iterable<string>, examples: Iterable<string>): string[] {
    const names = [...islands];
    const keys = this.keysOf(names);
    for (const name of examples) {
      const key = this.key(this.examplePaths.get(name) ?? '');
      if (key !== null) this.closure(key, keys);
    }
    const engine = this.key('src/engine/index');
    if (engine !== null && names.length > 0) this.closure(engine, keys);
    const files = [...keys].map((k) => this.manifest[k]?.file ?? '').filter((f) => f !== '');
    return [...new Set([...files, this.theme])];
  }
}
