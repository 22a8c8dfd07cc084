/* examples.test.ts -- the tiny examples of Embedding, LayerNorm, Feed-forward,
 * Transformer block and Softmax: values against algebra.ts, gradients against
 * differences of that algebra, and every ledger of every cell.
 */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadEngine } from '../src/engine/index';
import type { Engine } from '../src/engine/types';
import { attentionHeads } from '../src/examples/attention-inputs';
import { definitions } from '../src/examples/definitions';
import { gapTensor } from '../src/examples/gap';
import { examples } from '../src/examples/registry';
import type { Example, ExampleTensor } from '../src/examples/types';
import {
  affine, attention, columns, derivative, each, EPS, gelu, matrix, mean, norm, pairing, plus, softmax, times, variance,
  type Matrix, type Values,
} from './algebra';

const NAMES = ['embedding', 'layernorm', 'feedforward', 'block', 'loss'] as const;
type Name = (typeof NAMES)[number];

let engine: Engine;
const found = new Map<Name, { example: Example; tensors: ReadonlyMap<string, ExampleTensor> }>();

beforeAll(async () => {
  engine = await loadEngine(readFileSync(new URL('../../build/wasm/vitrine.wasm', import.meta.url)));
  for (const name of NAMES) {
    const { example } = await examples[name]!();
    found.set(name, { example, tensors: new Map(example.run(engine, example.inputs).map((t) => [t.id, t])) });
  }
});

const inputsOf = (name: Name): Values =>
  Object.fromEntries(Object.entries(found.get(name)!.example.inputs).map(([k, v]) => [k, matrix(v)]));
const tensorOf = (name: Name, id: string): ExampleTensor => {
  const t = found.get(name)!.tensors.get(id);
  if (!t) throw new Error(`${name} has no tensor ${id}`);
  return t;
};

/** Every entry of a tensor against the expected rows. */
function close(name: Name, id: string, want: Matrix, tolerance = 1e-13): void {
  const t = tensorOf(name, id), flat = want.flat();
  expect(t.data.length, id).toBe(flat.length);
  flat.forEach((v, i) => expect(Math.abs(t.data[i]! - v), `${name} ${id}[${i}]: ${t.data[i]} against ${v}`).toBeLessThan(tolerance));
}
/** Gradients against differences of f; `pairs` says which tensor is the gradient by which input. */
function gradients(name: Name, f: (x: Values) => number, x: Values, pairs: Readonly<Record<string, string>>): void {
  for (const [id, by] of Object.entries(pairs)) close(name, id, derivative(f, x, by), 1e-9);
}

describe.each(NAMES)('%s', (name) => {
  test('every cell of every tensor has a ledger that ends in its number', () => {
    let cells = 0;
    for (const t of found.get(name)!.tensors.values()) {
      const width = t.shape[t.shape.length - 1]!, height = t.shape.length > 1 ? t.shape[0]! : 1;
      expect(t.data.length, t.id).toBe(width * height);
      for (const labels of [[t.columns, width], [t.shape.length > 1 ? t.rows : undefined, height]] as const)
        if (labels[0]) expect(labels[0].length, `labels of ${t.id}`).toBe(labels[1]);
      for (let row = 0; row < height; row++) {
        for (let column = 0; column < width; column++, cells++) {
          const ledger = t.ledger(row, column), last = ledger.total ?? ledger.rows[ledger.rows.length - 1]!;
          expect(last.cells[last.cells.length - 1], `${t.id}[${row},${column}]`).toBe(t.data[row * width + column]);
          for (const r of ledger.rows) expect(r.cells.length, `${t.id}: ${r.head}`).toBe(ledger.columns.length);
          expect(ledger.sentence.length).toBeGreaterThan(0);
        }
      }
    }
    expect(cells).toBeGreaterThan(50);
  });

  test('what a ledger adds up is its sum', () => {
    let sums = 0;
    for (const t of found.get(name)!.tensors.values()) {
      const width = t.shape[t.shape.length - 1]!, height = t.data.length / width;
      for (let k = 0; k < width * height; k++) {
        const ledger = t.ledger(Math.floor(k / width), k % width);
        if (ledger.total?.head !== 'sum') continue;
        const last = ledger.columns.length - 1;
        const terms = ledger.rows.map((r) => r.cells[last] as number);
        expect(Math.abs(terms.reduce((a, b) => a + b, 0) - (ledger.total.cells[last] as number)), `${t.id} ${k}`).toBeLessThan(1e-13);
        sums++;
      }
    }
    expect(sums).toBeGreaterThan(20);
  });

  test('gradients agree with the complex step', () => {
    const gap = tensorOf(name, 'gap');
    gap.data.forEach((v, i) => expect(v, gap.columns?.[i]).toBeLessThan(2e-15));
  });
});

test('a wrong gradient shows in the gap', () => {
  const x = Float64Array.of(1, -2, 3), w = Float64Array.of(0.5, 0.25, -1);
  const gap = (hand: Float64Array) => gapTensor(engine, { x, w }, [{ name: 'dx', of: [{ hand, by: 'x' }], loss: (d, a) => d.dot(a.x!, a.w!) }]).data[0]!;
  expect(gap(w)).toBe(0);
  expect(gap(Float64Array.of(0.5, 0.25 + 1e-9, -1))).toBeCloseTo(1e-9, 15);
  expect(gap(Float64Array.of(0.5, NaN, -1))).toBeNaN();
  expect(() => gap(w.slice(1))).toThrow(/2 entries, expected 3/);
});

test('embedding: rows looked up, and scattered back', () => {
  const x = inputsOf('embedding'), tokens = x.tokens![0]!;
  const onehot = tokens.map((k) => x.wte!.map((_, v) => (v === k ? 1 : 0)));
  close('embedding', 'x', plus(times(onehot, x.wte!), x.wpe!));
  close('embedding', 'dwte', times(columns(onehot), x.dx!));
  close('embedding', 'dwpe', x.dx!);
  expect(tokens.filter((k) => k === tokens[0]).length, 'a token that repeats').toBe(2);
});

test('layernorm: the other formula of the variance, and differences of it', () => {
  const x = inputsOf('layernorm');
  close('layernorm', 'mean', [mean(x.x!)]);
  close('layernorm', 'rstd', [variance(x.x!).map((v) => 1 / Math.sqrt(v + EPS))]);
  close('layernorm', 'xhat', norm(x.x!, each(x.w!, () => 1), each(x.b!, () => 0)));
  close('layernorm', 'y', norm(x.x!, x.w!, x.b!));
  gradients('layernorm', (v) => pairing(norm(v.x!, v.w!, v.b!), v.dy!), x, { dx: 'x', dw: 'w', db: 'b' });
});

test('layernorm: dx is made of the terms that its ledger shows, bit for bit', () => {
  const [dxhat, avg, xhat, avgxhat, rstd, dx] = ['dxhat', 'avg', 'xhat', 'avgxhat', 'rstd', 'dx'].map((id) => tensorOf('layernorm', id).data);
  dx!.forEach((v, k) => {
    const n = Math.floor(k / 4);
    expect(rstd![n]! * (dxhat![k]! - avg![n]! - xhat![k]! * avgxhat![n]!)).toBe(v);
  });
});

test('feed-forward: the network and all its gradients', () => {
  const x = inputsOf('feedforward');
  const f = (v: Values) => affine(v.n!, v.Wfc!, v.bfc!), p = (v: Values) => affine(gelu(f(v)), v.Wproj!, v.bproj!);
  close('feedforward', 'f', f(x));
  close('feedforward', 'g', gelu(f(x)));
  close('feedforward', 'p', p(x));
  gradients('feedforward', (v) => pairing(p(v), v.dp!), x, { dn: 'n', dWfc: 'Wfc', dbfc: 'bfc', dWproj: 'Wproj', dbproj: 'bproj' });
  const up = { ...x, g: gelu(f(x)), f: f(x) };
  gradients('feedforward', (v) => pairing(affine(v.g!, v.Wproj!, v.bproj!), v.dp!), up, { dg: 'g' });
  gradients('feedforward', (v) => pairing(affine(gelu(v.f!), v.Wproj!, v.bproj!), v.dp!), up, { df: 'f' });
});

test('block: every stage, and the gradient where the paths meet', () => {
  const x = inputsOf('block');
  const mlp = (v: Values, n: Matrix) => affine(gelu(affine(n, v.Wfc!, v.bfc!)), v.Wproj!, v.bproj!);
  const Xn = (v: Values) => norm(v.x!, v.ln1w!, v.ln1b!);
  const out = (v: Values, n: Matrix) => affine(attention(affine(n, v.Wq!, v.bq!), affine(n, v.Wk!, v.bk!), affine(n, v.Wv!, v.bv!), attentionHeads), v.Wo!, v.bo!);
  const r1 = (v: Values) => plus(v.x!, out(v, Xn(v)));
  const r2 = (v: Values, r: Matrix) => plus(r, mlp(v, norm(r, v.ln2w!, v.ln2b!)));
  close('block', 'Xn', Xn(x));
  close('block', 'out', out(x, Xn(x)));
  close('block', 'r1', r1(x));
  close('block', 'n', norm(r1(x), x.ln2w!, x.ln2b!));
  close('block', 'p', mlp(x, norm(r1(x), x.ln2w!, x.ln2b!)));
  close('block', 'r2', r2(x, r1(x)));
  const all = { ...x, r1: r1(x), n: norm(r1(x), x.ln2w!, x.ln2b!), Xn: Xn(x), dr1: matrix(rows('block', 'dr1')) };
  gradients('block', (v) => pairing(r2(v, r1(v)), v.dr2!), all, { dx: 'x' });
  gradients('block', (v) => pairing(r2(v, v.r1!), v.dr2!), all, { dr1: 'r1' });
  gradients('block', (v) => pairing(mlp(v, v.n!), v.dr2!), all, { dn: 'n' });
  gradients('block', (v) => pairing(out(v, v.Xn!), v.dr1!), all, { dXn: 'Xn' });
});

function rows(name: Name, id: string): Matrix {
  const t = tensorOf(name, id), width = t.shape[1]!;
  return Array.from({ length: t.shape[0]! }, (_, n) => [...t.data.slice(n * width, (n + 1) * width)]);
}

test('loss: probabilities, cross-entropy, ln V, and the gradient of their mean', () => {
  const x = inputsOf('loss'), target = x.targets![0]!, counted = target.filter((k) => k >= 0).length;
  const logits = (v: Values) => times(v.Y!, columns(v.wte!));
  const losses = (l: Matrix) => softmax(l).map((p, n) => (target[n]! < 0 ? 0 : -Math.log(p[target[n]!]!)));
  const meanLoss = (l: Matrix) => losses(l).reduce((a, b) => a + b, 0) / counted;
  const l = logits(x), V = x.wte!.length;
  close('loss', 'l', l);
  close('loss', 'p', softmax(l));
  close('loss', 'lse', [l.map((r) => Math.log(r.map(Math.exp).reduce((a, b) => a + b, 0)))]);
  close('loss', 'loss', [losses(l)]);
  close('loss', 'mean', [[meanLoss(l)]]);
  close('loss', 'equal', [target.map((k) => (k < 0 ? 0 : Math.log(V)))], 1e-15);
  close('loss', 'lnV', [[Math.log(V)]], 1e-15);
  gradients('loss', (v) => meanLoss(v.l!), { l }, { dl: 'l' });
  gradients('loss', (v) => pairing(softmax(v.l!), v.dp!), { l, dp: x.dp! }, { dx: 'l' });
  gradients('loss', (v) => meanLoss(logits(v)), x, { dY: 'Y', dwte: 'wte' });
  close('loss', 'rowsum', [target.map(() => 0)], 1e-16);
});

test('loss: softmax backward of -1/p at the target is the combined gradient', () => {
  const [l, p, dl] = ['l', 'p', 'dl'].map((id) => tensorOf('loss', id).data), share = tensorOf('loss', 'share').data;
  const target = inputsOf('loss').targets![0]!, N = target.length, V = l!.length / N;
  const dp = l!.map((_, k) => { const n = Math.floor(k / V); return k % V === target[n] ? -share[n]! / p![k]! : 0; });
  const dx = definitions(engine, 'f64').zeros(N * V);
  engine.call('f64', 'softmax_backward', dx, dp, p!, N, V);
  dx.forEach((v, k) => expect(Math.abs(v - dl![k]!)).toBeLessThan(1e-15));
});
