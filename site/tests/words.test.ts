/* words.test.ts -- no number is typed in the words of a concept: numbers come from the code. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../content/', import.meta.url));

/** Names that hold a digit. */
const NAMES = /GPT-2|UTF-8/g;

/** Words without code, mathematics and addresses. */
function plain(text: string): string {
  return text.replace(NAMES, '').replace(/`[^`]*`/g, '').replace(/\$[^$]*\$/g, '').replace(/\]\([^)]*\)/g, ']');
}

const WORDS = ['title', 'what', 'why', 'status'] as const;

describe('numbers in words', () => {
  it('are seen', () => {
    expect(plain('see `a[0]`, $x_1$ and [this](b.html#c1)')).not.toMatch(/[0-9]/);
    expect(plain('about 12 percent')).toMatch(/[0-9]/);
  });
  const pages = readdirSync(root, { withFileTypes: true }).filter((d) => d.isDirectory() && d.name !== 'inputs').map((d) => d.name);
  for (const page of pages) {
    for (const file of readdirSync(`${root}${page}`)) {
      it(`${page}/${file} has none`, () => {
        const c = parse(readFileSync(`${root}${page}/${file}`, 'utf8')) as Record<string, string> & { example: { text?: string }; equations: { title: string }[] };
        for (const text of [...WORDS.map((w) => c[w] as string), c.example.text ?? '', ...c.equations.map((e) => e.title)]) expect(plain(text)).not.toMatch(/[0-9]/);
      });
    }
  }
});
