/* anymask.test.ts -- the example of attention under any mask: forward against plain sums,
 * backward against differences of those sums, and each ledger against its number. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadEngine } from '../src/engine/index';
import { example } from '../src/examples/anymask';
import type { ExampleTensor } from '../src/examples/types';

type Grid = number[][];
const inputs = Object.fromEntries(Object.entries(example.inputs).map(([name, x]) => [name, (x as number[][]).map((row) => [...row])])) as Record<string, Grid>;
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
const near = (found: Float64Array, wanted: Grid, tolerance: number): void =>
  wanted.flat().forEach((x, k) => expect(Math.abs(found[k]! - x)).toBeLessThanOrEqual(tolerance));

/** Weights and mixtures, by plain sums over what the mask lets through. */
function plain({ q, k, v, mask }: Record<string, Grid>): { a: Grid; o: Grid } {
  const a = q!.map((query, i) => {
    const e = k!.map((key, j) => (mask![i]![j] ? Math.exp(query.reduce((x, y, c) => x + y * key[c]!, 0) / Math.sqrt(query.length)) : 0));
    const total = e.reduce((x, y) => x + y, 0);
    return e.map((x) => (total === 0 ? 0 : x / total));
  });
  return { a, o: a.map((row) => v![0]!.map((_, c) => row.reduce((x, y, j) => x + y * v![j]![c]!, 0))) };
}
const loss = (x: Record<string, Grid>): number => plain(x).o.reduce((sum, row, i) => sum + row.reduce((s, y, c) => s + y * x['do']![i]![c]!, 0), 0);

test('weights and mixtures are plain sums over what may be read', () => {
  near(of('a').data, plain(inputs).a, 1e-15);
  near(of('o').data, plain(inputs).o, 1e-15);
});

test('one query may read nothing: its weights, mixture and gradient are exactly zero', () => {
  const none = inputs['mask']!.findIndex((row) => row.every((x) => x === 0));
  expect(none).toBeGreaterThanOrEqual(0);
  for (const id of ['a', 'o', 'da', 'ds', 'dq']) {
    const t = of(id), width = t.shape[1]!;
    expect([...t.data.slice(none * width, (none + 1) * width)].every((x) => x === 0), id).toBe(true);
  }
});

test.each(['q', 'k', 'v'])('the gradient of %s is the slope of the loss', (name) => {
  const h = 1e-5;
  const wanted = inputs[name]!.map((row, r) => row.map((_, c) => {
    const moved = (by: number): number => loss({ ...inputs, [name]: inputs[name]!.map((line, n) => line.map((x, m) => (n === r && m === c ? x + by : x))) });
    return (moved(h) - moved(-h)) / (2 * h);
  }));
  near(of(`d${name}`).data, wanted, 1e-9);
  expect(wanted.flat().some((x) => Math.abs(x) > 0.01)).toBe(true);
});

describe('ledgers', () => {
  test('end in the number of their cell; what the mask hides says so', () => {
    let hidden = 0;
    for (const t of tensors.values()) {
      const [height, width] = [t.shape[0]!, t.shape[1]!];
      for (let row = 0; row < height; row++) for (let column = 0; column < width; column++) {
        const ledger = t.ledger(row, column), value = t.data[row * width + column]!;
        for (const r of ledger.rows) expect(r.cells.length, `${t.id}: ${r.head}`).toBe(ledger.columns.length);
        if (t.masked?.(row, column)) {
          hidden++;
          expect(value === 0).toBe(true);         /* or -0: 0 times a negative number */
          expect(ledger.rows[0]?.masked).toBe(true);
        } else if (t.id === 'a' || t.id === 'ds') {
          expect(ledger.rows.filter((r) => r.chosen).length).toBe(1);
          if (t.id === 'a') expect(ledger.rows.find((r) => r.chosen)?.cells[3]).toBe(value);
        } else expect((ledger.total ?? ledger.rows[ledger.rows.length - 1])?.cells.at(-1)).toBe(value);
      }
    }
    const zeros = inputs['mask']!.flat().filter((x) => x === 0).length;
    expect(hidden).toBe(4 * zeros);
  });
  test('products add up to the number', () => {
    for (const id of ['o', 'da', 'dv', 'dq', 'dk']) {
      const t = of(id), width = t.shape[1]!;
      for (let row = 0; row < t.shape[0]!; row++) for (let column = 0; column < width; column++) {
        if (t.masked?.(row, column)) continue;
        const sum = t.ledger(row, column).rows.reduce((s, r) => s + (r.cells[2] as number), 0);
        expect(Math.abs(sum - t.data[row * width + column]!), id).toBeLessThanOrEqual(1e-15);
      }
    }
  });
});
