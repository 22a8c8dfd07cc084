/* verdict.test.ts -- the lab's verdicts and the gates of the build: right numbers hold, and one wrong number,
 * planted here, is seen and named. */
import { readFileSync } from 'node:fs';
import { h } from 'preact';
import renderToString from 'preact-render-to-string';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkGaps, checkVerdict } from '../src/build/gates';
import { Faults } from '../src/build/faults';
import { checkLab } from '../src/codelab/Checks';
import { loadEngine } from '../src/engine/index';
import type { AttentionParameter, Engine } from '../src/engine/types';
import { exampleLayer } from '../src/examples/attention';
import { moved, toAttentionInputs } from '../src/examples/attention-inputs';
import type { AttentionLayer, LayerTensor } from '../src/examples/attention-layer';
import { FIRST } from '../src/examples/codelab';
import { gapTensor } from '../src/examples/gap';
import { examples } from '../src/examples/registry';
import { PARAMETERS } from '../src/lab/lab-state';
import { CURVE, Three } from '../src/lab/Prove';
import { invariantsOf, judgeDerivative, largestOf, termsOf } from '../src/lab/verdict';
import { stepOf } from '../src/components/numbers';

let engine: Engine;
let layer: AttentionLayer;
const inputs = toAttentionInputs();
beforeAll(async () => {
  engine = await loadEngine(readFileSync(new URL('../../build/wasm/vitrine.wasm', import.meta.url)));
  layer = exampleLayer(engine, inputs);
});

const gradientOf = (of: AttentionLayer, parameter: AttentionParameter): Float64Array => of.tensor(`d${parameter}` as LayerTensor);
const STEPS = Float64Array.of(1e-5, 1e-30);

/** Entries of a parameter whose verdict is that they do not agree; `plant` changes the claim. */
function wrong(given: typeof inputs, parameter: AttentionParameter, plant = (hand: number): number => hand): number {
  const of = exampleLayer(engine, given), gradient = gradientOf(of, parameter), terms = termsOf(of, parameter);
  return [...gradient.keys()].filter((entry) => {
    const d = engine.attentionDerivative(given, parameter, entry, STEPS);
    return !judgeDerivative(plant(d.hand), d.complex[1] as number, gradient, terms).holds;
  }).length;
}

describe('the derivative by hand', () => {
  it('agrees with the complex step in every entry of every parameter', () => {
    for (const parameter of PARAMETERS) expect(wrong(inputs, parameter), parameter).toBe(0);
  });
  it('agrees where its gradient is rounding alone: the bias of the keys, and scores whose gradients cancel', () => {
    expect(largestOf(gradientOf(layer, 'bk'))).toBeLessThan(1e-15);
    /* all rows of V the same: softmax has no effect on the output, whatever the scores */
    const flat = { ...inputs, Wv: new Float64Array(inputs.Wv.length), bv: inputs.bv.map((x) => x + 1 / 3) };
    for (const parameter of PARAMETERS) expect(wrong(flat, parameter), parameter).toBe(0);
    for (const entry of [0, 5, 9]) expect(wrong(moved(inputs, 'Wk', entry, 3), 'Wk')).toBe(0);
  });
  it('does not agree with one wrong digit, a wrong sign, zero, or what is no number', () => {
    for (const parameter of PARAMETERS.filter((p) => p !== 'bk')) {
      const count = gradientOf(layer, parameter).length, largest = largestOf(gradientOf(layer, parameter));
      for (const plant of [(x: number) => x + 1e-10 * largest, (x: number) => x - 1e-10 * largest, () => NaN, () => Infinity]) expect(wrong(inputs, parameter, plant), parameter).toBe(count);
      expect(wrong(inputs, parameter, (x) => -x), parameter).toBeGreaterThan(count / 2);
      expect(wrong(inputs, parameter, () => 0), parameter).toBeGreaterThan(count / 2);
    }
    expect(wrong(inputs, 'bk', (x) => x + 1e-10)).toBe(inputs.bk.length);
    expect(judgeDerivative(0, 0.25, new Float64Array(3), 1).holds).toBe(false);
  });
  it('proves nothing where numbers overflowed', () => {
    expect(judgeDerivative(1, 1, [1, Infinity], 1).holds).toBe(false);
    expect(judgeDerivative(1, 1, [1, NaN], 1).holds).toBe(false);
    expect(judgeDerivative(1, 1, [1, 1], NaN).holds).toBe(false);
    expect(judgeDerivative(1, 1, [1, 1], 1).holds).toBe(true);
  });
  it('has its verdict in words and with a sign', () => {
    const d = engine.attentionDerivative(inputs, 'Wq', 3, STEPS), gradient = gradientOf(layer, 'Wq'), terms = termsOf(layer, 'Wq');
    const curve = engine.attentionDerivative(inputs, 'Wq', 3, Float64Array.from(CURVE, stepOf));
    const text = (hand: number): string => renderToString(h(Three, { p: { h: 5, gradient, terms }, d: { ...d, hand }, curve: { ...curve, hand } }));
    expect(text(d.hand)).toContain('<b class="ok">agrees</b>');
    expect(text(d.hand)).toMatch(/the least of all steps \d\.\de\u2212(9|1\d)</);
    for (const planted of [-d.hand, d.hand + 1e-3, NaN]) {
      expect(text(planted)).toContain('<b class="bad">DOES NOT AGREE</b>');
      expect(text(planted)).not.toContain('agrees');
    }
  });
});

describe('the invariants', () => {
  /** The example's layer with one number of a tensor replaced. */
  const planted = (name: LayerTensor, at: number, value: number): AttentionLayer => {
    const data = layer.tensor(name).slice();
    data[at] = value;
    return { ...layer, tensor: (n) => (n === name ? data : layer.tensor(n)) };
  };
  it('hold of the example', () => {
    const found = invariantsOf(layer);
    expect([found.rows.holds, found.maskHolds, found.dbk.holds]).toEqual([true, true, true]);
    expect(found.masked).toBe((layer.H * layer.T * (layer.T - 1)) / 2);
  });
  it('do not hold with one wrong number, or one that is none', () => {
    const a = layer.tensor('A')[0] as number;
    for (const value of [a + 1e-12, a - 1e-12, NaN]) expect(invariantsOf(planted('A', 0, value)).rows.holds, String(value)).toBe(false);
    for (const value of [1e-300, NaN]) expect(invariantsOf(planted('A', 1, value)).maskHolds, String(value)).toBe(false);
    for (const value of [1e-9, -1e-9, NaN, Infinity]) expect(invariantsOf(planted('dbk', 2, value)).dbk.holds, String(value)).toBe(false);
  });
});

describe('the gates of the build', () => {
  const faultsOf = (name: string, tensors: Parameters<typeof checkGaps>[1]): readonly string[] => {
    const faults = new Faults();
    checkGaps(name, tensors, faults);
    return faults.list;
  };
  it.each([['embedding', 'gap'], ['layernorm', 'gap'], ['feedforward', 'gap'], ['block', 'gap'], ['loss', 'gap'], ['adjoint', 'apart'], ['mutation', 'gapright']])('%s: each gap is looked at', async (name, id) => {
    const { example } = await examples[name]!(), tensors = example.run(engine, example.inputs);
    expect(faultsOf(name, tensors)).toEqual([]);
    const t = tensors.find((candidate) => candidate.id === id)!;
    expect(t.most?.length).toBe(t.data.length);
    for (let i = 0; i < t.data.length; i++) {
      expect(t.most![i], String(i)).toBeGreaterThan(0);
      for (const gap of [1e-9, NaN, Infinity]) {
        const data = t.data.slice();
        data[i] = gap;
        const found = faultsOf(name, tensors.map((u) => (u === t ? { ...t, data } : u)));
        expect(found, `${i} ${gap}`).toHaveLength(1);
        expect(found[0]).toMatch(new RegExp(`^examples/${name}: ${id}\\[.+\\]: .*found ${gap}, expected at most \\d`));
      }
    }
  });
  it('see a wrong gradient by its gap', () => {
    const x = Float64Array.of(1, 2, 3), w = Float64Array.of(0.5, 0.25, -1);
    const of = (hand: Float64Array): readonly string[] => faultsOf('a', [gapTensor(engine, { x, w }, [{ name: 'dx', of: [{ hand, by: 'x' }], loss: (d, a) => d.dot(a.x!, a.w!) }])]);
    expect(of(w)).toEqual([]);
    for (const bad of [w.map((v) => -v), w.map(() => 0), w.map((v, i) => (i === 1 ? v + 1e-11 : v)), w.map((v, i) => (i === 2 ? NaN : v))])
      expect(of(bad)).toEqual([expect.stringMatching(/^examples\/a: gap\[dx\]: /)]);
  });
  it('see a failed check of the code lab, and name its tensor', () => {
    const { rows, verdict } = checkLab(engine, FIRST), none = new Faults();
    checkVerdict({ rows, verdict }, none);
    expect(none.list).toEqual([]);
    for (const way of ['complex', 'central'] as const) for (const value of [0.5, NaN]) {
      const faults = new Faults(), name = rows[2]!.tensor;
      checkVerdict({ rows: rows.map((r, k) => (k === 2 ? { ...r, [way]: value } : r)), verdict: { ...verdict, [way]: { pass: false, share: 1e9 } } }, faults);
      expect(faults.list, `${way} ${value}`).toEqual([expect.stringContaining(`examples/codelab: ${name}: gradient by hand against ${way === 'complex' ? 'the complex step' : 'central'}`)]);
    }
  });
});
