/* elementary.test.ts -- the example of exp, log and tanh: its values against the platform's
 * own, and each ledger's operands put together again. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadEngine } from '../src/engine/index';
import { convergent, example } from '../src/examples/elementary';
import type { ExampleTensor } from '../src/examples/types';

const tensors = new Map<string, ExampleTensor>();
beforeAll(async () => {
  const engine = await loadEngine(readFileSync(new URL('../../build/wasm/vitrine.wasm', import.meta.url)));
  for (const t of example.run(engine, example.inputs)) tensors.set(t.id, t);
});
const of = (id: string): ExampleTensor => {
  const t = tensors.get(id);
  if (!t) throw new Error(`no tensor ${id}`);
  return t;
};
/** A row of a ledger, read back as a number. */
const read = (t: ExampleTensor, c: number, head: string): number => {
  const ledger = t.ledger(0, c), row = [...ledger.rows, ...(ledger.total ? [ledger.total] : [])].find((r) => r.head === head);
  if (!row) throw new Error(`${t.id}[${c}]: no row "${head}"`);
  return Number(String(row.cells[0]).replace(/\u2212/g, '-'));
};
const ulps = (a: number, b: number): number => Math.abs(a - b) / (2 ** -52 * Math.abs(b));

test('values are the platform\'s, within two ulp, and log takes exp back', () => {
  of('x').data.forEach((x, c) => {
    expect(ulps(of('exp').data[c]!, Math.exp(x))).toBeLessThanOrEqual(2);
    expect(ulps(of('tanh').data[c]!, Math.tanh(x))).toBeLessThanOrEqual(2);
    /* an ulp of e^x is one of 2^-52 in x, and log rounds once more */
    expect(of('back').data[c]!).toBeLessThanOrEqual(2 ** -52 * (1 + Math.abs(x)));
  });
});

describe('ledgers', () => {
  test('2^k e^r is e^x, k is whole, r is at most half of ln 2', () => {
    of('x').data.forEach((_, c) => {
      const t = of('exp'), k = Math.log2(read(t, c, '2^k')), r = read(t, c, 'r = x \u2212 k ln 2');
      expect(Number.isInteger(k)).toBe(true);
      expect(Math.abs(r)).toBeLessThanOrEqual(Math.LN2 / 2);
      expect(read(t, c, 'e^x')).toBe(t.data[c]);
      expect(ulps(read(t, c, '2^k') * read(t, c, 'e^r'), t.data[c]!)).toBeLessThanOrEqual(4);
    });
  });
  test('k ln 2 + log(1 + f) is log y, 2^k (1 + f) is y, |f| is at most sqrt 2 - 1', () => {
    of('x').data.forEach((_, c) => {
      const t = of('log'), f = read(t, c, 'f = y / 2^k \u2212 1'), k = read(t, c, 'k');
      expect(Math.abs(f)).toBeLessThanOrEqual(Math.SQRT2 - 1);
      expect(2 ** k * (1 + f)).toBe(of('exp').data[c]);
      expect(read(t, c, 'log y')).toBe(t.data[c]);
      expect(Math.abs(read(t, c, 'k ln 2') + read(t, c, 'log(1 + f)') - t.data[c]!)).toBeLessThanOrEqual(2 ** -50);
    });
  });
  test('tanh: by the exponential far from zero, by the fraction near it', () => {
    const t = of('tanh'), ways = new Set<string>();
    of('x').data.forEach((x, c) => {
      expect(read(t, c, 'tanh x')).toBe(t.data[c]);
      const far = t.ledger(0, c).rows.some((r) => r.head === 'e^(2x)');
      ways.add(far ? 'far' : 'near');
      expect(far).toBe(Math.abs(x) > 0.55);
      if (far) expect(Math.abs(1 - read(t, c, '2 / (e^(2x) + 1)') - t.data[c]!)).toBeLessThanOrEqual(2 ** -51);
      else expect(Math.abs(read(t, c, '4 quotients') - t.data[c]!)).toBeLessThan(1e-6);
    });
    expect([...ways].sort()).toEqual(['far', 'near']);
  });
});

test('the fraction, cut off after one to three quotients', () => {
  const a = 0.5;
  expect(convergent(a, 1)).toBe(0.5);
  expect(convergent(a, 2)).toBeCloseTo((3 * a) / (3 + a * a), 15);
  expect(convergent(a, 3)).toBeCloseTo((a * (15 + a * a)) / (15 + 6 * a * a), 15);
  expect(Math.abs(convergent(a, 9) - Math.tanh(a))).toBeLessThan(1e-15);
});
