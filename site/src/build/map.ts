/* map.ts -- reads build/site-work/map.json and holds it against the tree: a map that is stale is a fault. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SourceMap } from '../components/site-data';
import type { Faults } from './faults';

export function readMap(file: string): SourceMap {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    throw new Error(`${file}: not there; tools/map writes it (tools/site calls it)`);
  }
  return JSON.parse(text) as SourceMap;
}

/** The text of files of the tree, by line. */
export class Tree {
  private readonly texts = new Map<string, string>();
  constructor(private readonly root: string) {}

  text(file: string): string {
    let text = this.texts.get(file);
    if (text === undefined) {
      if (file.startsWith('/') || file.split('/').includes('..')) throw new Error(`${file}: not a path inside the tree`);
      text = readFileSync(join(this.root, file), 'utf8');
      this.texts.set(file, text);
    }
    return text;
  }

  line(file: string, n: number): string {
    const line = this.text(file).split('\n')[n - 1];
    if (line === undefined) throw new Error(`${file}:${n}: the file has no such line`);
    return line;
  }
}

/** Every line that the map names for a label is in the tree and carries the label. */
export function checkMap(map: SourceMap, tree: Tree, faults: Faults): void {
  for (const [label, entry] of Object.entries(map.labels)) {
    if (entry.lines.length === 0) faults.add('map.json', label, 'no line computes it');
    for (const at of [entry.equation, ...entry.lines]) {
      const line = faults.guard('map.json', label, () => tree.line(at.file, at.line));
      if (line !== null && !line.includes(label)) faults.add('map.json', label, `${at.file}:${at.line} does not hold the label; the map is stale, or the line moved`);
    }
  }
  for (const [name, f] of Object.entries(map.functions)) {
    faults.guard('map.json', name, () => tree.line(f.file, f.end));
  }
}
