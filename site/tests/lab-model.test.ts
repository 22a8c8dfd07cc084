/* lab-model.test.ts -- one layer of a model as the lab shows it: column blocks of the
 * fused weights are found, every ledger adds up, and each entry's derivative is its own. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadEngine } from '../src/engine';
import type { Engine, Model, Sizes } from '../src/engine/types';
import type { AttentionLayer, LayerTensor } from '../src/examples/attention-layer';
import { LEDGERS } from '../src/examples/attention-ledgers';
import { TENSORS } from '../src/examples/attention-tensors';
import { modelLayer, parameterEntry, type ModelRun } from '../src/lab/model-layer';
import { PARAMETERS } from '../src/lab/lab-state';
import { figureOf, STEPS } from '../src/lab/steps';
import { invariantsOf, judgeDerivative, largestOf, termsOf } from '../src/lab/verdict';

const sizes: Sizes = { L: 2, C: 6, NH: 2, FF: 10, T: 5, V: 11, tied: false };
const ids = Int32Array.of(3, 1, 4, 1, 5);
const targets = Int32Array.of(1, 4, 1, 5, -1);

let engine: Engine;
let model: Model;
let run: ModelRun;
const layers: AttentionLayer[] = [];
beforeAll(async () => {
  engine = await loadEngine(readFileSync(resolve(__dirname, '../../build/wasm/vitrine.wasm')));
  const drawn = new Map<string, Float32Array>();
  let seed = 0;
  const file = (name: string, count: number): Float32Array => {
    const known = drawn.get(name);
    if (known) return known;
    const made = Float32Array.from(engine.normals([11, seed++], count), (x) => 0.4 * x);
    drawn.set(name, made);
    return made;
  };
  model = engine.openModel(sizes, (name) => file(name, countOf(name)));
  run = {
    tensors: model.run(ids, targets), C: sizes.C, H: sizes.NH, L: sizes.L, T: ids.length, tokens: ['a', 'b', 'c', 'd', 'e'],
    parameter: (name) => {
      const p = model.parameters.find((q) => q.name === name);
      if (!p) throw new Error(`no parameter ${name}`);
      return Float64Array.from(drawn.get(p.file) as Float32Array);
    },
  };
  for (let l = 0; l < sizes.L; l++) layers.push(modelLayer(engine, run, l));
});

/** Numbers of a tensor of the file, by GPT-2's names. */
function countOf(name: string): number {
  const { C, FF, T, V } = sizes;
  const ends: readonly (readonly [RegExp, number])[] = [
    [/wte\.weight$|lm_head\.weight$/, V * C], [/wpe\.weight$/, T * C], [/ln_[12f]\.(weight|bias)$/, C], [/c_attn\.weight$/, 3 * C * C], [/c_attn\.bias$/, 3 * C],
    [/attn\.c_proj\.weight$/, C * C], [/attn\.c_proj\.bias$/, C], [/c_fc\.weight$/, C * FF], [/c_fc\.bias$/, FF], [/mlp\.c_proj\.weight$/, FF * C], [/mlp\.c_proj\.bias$/, C]];
  const found = ends.find(([end]) => end.test(name));
  if (!found) throw new Error(`no count for ${name}`);
  return found[1];
}

describe('a layer of a model', () => {
  it('has every tensor, in its shape', () => {
    const count = { TC: 5 * 6, CC: 36, C: 6, HTT: 2 * 25 };
    for (const layer of layers)
      for (const name of Object.keys(TENSORS) as LayerTensor[]) expect(layer.tensor(name).length, name).toBe(count[TENSORS[name].form]);
  });

  it('has ledgers whose last column adds up to the cell', () => {
    let compared = 0;
    for (const layer of layers)
      for (const name of Object.keys(TENSORS) as LayerTensor[]) {
        const data = layer.tensor(name);
        const columns = TENSORS[name].form === 'HTT' ? layer.T : layer.C;
        data.forEach((value, k) => {
          const ledger = LEDGERS[name](layer, Math.floor(k / columns), k % columns);
          if (!ledger.total || ledger.rows.some((r) => r.chosen)) return;
          const sum = ledger.rows.reduce((s, r) => s + (r.masked ? 0 : (r.cells[r.cells.length - 1] as number)), 0);
          expect(Math.abs(sum - value), `${name}[${k}]`).toBeLessThanOrEqual(1e-14);
          compared++;
        });
      }
    expect(compared).toBeGreaterThan(1000);
  });

  it('finds each entry of the fused weights: its derivative is that of its cell, three ways', () => {
    let compared = 0;
    const h = Float64Array.of(1e-30);
    for (let l = 0; l < sizes.L; l++)
      for (const name of ['Wq', 'bq', 'Wk', 'Wv', 'bv', 'Wo', 'bo'] as const)
        for (const [row, column] of [[0, 0], [3, 5], [5, 2]] as const) {
          const r = name.startsWith('b') ? 0 : row;
          const [parameter, entry] = parameterEntry(name, l, r, column, sizes.C);
          const d = model.derivative(ids, targets, parameter, entry, h);
          const hand = layers[l]?.tensor(`d${name}` as LayerTensor)[r * (name.startsWith('b') ? 0 : sizes.C) + column] as number;
          expect(d.hand, `layer ${l} ${name}[${r},${column}]`).toBe(hand);
          expect(Math.abs((d.complex[0] as number) - hand)).toBeLessThanOrEqual(1e-14);
          expect(hand).not.toBe(0);
          compared++;
        }
    expect(compared).toBe(42);
  });

  it('agrees with the complex step in every entry, by the lab\u2019s verdict, and its invariants hold', () => {
    let compared = 0;
    const h = Float64Array.of(1e-30);
    layers.forEach((layer, l) => {
      for (const name of PARAMETERS.filter((p) => p !== 'Xn')) {
        const gradient = layer.tensor(`d${name}` as LayerTensor), columns = sizes.C, terms = termsOf(layer, name);
        gradient.forEach((_, k) => {
          const d = model.derivative(ids, targets, ...parameterEntry(name as LayerTensor, l, Math.floor(k / columns), k % columns, columns), h);
          const judged = (hand: number): boolean => judgeDerivative(hand, d.complex[0] as number, gradient, terms).holds;
          expect([name, k, judged(d.hand)]).toEqual([name, k, true]);
          if (name !== 'bk') expect([name, k, judged(d.hand + 1e-9 * largestOf(gradient))]).toEqual([name, k, false]);
          compared++;
        });
      }
      const found = invariantsOf(layer);
      expect([found.rows.holds, found.maskHolds, found.dbk.holds]).toEqual([true, true, true]);
    });
    expect(compared).toBe(2 * 4 * (36 + 6));
  });

  it('is drawn at every step without clipping', () => {
    for (const layer of layers)
      for (const step of STEPS)
        for (let head = 0; head < sizes.NH; head++) {
          const f = figureOf(layer, step, 'K', head);
          expect(Math.max(...Array.from(f.data, Math.abs).filter(Number.isFinite)), step).toBeLessThanOrEqual(f.domain);
        }
  });
});
