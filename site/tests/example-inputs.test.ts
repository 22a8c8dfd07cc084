/* example-inputs.test.ts -- the inputs of every example, changed as a visitor changes
 * them: each one runs the whole example again; whole numbers stay whole.
 */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { kindOf, refusal, withEntry } from '../src/components/EditInputs';
import { stepOf } from '../src/components/numbers';
import { loadEngine } from '../src/engine/index';
import type { Engine } from '../src/engine/types';
import { examples } from '../src/examples/registry';
import type { Example, ExampleTensor } from '../src/examples/types';

const NAMES = Object.keys(examples);
let engine: Engine;
const found = new Map<string, { example: Example; tensors: readonly ExampleTensor[] }>();

beforeAll(async () => {
  engine = await loadEngine(readFileSync(new URL('../../build/wasm/vitrine.wasm', import.meta.url)));
  for (const name of NAMES) {
    const { example } = await examples[name]!();
    found.set(name, { example, tensors: example.run(engine, example.inputs) });
  }
});

const flat = (x: Example['inputs'][string] | undefined): number[] => ((x ?? []) as readonly (number | readonly number[])[]).flat();
const other = (t: ExampleTensor, x: number): number => (t.whole ? (x === t.whole.most ? t.whole.least : x + 1) : x + 0.375);

describe.each(NAMES)('%s', (name) => {
  test('what is drawn as an input is the input of that name', () => {
    const { example, tensors } = found.get(name)!;
    for (const t of tensors.filter((u) => u.input)) expect([...t.data], t.id).toEqual(flat(example.inputs[t.from ?? t.id]));
  });

  test('the first, a middle and the last entry of every input can be changed, and something computed changes with each input', () => {
    const { example, tensors } = found.get(name)!;
    for (const t of tensors.filter((u) => u.input)) {
      let moved = 0;
      for (const k of new Set([0, Math.floor(t.data.length / 2), t.data.length - 1])) {
        const value = other(t, t.data[k]!);
        const inputs = withEntry(example.inputs, t.from ?? t.id, k, value);
        const again = new Map(example.run(engine, inputs).map((u) => [u.id, u]));
        expect([...again.get(t.id)!.data], `${t.id}, entry ${k}`).toEqual([...t.data].map((y, i) => (i === k ? value : y)));
        moved += tensors.filter((u) => !u.input && u.data.some((y, i) => y !== again.get(u.id)!.data[i])).length;
      }
      expect(moved, t.id).toBeGreaterThan(0);
    }
    expect(example.run(engine, example.inputs).map((t) => [...t.data])).toEqual(tensors.map((t) => [...t.data]));
  });
});

test('the ids of tokens and the targets are whole numbers within the vocabulary; others are refused with what is expected', () => {
  for (const [name, id, least] of [['embedding', 'tokens', 0], ['loss', 'targets', -1]] as const) {
    const t = found.get(name)!.tensors.find((u) => u.id === id)!;
    for (let k = least; k <= 4; k++) expect(refusal(t, k), `${id} ${k}`).toBeNull();
    for (const x of [least - 1, 5, 0.5, 1e9]) expect(refusal(t, x), `${id} ${x}`).toContain(kindOf(t.whole!));
  }
  const free = found.get('embedding')!.tensors.find((u) => u.id === 'wte')!;
  expect(refusal(free, 0.5)).toBeNull();
});

test('the rows of an input stay rows', () => {
  expect(withEntry({ a: [[1, 2], [3, 4]], b: [5, 6] }, 'a', 2, 9)).toEqual({ a: [[1, 2], [9, 4]], b: [5, 6] });
  expect(withEntry({ a: [[1, 2], [3, 4]], b: [5, 6] }, 'b', 1, 9)).toEqual({ a: [[1, 2], [3, 4]], b: [5, 9] });
});

test('steps are the doubles nearest to the powers of ten', () => {
  expect([0, 1, 5, 8, 16, 30].map(stepOf)).toEqual([1, 1e-1, 1e-5, 1e-8, 1e-16, 1e-30]);
  /* squared, in whole numbers: 10^31 times the square of 10^-k-1/2 is 10^(30-2k) */
  for (const k of [0.5, 1.5, 7.5, 15.5]) expect(Math.abs(stepOf(k) ** 2 * Number(`1e${2 * k}`) - 1)).toBeLessThan(2 ** -50);
});
