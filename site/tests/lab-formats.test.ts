/* lab-formats.test.ts -- tensors as text read back to the same doubles; pictures keep
 * tokens as text; numbers and colours as the look says. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { colour, contrast, gradient, magnitude, paint } from '../src/components/colour';
import { gridKey } from '../src/components/grid-keys';
import { pointer } from '../src/components/Legend';
import { bits, fmt, full, parseNumber, sci, short } from '../src/components/numbers';
import { visible, visibleText } from '../src/components/Tokens';
import { write, type Table } from '../src/lab/formats';
import { escapeXml, toSvg } from '../src/lab/svg';

const data = [0.1, -2.5e-17, -Infinity, 1 / 3, -0, 123456789.123, 5e-324, 1.7976931348623157e308, 3];
const table: Table = { name: 'S', rows: 3, columns: 3, data, source: 'Illustrative example\n*/ int evil; /*' };
const same = (back: readonly number[]): void => {
  expect(back.length).toBe(9);
  back.forEach((x, k) => expect(Object.is(x, data[k]), `${k}: ${x}`).toBe(true));
};
const read = (t: string): number => ({ inf: Infinity, '-inf': -Infinity, nan: NaN })[t] ?? Number(t);

describe('a tensor as text', () => {
  it('CSV reads back', () => same(write(table, 'csv').trim().split('\n').flatMap((l) => l.split(',').map(read))));

  it('JSON reads back, with its shape', () => {
    const back = JSON.parse(write(table, 'json')) as { shape: number[]; data: (number | string)[][] };
    expect(back.shape).toEqual([3, 3]);
    /* JSON has -0, too; JavaScript's writer drops the sign, which no zero of a page depends on. */
    expect(back.data.flat().map((x) => (typeof x === 'string' ? read(x) : x))).toEqual(data.map((x) => x + 0));
  });

  it('NumPy text reads back', () => {
    const text = write(table, 'numpy');
    expect(text).toMatch(/^# [^\n]*\nimport numpy as np\nS = np\.array\(\[\n/);
    const rows = [...text.matchAll(/^ {4}\[(.*)\],$/gm)].map((m) => (m[1] as string).split(', ').map((t) => read(t.replace('np.', ''))));
    same(rows.flat());
  });

  it('NumPy itself reads the same bits', (context) => {
    try {
      execFileSync('/usr/bin/python3', ['-c', 'import numpy'], { stdio: 'ignore' });
    } catch {
      context.skip('SKIPPED: /usr/bin/python3 has no numpy');
    }
    const program = `${write(table, 'numpy')}\nimport sys\nsys.stdout.write(S.tobytes().hex() + ' ' + str(S.shape))`;
    const [hex, ...shape] = execFileSync('/usr/bin/python3', ['-c', program], { encoding: 'utf8' }).split(' ');
    expect(shape.join(' ')).toBe('(3, 3)');
    expect(hex).toBe(Buffer.from(Float64Array.from(data).buffer).toString('hex'));
  });

  it('C compiles, with no number turned into an int, and holds the same bits', (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'vitrine-formats-'));
    try {
      writeFileSync(join(folder, 't.c'), `${write(table, 'c')}#include <stdio.h>\n#include <string.h>\nint main(void) { unsigned char b[sizeof S]; memcpy(b, S, sizeof S); for (size_t i = 0; i < sizeof S; i++) printf("%02x", b[i]); return 0; }\n`);
      try {
        execFileSync('cc', ['-Wall', '-Werror', '-o', join(folder, 't'), join(folder, 't.c')], { stdio: 'pipe' });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') context.skip('SKIPPED: no C compiler');
        throw error;
      }
      expect(execFileSync(join(folder, 't'), { encoding: 'utf8' })).toBe(Buffer.from(Float64Array.from(data).buffer).toString('hex'));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a picture', () => {
  const hostile = '<img src=x onerror=alert(1)>"\'&\u0000]]>';
  it('keeps tokens as text, also in titles', () => {
    const { text } = toSvg({ title: hostile, source: hostile, data: [1, 0, 0.5, 0.5], rows: 2, columns: 2, scale: 'weight', domain: 1, rowLabels: [hostile, 'b'],
      columnLabels: [hostile, 'b'], rowAxis: hostile, columnAxis: hostile, masked: (r, c) => c > r, chosen: [0, 0] }, 'light');
    const tags = new Set([...text.matchAll(/<\/?([a-zA-Z]+)/g)].map((m) => m[1]));
    expect([...tags].sort()).toEqual(['defs', 'g', 'pattern', 'rect', 'svg', 'text', 'title']);
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(text).not.toMatch(/[\u0000-\u0008]/);
    expect(text.match(/masked, 0/g)?.length).toBe(1);
    expect(escapeXml('a<b>&"\'')).toBe('a&lt;b&gt;&amp;&quot;&#39;');
  });
});

describe('tokens', () => {
  it('show spaces, line ends and bytes that are no characters', () => {
    expect(visibleText(' cat\n')).toBe('\u00b7cat\\n');
    expect(visible(Uint8Array.of(0x20, 0xe5, 0x5c))).toBe('\\x20\\xe5\\');
    expect(visible(new TextEncoder().encode('\u202eevil\u200b'))).toBe('\\u202eevil\\u200b');
  });
});

describe('numbers', () => {
  it('are written one way', () => {
    expect([fmt(0.28544), fmt(-0.0704), fmt(0), fmt(-0), fmt(3e-18), fmt(-4e-4), fmt(-Infinity), fmt(NaN), fmt(1), fmt(0.28544, 4)])
      .toEqual(['0.285', '\u22120.070', '0', '0', '3e\u221218', '\u22124e\u22124', '\u2212\u221e', 'NaN', '1.000', '0.2854']);
    expect([sci(2.2e-16), sci(0), sci(1.5e20)]).toEqual(['2.2e\u221216', '0', '1.5e20']);
    expect([full(0.1), full(-0), full(-1e-7)]).toEqual(['0.1', '\u22120', '\u22121e\u22127']);
    expect([bits(1), bits(-2), bits(0.1)]).toEqual(['0x3FF0000000000000', '0xC000000000000000', '0x3FB999999999999A']);
    expect([short(0.14, true), short(0.04, true), short(1, true), short(-1.26, false), short(0.01, false)]).toEqual(['14', '', '100', '\u22121.3', '']);
  });
  it('are read as people type them, or not at all', () => {
    expect(['0.25', '\u22121,5', ' -2 ', '.5', '1e-3', '5.'].map(parseNumber)).toEqual([0.25, -1.5, -2, 0.5, 1e-3, 5]);
    expect(['', 'x', '1..2', '1 2', 'Infinity', 'NaN', '1e999', '0x10', '--1'].map(parseNumber)).toEqual(Array(9).fill(null));
  });
});

describe('colours', () => {
  it('carry digits with contrast of at least 4.5 to 1', () => {
    // What a cell does not say, the style sheet does.
    const [, lf = '', df = ''] = /:root \{ --lf: #([0-9a-f]+); --df: #([0-9a-f]+) \}/.exec(readFileSync(resolve(__dirname, '../src/style/figure.css'), 'utf8')) ?? [];
    const rule = { lf, df };
    let compared = 0;
    for (const scale of ['weight', 'signed'] as const)
      for (let k = 0; k <= 400; k++) {
        const style = paint(scale, scale === 'weight' ? k / 400 : k / 200 - 1);
        const said = new Map([...style.matchAll(/--(lf?|df?):#([0-9a-f]+)/g)].map((m) => [m[1], m[2] as string] as const));
        const [l, lf, d, df] = [said.get('l'), said.get('lf') ?? rule.lf, said.get('d'), said.get('df') ?? rule.df];
        const rgb = (hex: string): [number, number, number] => {
          const six = hex.length === 3 ? [...hex].map((c) => c + c).join('') : hex;
          return [0, 2, 4].map((at) => parseInt(six.slice(at, at + 2), 16)) as [number, number, number];
        };
        for (const [ground, digits] of [[l, lf], [d, df]] as const) {
          expect(contrast(rgb(ground as string), rgb(digits as string)), style).toBeGreaterThanOrEqual(4.5);
          compared++;
        }
      }
    expect(compared).toBe(1604);
  });
  it('of weights grow evenly darker in light, lighter in dark', () => {
    const grey = (t: number, theme: 'light' | 'dark'): number => contrast(colour('weight', t, theme), theme === 'light' ? [255, 255, 255] : [0, 0, 0]);
    for (const theme of ['light', 'dark'] as const)
      for (let k = 1; k <= 100; k++) expect(grey(k / 100, theme)).toBeGreaterThan(grey((k - 1) / 100, theme));
  });
  it('of the legend are those of the cells', () => {
    const css = readFileSync(resolve(__dirname, '../src/style/figure.css'), 'utf8');
    for (const scale of ['weight', 'signed'] as const) {
      expect(css.split(gradient(scale, 'light')).length - 1, scale).toBe(1);
      expect(css.split(gradient(scale, 'dark')).length - 1, scale).toBe(2);
    }
  });
  it('never clip: the domain is the largest magnitude, minus infinity aside', () => {
    expect(magnitude([1, -3, -Infinity], [2])).toBe(3);
    expect(magnitude([0, 0])).toBe(1);
    expect([pointer('signed', 2, -2), pointer('signed', 2, 0), pointer('weight', 1, 0.25), pointer('signed', 2, -Infinity)]).toEqual([0, 0.5, 0.25, null]);
  });
});

describe('the keys of a grid', () => {
  it('move within it', () => {
    const key = (name: string, ctrl = false, row = 1, column = 1): readonly [number, number] | null => gridKey({ key: name, ctrlKey: ctrl, metaKey: false, altKey: false }, row, column, 3, 4);
    expect(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End'].map((k) => key(k))).toEqual([[1, 0], [1, 2], [0, 1], [2, 1], [1, 0], [1, 3]]);
    expect([key('Home', true), key('End', true), key('ArrowUp', false, 0, 0), key('ArrowLeft', false, 0, 0), key('x')]).toEqual([[0, 0], [2, 3], [0, 0], [0, 0], null]);
  });
});
