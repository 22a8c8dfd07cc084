/* lab-ledgers.test.ts -- every cell of every tensor of the attention layer: its value is
 * the golden file's, and its ledger leads to it. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadEngine } from '../src/engine';
import { exampleLayer, layerTensors } from '../src/examples/attention';
import { toAttentionInputs } from '../src/examples/attention-inputs';
import type { AttentionLayer } from '../src/examples/attention-layer';
import type { ExampleTensor } from '../src/examples/types';
import { figureOf, headPart, PROJECTIONS, STEPS, tensorOf } from '../src/lab/steps';

const root = resolve(__dirname, '../..');
interface Golden { forward: Record<string, unknown>; backward: Record<string, unknown>; inputs: Record<string, unknown> }
const golden = JSON.parse(readFileSync(resolve(root, 'tests/golden/attention_example.json'), 'utf8')) as Golden;

/* Names of the golden file; (H, T, HS) there is (T, C) here. */
const NAMES: Record<string, string> = {
  Q: 'Q', K: 'K', V: 'V', scores: 'QKt', scaled: 'S_scaled', masked: 'S_masked', A: 'A', O: 'O', out: 'out', dWo: 'dwo', dbo: 'dbo',
  dO: 'dOh', dA: 'dA', dS: 'dS', dQ: 'dQh', dK: 'dKh', dV: 'dVh', dWq: 'dwq', dbq: 'dbq', dWk: 'dwk', dbk: 'dbk', dWv: 'dwv', dbv: 'dbv', dXn: 'dXn',
};
const BY_HEAD = new Set(['dOh', 'dQh', 'dKh', 'dVh']);

const number = (x: unknown): number => (x === '-inf' ? -Infinity : (x as number));
function goldenOf(id: string, T: number, H: number, HS: number): number[] {
  const name = NAMES[id] as string;
  const nested = (golden.forward[name] ?? golden.backward[name]) as unknown[];
  const flat = (nested as number[][][]).flat(3).map(number);
  if (!BY_HEAD.has(name)) return flat;
  return Array.from({ length: T * H * HS }, (_, k) => {
    const t = Math.floor(k / (H * HS));
    const h = Math.floor((k % (H * HS)) / HS);
    return flat[(h * T + t) * HS + (k % HS)] as number;
  });
}

let layer: AttentionLayer;
let tensors: ExampleTensor[];
beforeAll(async () => {
  layer = exampleLayer(await loadEngine(readFileSync(resolve(root, 'build/wasm/vitrine.wasm'))), toAttentionInputs());
  tensors = layerTensors(layer);
});

const width = (t: ExampleTensor): number => t.shape[t.shape.length - 1] as number;
function cells(t: ExampleTensor, visit: (row: number, column: number, value: number) => void): number {
  t.data.forEach((x, k) => visit(Math.floor(k / width(t)), k % width(t), x));
  return t.data.length;
}

describe('the example', () => {
  it('has the golden tensors, to 1e-15', () => {
    let compared = 0;
    for (const id of Object.keys(NAMES)) {
      const t = tensors.find((x) => x.id === id) as ExampleTensor;
      const right = goldenOf(id, layer.T, layer.H, layer.HS);
      expect(t.data.length, id).toBe(right.length);
      t.data.forEach((x, k) => {
        compared++;
        if (right[k] === -Infinity) expect(x, `${id}[${k}]`).toBe(-Infinity);
        else if (id === 'dbk') expect(Math.abs(x)).toBeLessThanOrEqual(1e-16);
        else expect(Math.abs(x - (right[k] as number)), `${id}[${k}]`).toBeLessThanOrEqual(1e-15);
      });
    }
    expect(compared).toBe(10 * 24 + 6 * 72 + 4 * 16 + 4 * 4);
  });

  it('has no ledger that ends in another number than its cell', () => {
    let compared = 0;
    for (const t of tensors) {
      compared += cells(t, (row, column, value) => {
        const ledger = t.ledger(row, column);
        const chosen = ledger.rows.find((r) => r.chosen);
        if (t.masked?.(row, column) && t.id !== 'masked') {
          expect(value, `${t.id}[${row},${column}]`).toBe(0);
          expect(chosen?.masked).toBe(true);
          return;
        }
        const last = chosen ? chosen.cells[chosen.cells.length - 1] : ledger.total?.cells[ledger.total.cells.length - 1];
        expect(last, `${t.id}[${row},${column}]`).toBe(value);
      });
    }
    expect(compared).toBe(tensors.reduce((n, t) => n + t.data.length, 0));
  });

  it('has operands that lead to the total: the last column adds up', () => {
    let compared = 0;
    for (const t of tensors) {
      cells(t, (row, column, value) => {
        const { rows, total } = t.ledger(row, column);
        if (!total || rows.some((r) => r.chosen)) return;
        const sum = rows.reduce((s, r) => s + (r.masked ? 0 : (r.cells[r.cells.length - 1] as number)), 0);
        expect(Math.abs(sum - value), `${t.id}[${row},${column}]`).toBeLessThanOrEqual(2e-15);
        compared++;
      });
    }
    expect(compared).toBeGreaterThan(500);
  });

  it('multiplies what it shows: each product is of the operands beside it', () => {
    let compared = 0;
    for (const t of tensors) {
      cells(t, (row, column) => {
        const { rows, operators } = t.ledger(row, column);
        if (operators?.[1] !== '\u00d7') return;
        for (const r of rows) {
          const [a, b, c, d] = r.cells as (number | null)[];
          if (r.masked || typeof a !== 'number' || typeof b !== 'number') continue;
          if (operators[2] === '\u00f7') expect(d).toBe((a * b) / (c as number));
          else expect(c).toBe(a * b);
          compared++;
        }
      });
    }
    expect(compared).toBeGreaterThan(1000);
  });

  it('opens softmax and its backward as the golden numbers do', () => {
    const A = tensors.find((t) => t.id === 'A') as ExampleTensor;
    const dS = tensors.find((t) => t.id === 'dS') as ExampleTensor;
    const masked = goldenOf('masked', 6, 2, 2);
    const weights = goldenOf('A', 6, 2, 2);
    const gradients = goldenOf('dA', 6, 2, 2);
    for (let row = 0; row < 12; row++) {
      const i = row % 6;
      const scores = masked.slice(row * 6, row * 6 + i + 1);
      const largest = Math.max(...scores);
      const exps = scores.map((s) => Math.exp(s - largest));
      const l = A.ledger(row, 0);
      expect(l.rows.filter((r) => r.masked).length).toBe(5 - i);
      exps.forEach((e, j) => expect(Math.abs((l.rows[j]?.cells[2] as number) - e)).toBeLessThanOrEqual(4e-16));
      expect(Math.abs((l.total?.cells[2] as number) - exps.reduce((a, b) => a + b, 0))).toBeLessThanOrEqual(4e-15);
      expect(Math.abs((l.total?.cells[3] as number) - 1)).toBeLessThanOrEqual(1e-15);
      const taken = scores.reduce((s, _, j) => s + (weights[row * 6 + j] as number) * (gradients[row * 6 + j] as number), 0);
      expect(Math.abs((dS.ledger(row, 0).total?.cells[2] as number) - taken)).toBeLessThanOrEqual(1e-15);
    }
  });
});

describe('figures of the steps', () => {
  it('show the tensor they name, whole or by head', () => {
    let compared = 0;
    for (const step of STEPS)
      for (const projection of step === 'project' ? PROJECTIONS : (['Q'] as const))
        for (let h = 0; h < layer.H; h++) {
          const f = figureOf(layer, step, projection, h);
          expect(f.tensor).toBe(tensorOf(step, projection));
          expect(f.data.length).toBe(f.rows * f.columns);
          const whole = f.columns === layer.C && f.columnAxis === 'channel';
          const right = whole ? layer.tensor(f.tensor) : headPart(layer, f.tensor, h);
          f.data.forEach((x, k) => { expect(Object.is(x, right[k])).toBe(true); compared++; });
          const largest = Math.max(...Array.from(f.data, Math.abs).filter(Number.isFinite));
          expect(largest, `${step} is not clipped`).toBeLessThanOrEqual(f.domain);
        }
    expect(compared).toBeGreaterThan(500);
  });

  it('after Falk: the row on the left times the column above is the cell', () => {
    for (const step of ['scores', 'values', 'dO', 'dV', 'dA', 'dQ', 'dK'] as const)
      for (let h = 0; h < layer.H; h++) {
        const f = figureOf(layer, step, 'Q', h);
        const { left, above } = f;
        if (!left || !above) throw new Error(`${step} has no operands`);
        expect([left.rows, above.columns, left.columns]).toEqual([f.rows, f.columns, above.rows]);
        const root = step === 'dQ' || step === 'dK' ? Math.sqrt(layer.HS) : 1;
        for (let r = 0; r < f.rows; r++)
          for (let c = 0; c < f.columns; c++) {
            let s = 0;
            for (let k = 0; k < left.columns; k++) s += (left.data[r * left.columns + k] as number) * (above.data[k * above.columns + c] as number);
            expect(Math.abs(s / root - (f.data[r * f.columns + c] as number)), `${step}[${r},${c}]`).toBeLessThanOrEqual(2e-15);
          }
      }
  });
});
