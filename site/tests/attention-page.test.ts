/* attention-page.test.ts -- blocks of the Attention and Verification pages, and their examples. */
import { readFileSync } from 'node:fs';
import { h } from 'preact';
import renderToString from 'preact-render-to-string';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedLength } from '../src/components/Digits';
import { gap, UCurve } from '../src/components/UCurve';
import { loadEngine } from '../src/engine/index';
import type { Engine } from '../src/engine/types';
import { example as adjoint } from '../src/examples/adjoint';
import { attentionHeads, attentionNumbers, attentionTokens, moved, toAttentionInputs } from '../src/examples/attention-inputs';
import { attentionLoss, example as differences } from '../src/examples/differences';
import { example as mutation } from '../src/examples/mutation';
import type { Example, ExampleTensor } from '../src/examples/types';
import { checkAll, requireAgreement } from '../src/pages/attention-checks';
import { attentionRows } from '../src/pages/attention-parameters';
import { largest, need, runAttention } from '../src/pages/attention-run';

const above = (path: string): URL => new URL(`../../${path}`, import.meta.url);
const golden = JSON.parse(readFileSync(above('tests/golden/attention_example.json'), 'utf8')) as {
  tokens: string[]; H: number; inputs: Record<string, unknown>; forward: Record<string, number[][]>; backward: Record<string, number[] | number[][]>;
};
let engine: Engine;
beforeAll(async () => { engine = await loadEngine(readFileSync(above('build/wasm/vitrine.wasm'))); });

function tensors(example: Example): (id: string) => ExampleTensor {
  const all = example.run(engine, example.inputs);
  return (id) => {
    const t = all.find((candidate) => candidate.id === id);
    if (!t) throw new Error(`no tensor ${id}`);
    return t;
  };
}

describe('the attention example’s inputs', () => {
  it('are the golden ones', () => {
    expect(attentionTokens).toEqual(golden.tokens);
    expect(attentionHeads).toBe(golden.H);
    for (const [name, value] of Object.entries(attentionNumbers)) {
      expect(value, name).toEqual(golden.inputs[name.startsWith('W') ? name.toLowerCase() : name]);
    }
  });
  it('move one entry of a copy', () => {
    const inputs = toAttentionInputs(), after = moved(inputs, 'Wq', 4, 0.25);
    expect(after.Wq[4]).toBe(0.75);
    expect(inputs.Wq[4]).toBe(0.5);
    expect(after.Wk).toBe(inputs.Wk);
  });
  it('have the loss that the golden output has', () => {
    const out = (golden.forward.out as number[][]).flat(), given = (golden.inputs.dOut as number[][]).flat();
    const loss = out.reduce((sum, x, i) => sum + x * (given[i] as number), 0);
    expect(Math.abs(attentionLoss(engine, toAttentionInputs()) - loss)).toBeLessThan(1e-15);
  });
});

describe('differences', () => {
  it('start from the golden gradient', () => {
    const hand = tensors(differences)('hand').data, row = (golden.backward.dwq as number[][])[1] as number[];
    expect(hand.length).toBe(row.length);
    row.forEach((x, i) => expect(Math.abs((hand[i] as number) - x)).toBeLessThan(1e-15));
  });
  it('are the change of the loss by twice the step', () => {
    const t = tensors(differences), [plus, minus, central, steps] = ['plus', 'minus', 'central', 'h'].map((id) => t(id).data) as [Float64Array, Float64Array, Float64Array, Float64Array];
    expect(central.length).toBe(steps.length * 4);
    central.forEach((x, i) => expect(x).toBe(((plus[i] as number) - (minus[i] as number)) / (2 * (steps[Math.floor(i / 4)] as number))));
  });
  it('draw a U, and the complex step does not', () => {
    const t = tensors(differences), gaps = t('gap').data, floor = t('complexgap').data, n = t('h').data.length;
    for (let c = 0; c < 4; c++) {
      const column = Array.from({ length: n }, (_, k) => gaps[k * 4 + c] as number), least = column.indexOf(Math.min(...column));
      expect(least).toBeGreaterThan(0);
      expect(least).toBeLessThan(n - 1);
      expect(column[0]).toBeGreaterThan(1e4 * (column[least] as number));
      expect(column[n - 1]).toBeGreaterThan(1e4 * (column[least] as number));
      expect(floor[(n - 1) * 4 + c]).toBeLessThan(1e-13);
    }
  });
});

describe('one row through softmax', () => {
  const x = [0.5, -1, 2, 0.25], u = [1, 0.5, -0.75, 0.25], v = [0.3, -0.2, 0.1, 0.4];
  const powers = x.map((s) => Math.exp(s)), total = powers.reduce((a, b) => a + b, 0), p = powers.map((e) => e / total);
  /** The Jacobian, written out: J_ij = p_i ([i = j] - p_j). */
  const J = p.map((pi, i) => p.map((pj, j) => pi * ((i === j ? 1 : 0) - pj)));
  const near = (found: ArrayLike<number>, expected: readonly number[]): void => {
    expect(found.length).toBe(expected.length);
    expected.forEach((e, i) => expect(Math.abs((found[i] as number) - e)).toBeLessThan(1e-15));
  };
  it('goes forwards and back as its Jacobian says', () => {
    const t = tensors(adjoint);
    const Ju = J.map((row) => row.reduce((s, a, j) => s + a * (u[j] as number), 0)), JTv = x.map((_, j) => J.reduce((s, row, i) => s + (row[j] as number) * (v[i] as number), 0));
    near(t('Ju').data, Ju);
    near(t('JTv').data, JTv);
    near(t('forwards').data, [Ju.reduce((s, a, i) => s + a * (v[i] as number), 0)]);
    expect(t('apart').data[0]).toBeLessThan(1e-16);
  });
  it('shows the planted fault, and only that', () => {
    const t = tensors(mutation);
    near(t('right').data, x.map((_, j) => J.reduce((s, row, i) => s + (row[j] as number) * (v[i] as number), 0)));
    near(t('wrong').data, p.map((pi, i) => pi * (v[i] as number)));
    expect(largest(t('gapright').data)).toBeLessThan(1e-16);
    expect(Math.min(...t('gapwrong').data)).toBeGreaterThan(1e-3);
  });
  it('has ledgers whose total is the cell', () => {
    const all = [...adjoint.run(engine, adjoint.inputs), ...mutation.run(engine, mutation.inputs)];
    for (const t of all) {
      if (t.id.startsWith('gap') || t.id === 'apart') continue;
      for (let c = 0; c < (t.shape[1] as number); c++) {
        const shown = t.ledger(0, c).total?.cells.at(-1), cell = t.data[c] as number;
        expect(typeof shown === 'number' ? shown : Number(String(shown).replaceAll('−', '-')), `${t.id}[${c}]`).toBe(cell);
      }
    }
  });
});

describe('every gradient of the layer', () => {
  it('is found two other ways, at every entry', () => {
    const rows = checkAll(engine, runAttention(engine));
    expect(rows.map((r) => r.compared)).toEqual([16, 4, 16, 4, 16, 4, 16, 4, 24]);
    for (const r of rows) {
      expect(r.compared).toBe(r.of);
      expect(r.central, r.name).toBeLessThan(1e-10);
      expect(r.complex, r.name).toBeLessThan(1e-15);
      expect(r.central, `${r.name}: a difference has a gap`).toBeGreaterThan(0);
    }
  });
  it('lets no page be made where one is not what the other ways find', () => {
    const rows = checkAll(engine, runAttention(engine));
    expect(() => requireAgreement(rows)).not.toThrow();
    for (const change of [{ complex: 1e-9 }, { central: 1e-6 }, { complex: NaN }, { central: Infinity }, { compared: 3 }])
      expect(() => requireAgreement(rows.map((r) => (r.name === 'Wk' ? { ...r, ...change } : r))), JSON.stringify(change)).toThrow(/gradient of Wk/);
  });
  it('sees one wrong number', () => {
    const run = runAttention(engine), bk = moved(run.inputs, 'Wv', 3, 1e-3);
    const other = engine.attention(bk);
    expect(largest(need(run.tensors, 'dWq').data.map((x, i) => x - (need(other, 'dWq').data[i] as number)))).toBeGreaterThan(1e-6);
  });
  it('of the key bias is round-off, and the bias moves no output', () => {
    const run = runAttention(engine), after = engine.attention(moved(run.inputs, 'bk', 0, 1));
    expect(largest(need(run.tensors, 'dbk').data)).toBeLessThan(1e-16);
    const changed = (name: string): number => largest(need(run.tensors, name).data.map((x, i) => x - (need(after, name).data[i] as number)));
    expect(changed('scaled')).toBeGreaterThan(0.1);
    expect(changed('out')).toBeLessThan(1e-15);
  });
});

describe('the eight parameters of a block', () => {
  const rows = (C: number) => attentionRows(engine.parameters({ L: 3, C, NH: 2, FF: 5, T: 7, V: 11, tied: true }));
  it('are four matrices and four vectors, together 4 C^2 + 4 C', () => {
    for (const C of [4, 6]) {
      const list = rows(C);
      expect(list.map((r) => r.tex)).toEqual(['W_q', 'W_k', 'W_v', 'b_q', 'b_k', 'b_v', 'W_o', 'b_o']);
      for (const r of list) {
        expect(r.shape).toEqual(r.tex.startsWith('W') ? [C, C] : [C]);
        expect(r.count).toBe(r.shape.reduce((n, k) => n * k, 1));
      }
      expect(list.reduce((n, r) => n + r.count, 0)).toBe(4 * C * C + 4 * C);
    }
  });
  it('decay where they are weights, and biases start at 0', () => {
    for (const r of rows(4)) {
      expect(r.decay, r.tex).toBe(r.tex.startsWith('W'));
      expect(r.start, r.tex).toBe(r.tex === 'W_o' ? 'random, for a residual path' : r.tex.startsWith('W') ? 'random' : 'zeros');
    }
  });
});

describe('largest', () => {
  it('keeps a NaN', () => {
    expect(largest([1, -3, 2])).toBe(3);
    expect(largest([1, NaN, 2])).toBeNaN();
  });
});

describe('the U-curve', () => {
  it('draws finite points, also where nothing is right', () => {
    const steps = [1, 1e-8, 1e-16];
    for (const hand of [0.5, 0, 1e-18]) {
      const text = renderToString(h(UCurve, { steps, central: [0.4, 0.5, 0], complex: [0.4, 0.5, 0.5], hand, chosen: 1, of: 'Wq[1,0]' }));
      expect(text).not.toMatch(/NaN|Infinity/);
      expect(text.match(/<circle class="cd"/g)).toHaveLength(3);
    }
  });
  it('measures relative to the derivative by hand', () => {
    expect(gap(1.5, 1)).toBe(0.5);
    expect(gap(3, 2)).toBe(0.5);
    expect(gap(1e-18, 0)).toBe(1e-18);
  });
  it('marks digits from the first that differs', () => {
    expect(sharedLength('0.1234', '0.1299')).toBe(4);
    expect(sharedLength('1', '1')).toBe(1);
  });
});
