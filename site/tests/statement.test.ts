/* statement.test.ts -- a line of C is shown with the statement that it belongs to. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { statementAt } from '../src/build/site-data';

const of = (text: string, line: number): string => statementAt(text.split('\n'), line);
const call = 'before();\n    CALL(forward, a, b,\n         N, C);            /* block.ln1 */\nafter();';
const loop = 'for (int i = 0; i < C; i++)\n    y += x[i];  /* linear.y */\n}';

describe('the statement of a line', () => {
  it('is the line itself where that is whole', () => {
    expect(of(call, 1)).toBe('before();');
    expect(of(call, 4)).toBe('after();');
  });
  it('is joined from its first line, wherever the label stands', () => {
    expect(of(call, 3)).toBe('CALL(forward, a, b, N, C);');
    expect(of(call, 2)).toBe('CALL(forward, a, b, N, C);');
  });
  it('leaves out the loop above and the comment above', () => {
    expect(of(loop, 2)).toBe('y += x[i];');
    expect(of('/* adds a,\n * b */\ndx += y;', 3)).toBe('dx += y;');
  });
  it('finds every line of the wiring whole', () => {
    const lines = readFileSync(new URL('../../src/model/gpt.c', import.meta.url), 'utf8').split('\n');
    const labelled = lines.flatMap((text, k) => (/\/\* [a-z]+\.[a-z0-9]+( [a-z]+\.[a-z0-9]+)* \*\/$/.test(text) ? [k + 1] : []));
    expect(labelled.length).toBeGreaterThan(20);
    for (const n of labelled) {
      const text = statementAt(lines, n), count = (c: string): number => text.split(c).length;
      expect(count('('), `line ${n}: ${text}`).toBe(count(')'));
    }
  });
});
