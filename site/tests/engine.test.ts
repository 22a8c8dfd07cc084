/* engine.test.ts -- vitrine.wasm through its TypeScript side: golden tensors, NumPy's
 * streams, algebra. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { definitionNames } from '../src/engine/definitions';
import { EngineError, loadEngine } from '../src/engine';
import { Module } from '../src/engine/module';
import type { AttentionInputs, Engine } from '../src/engine/types';
import { flat, near, type Nested } from './near';

const root = resolve(__dirname, '../..');
const bytes = readFileSync(resolve(root, 'build/wasm/vitrine.wasm'));
const golden = (name: string) => JSON.parse(readFileSync(resolve(root, 'tests/golden', name), 'utf8'));

let engine: Engine;
beforeAll(async () => {
  engine = await loadEngine(bytes);
});

/* ---- the module -------------------------------------------------------- */

describe('the module', () => {
  it('imports nothing and is small', () => {
    expect(WebAssembly.Module.imports(new WebAssembly.Module(bytes))).toEqual([]);
    expect(gzipSync(bytes, { level: 9 }).length).toBeLessThanOrEqual(60000);
  });
  it('exports every definition that call() knows, and no other', () => {
    const names = WebAssembly.Module.exports(new WebAssembly.Module(bytes)).map((e) => e.name);
    const double = names.filter((n) => n.startsWith('ref_') && n.endsWith('_f64')).map((n) => n.slice(4, -4));
    expect(double.sort()).toEqual([...definitionNames].sort());
  });
  it('knows its own hash', () => {
    expect(engine.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
  });
  it('has a heap whose blocks do not overlap, are aligned, and join when they are free', async () => {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    const module = new Module(instance), random = engine.uniforms([3], 6000);
    const first = module.alloc(1);
    module.call('page_free', first);
    const held: { at: number; n: number; mark: number }[] = [];
    const release = (i: number) => {
      const { at, n, mark } = held.splice(i, 1)[0]!;
      expect(module.bytes().subarray(at, at + n).every((b) => b === mark), `block of ${n}`).toBe(true);
      module.call('page_free', at);
    };
    for (let k = 0; k + 2 < random.length; k += 3) {
      if (held.length > 40 || (held.length > 0 && random[k]! < 0.4)) release(Math.floor(random[k + 1]! * held.length));
      else {
        const n = Math.floor(random[k + 2]! ** 4 * 30000), at = module.alloc(n);
        expect(at % 64).toBe(0);
        expect(module.bytes().subarray(at, at + n).every((b) => b === 0)).toBe(true);     // page_alloc clears
        module.bytes().fill(1 + (k % 255), at, at + n);
        held.push({ at, n, mark: 1 + (k % 255) });
      }
    }
    while (held.length > 0) release(held.length - 1);
    const size = module.bytes().length;                 // a page of 64 KB may not have been begun
    expect(size - first).toBeGreaterThan(2 ** 17);
    const all = module.alloc(size - first - 2 ** 16);
    expect(all).toBe(first);
    expect(module.bytes().length).toBe(size);
    module.call('page_free', all);
    expect(() => module.alloc(2 ** 31)).toThrow(/expected at most/);
  });
});

/* ---- the illustrative example ------------------------------------------ */

const example = golden('attention_example.json');
const inputs = (): AttentionInputs => {
  const of = (name: string) => Float64Array.from(flat(example.inputs[name]));
  return {
    T: example.T, C: example.d, H: example.H, Xn: of('Xn'), dOut: of('dOut'), Wq: of('wq'), bq: of('bq'),
    Wk: of('wk'), bk: of('bk'), Wv: of('wv'), bv: of('bv'), Wo: of('wo'), bo: of('bo'),
  };
};

describe('the attention layer', () => {
  it('has the golden tensors to 1e-15', () => {
    const t = engine.attention(inputs());
    const pairs: [string, string, string][] = [
      ['Q', 'forward', 'Q'], ['K', 'forward', 'K'], ['V', 'forward', 'V'], ['scores', 'forward', 'QKt'],
      ['scaled', 'forward', 'S_scaled'], ['masked', 'forward', 'S_masked'], ['A', 'forward', 'A'],
      ['O', 'forward', 'O'], ['out', 'forward', 'out'], ['dWo', 'backward', 'dwo'], ['dbo', 'backward', 'dbo'],
      ['dA', 'backward', 'dA'], ['dS', 'backward', 'dS'], ['dWq', 'backward', 'dwq'], ['dbq', 'backward', 'dbq'],
      ['dWk', 'backward', 'dwk'], ['dWv', 'backward', 'dwv'], ['dbv', 'backward', 'dbv'], ['dXn', 'backward', 'dXn'],
    ];
    let compared = 0;
    for (const [ours, part, theirs] of pairs) {
      compared += near(t.get(ours)!.data, flat(example[part][theirs]), 1e-15, ours);
    }
    expect(compared).toBe(5 * 24 + 4 * 72 + 4 * 16 + 3 * 4 + 2 * 72 + 24);
    near(t.get('dbk')!.data, new Float64Array(4), 1e-16, 'dbk');
    expect(t.get('scores')!.shape).toEqual([2, 6, 6]);
    expect([...t.keys()].slice(0, 2)).toEqual(['Xn', 'Wq']);
  });
  it('has masked cells that are exactly 0', () => {
    const t = engine.attention(inputs());
    for (let h = 0; h < 2; h++) for (let i = 0; i < 6; i++) for (let j = i + 1; j < 6; j++) {
      const at = (h * 6 + i) * 6 + j;
      expect([t.get('A')!.data[at], t.get('dS')!.data[at], t.get('masked')!.data[at]]).toEqual([0, 0, -Infinity]);
    }
  });
  it('agrees with both other derivatives', () => {
    const steps = Float64Array.of(1e-5, 1e-30);
    for (const parameter of ['Xn', 'Wq', 'bq', 'Wk', 'bk', 'Wv', 'bv', 'Wo', 'bo'] as const) {
      const n = inputs()[parameter].length;
      for (let entry = 0; entry < n; entry++) {
        const d = engine.attentionDerivative(inputs(), parameter, entry, steps);
        near([d.central[0]!], [d.hand], 1e-9, `${parameter} central`);
        near([d.complex[1]!], [d.hand], 1e-15, `${parameter} complex`);
      }
    }
  });
  it('takes other sizes, and refuses sizes that are none', () => {
    const x = (n: number, seed: number) => engine.normals([seed], n);
    const wide: AttentionInputs = {
      T: 3, C: 6, H: 3, Xn: x(18, 1), dOut: x(18, 2), Wq: x(36, 3), bq: x(6, 4), Wk: x(36, 5), bk: x(6, 6),
      Wv: x(36, 7), bv: x(6, 8), Wo: x(36, 9), bo: x(6, 10),
    };
    const d = engine.attentionDerivative(wide, 'Wk', 7, Float64Array.of(1e-30));
    near([d.complex[0]!], [d.hand], 1e-13, 'Wk');
    expect(() => engine.attention({ ...wide, H: 4 })).toThrow(/expected sizes/);
    expect(() => engine.attention({ ...wide, T: 2 })).toThrow(/Xn: expected a Float64Array of 12/);
    expect(() => engine.attention({ ...wide, T: 1e9 })).toThrow(EngineError);
    expect(() => engine.attentionDerivative(wide, 'Wk', 36, Float64Array.of(1))).toThrow(/expected 0 to 35/);
  });
});

/* ---- definitions ------------------------------------------------------- */

describe('definitions', () => {
  it('layernorm: rows of mean 0 and variance 1', () => {
    const N = 3, C = 8, x = engine.normals([2], N * C).map((v) => 5 + 3 * v);
    const out = new Float64Array(N * C), mean = new Float64Array(N), rstd = new Float64Array(N);
    engine.call('f64', 'layernorm_forward', out, mean, rstd, x, new Float64Array(C).fill(1), new Float64Array(C), N, C);
    for (let n = 0; n < N; n++) {
      const row = x.slice(n * C, n * C + C), m = row.reduce((a, b) => a + b) / C;
      const v = row.reduce((a, b) => a + (b - m) ** 2, 0) / C;
      near([mean[n]!, rstd[n]!], [m, 1 / Math.sqrt(v + 1e-5)], 1e-14, 'mean, rstd');
      near(out.slice(n * C, n * C + C), row.map((y) => (y - m) / Math.sqrt(v + 1e-5)), 1e-14, 'out');
    }
  });
  it('gelu: the tanh form', () => {
    const x = Float64Array.of(-3, -1, -0.1, 0, 0.5, 2, 6), out = new Float64Array(7);
    engine.call('f64', 'gelu_forward', out, x, 7);
    near(out, x.map((v) => 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3)))), 1e-15, 'gelu');
  });
  it('crossentropy: ln V for equal logits, rows of the gradient sum to 0, -1 is ignored', () => {
    const N = 3, V = 5, logits = new Float64Array(N * V), target = Int32Array.of(0, -1, 4);
    const loss = new Float64Array(N), lse = new Float64Array(N), d = new Float64Array(N * V);
    engine.call('f64', 'crossentropy_forward', loss, lse, logits, target, 1, N, V);
    near(loss, [Math.log(5), 0, Math.log(5)], 1e-15, 'loss');
    engine.call('f64', 'crossentropy_backward', d, Float64Array.of(1, 1, 1), lse, logits, target, 1, N, V);
    near(d, [-0.8, 0.2, 0.2, 0.2, 0.2, 0, 0, 0, 0, 0, 0.2, 0.2, 0.2, 0.2, -0.8], 1e-15, 'dlogits');
  });
  it('a complex step through crossentropy and layernorm is their derivative', () => {
    const h = 1e-30, V = 4, x = [0.3, -1, 2, 0.1];
    const logits = Float64Array.from(x.flatMap((v, i) => [v, i === 1 ? h : 0]));
    const loss = new Float64Array(2), lse = new Float64Array(2);
    engine.call('c128', 'crossentropy_forward', loss, lse, logits, Int32Array.of(2), 0.7, 1, V);
    const weights = x.map((v) => Math.exp(v / 0.7)), sum = weights.reduce((a, b) => a + b);
    near([loss[1]! / h], [weights[1]! / sum / 0.7], 1e-15, 'softmax of one');
    const out = new Float64Array(2 * V), mean = new Float64Array(2), rstd = new Float64Array(2);
    const one = Float64Array.from({ length: 2 * V }, (_, i) => (i % 2 === 0 ? 1 : 0));
    engine.call('c128', 'layernorm_forward', out, mean, rstd, logits, one, new Float64Array(2 * V), 1, V);
    near([mean[1]! / h], [1 / V], 1e-16, 'mean');
  });
  it('far from the real axis: softmax of complex numbers', () => {
    const x = [[0.3, 2], [-1, 0.5], [0.2, -3]] as const, out = new Float64Array(6);
    engine.call('c128', 'softmax_forward', out, Float64Array.from(x.flat()), 1, 3);
    const e = x.map(([a, b]) => [Math.exp(a) * Math.cos(b), Math.exp(a) * Math.sin(b)] as const);
    const re = e.reduce((s, v) => s + v[0], 0), im = e.reduce((s, v) => s + v[1], 0), n = re * re + im * im;
    near(out, e.flatMap(([a, b]) => [(a * re + b * im) / n, (b * re - a * im) / n]), 1e-15, 'softmax');
  });
  it('in float', () => {
    const out = new Float32Array(2);
    engine.call('f32', 'linear_forward', out, Float32Array.of(1, 2), Float32Array.of(1, 2, 3, 4), null, 1, 2, 2);
    expect([...out]).toEqual([7, 10]);
  });
  it('returns what C returns', () => {
    expect(engine.call('f64', 'sum_squares', Float64Array.of(3, 4), 2)).toBe(25);
    near([engine.call('f64', 'clip_factor', 25, 1)], [0.2], 1e-7, 'factor');
  });
  it('AdamW: the first step is lr against the sign, and the decay', () => {
    const w = Float64Array.of(1, 1), m = new Float64Array(2), v = new Float64Array(2);
    engine.call('f64', 'adamw', w, m, v, Float64Array.of(3, -7), 2, 1, 0.1, 0.9, 0.999, 0, 0.5, 1);
    near(w, [1 - 0.1 - 0.05, 1 + 0.1 - 0.05], 1e-15, 'w');
  });
  it('refuses lengths, ids and types that do not fit', () => {
    const one = () => new Float64Array(1), two = new Float64Array(2);
    const wrong: [RegExp, () => void][] = [
      [/x: 2 numbers, expected 3 \(n\)/, () => engine.call('f64', 'gelu_forward', new Float64Array(3), two, 3)],
      [/N: 0: expected an integer from 1/, () => engine.call('f64', 'softmax_forward', two, two, 0, 2)],
      [/N: 1.5/, () => engine.call('f64', 'softmax_forward', two, two, 1.5, 2)],
      [/target\[0\]: id 2, expected -1 to 1/, () =>
        engine.call('f64', 'crossentropy_forward', one(), one(), two, Int32Array.of(2), 1, 1, 2)],
      [/tokens\[0\]: id 1, expected 0 to 0/, () =>
        engine.call('f64', 'embedding_forward', two, Int32Array.of(1), two, two, 1, 1, 0, 2)],
      [/1 positions, expected 2/, () =>
        engine.call('f64', 'embedding_forward', two, Int32Array.of(0), two, two, 1, 1, 1, 2)],
      [/out: expected a Float32Array/, () => engine.call('f32', 'gelu_forward', two, two, 2)],
      [/w: expected an array/, () => engine.call('f64', 'linear_forward', one(), two, null, null, 1, 2, 1)],
      [/no definition nothing/, () => engine.call('f64', 'nothing')],
      [/expected out, x, n/, () => engine.call('f64', 'gelu_forward', two)],
    ];
    for (const [message, call] of wrong) expect(call).toThrow(message);
  });
  it('elementary functions within an ulp or two of the platform\'s', () => {
    for (const x of [-20, -1.5, -1e-9, 0.1, 1, 3.7, 40]) {
      near([engine.elementary('exp', x)], [Math.exp(x)], 2 ** -51 * Math.exp(x), 'exp');
      near([engine.elementary('tanh', x)], [Math.tanh(x)], 2 ** -52, 'tanh');
      if (x > 0) near([engine.elementary('log', x)], [Math.log(x)], 2 ** -51 * Math.abs(Math.log(x)), 'log');
    }
  });
});

/* ---- NumPy, the schedule, the code lab --------------------------------- */

describe('random numbers and the schedule', () => {
  it('are those of NumPy', () => {
    let compared = 0;
    for (const s of golden('numpy_rng.json').streams) {
      const seed = Number(s.seed);
      if (!Number.isSafeInteger(seed)) continue;
      compared += near(engine.uniforms([seed], s.random.length), s.random, 0, 'random');
      compared += near(engine.normals([seed], 12), s.standard_normal_first_12, 0, 'normal');
      const many = engine.normals([seed], 20000), sum = many.reduce((a, b) => a + Math.abs(b), 0);
      near([many[19999]!, sum / s.standard_normal_20000_sum_of_abs], [s.standard_normal_20000_last, 1], 1e-12, '20000');
    }
    expect(compared).toBe(4 * (8 + 12));
    expect(() => engine.normals([-1], 1)).toThrow(/expected an integer from 0/);
    expect(() => engine.normals([], 1)).toThrow(/expected 1 to 8/);
  });
  it('the learning rate warms up, then follows a cosine', () => {
    const at = (s: number) => engine.learningRate(s, 110, 10, 1, 0.1);
    near([at(0), at(9), at(10), at(60), at(110), at(500)], [0.1, 1, 1, 0.55, 0.1, 0.1], 1e-15, 'lr');
    expect(() => engine.learningRate(0, 5, 10, 1, 0)).toThrow(/expected at most 5/);
  });
});

describe('the code lab', () => {
  it('has PyTorch\'s numbers', () => {
    const g = golden('lab_seed0.json');
    let compared = 0;
    for (const name of ['one_head', 'two_heads', 'temperature_half', 'temperature_two']) {
      const c = g[name];
      const run = engine.lab({ seed: c.seed, heads: c.heads, temperature: c.temperature, scalar: 'f64' });
      near([run.loss], [c.loss], 1e-12, `${name} loss`);
      const all: [string, Nested][] = [
        ...(Object.entries(c.inputs) as [string, Nested][]), ...(Object.entries(c.gradients) as [string, Nested][]),
        ['P', c.P], ['O', c.O], ['logits', c.logits], ['targets', c.targets],
      ];
      for (const [tensor, value] of all) {
        compared += near(run.tensors.get(tensor)!.data, flat(value), 1e-12, `${name} ${tensor}`);
      }
    }
    expect(compared).toBe(4 * (184 + 184 + 24 + 60 + 6) + 5 * 36);
  });
  it('checks its gradients', () => {
    const run = { seed: 0, heads: 1, temperature: 1 };
    for (const c of engine.labCheck({ ...run, scalar: 'f64' })) {
      expect(c.complex).toBeLessThan(1e-10);
      expect(c.central).toBeLessThan(1e-5);
      expect(c.central).toBeGreaterThan(c.complex);
    }
    expect(engine.labCheck({ ...run, scalar: 'f32' }).some((c) => c.central > 1e-3)).toBe(true);
    const float = engine.lab({ ...run, scalar: 'f32' }).tensors.get('dX')!.data;
    expect(float.every((x) => Math.fround(x) === x)).toBe(true);
  });
  it('shows why scores are divided by the root of the head\'s size', () => {
    for (const s of engine.labScaling(0)) {
      expect(Math.abs(s.deviation.value - Math.sqrt(s.dHead))).toBeLessThan(5 * s.deviation.error);
      expect(s.scaledMax.value).toBeLessThan(s.rawMax.value);
    }
  });
  it('refuses what vt_lab refuses', () => {
    expect(() => engine.lab({ seed: 0, heads: 3, temperature: 1, scalar: 'f64' })).toThrow(/expected 1 or 2/);
    expect(() => engine.lab({ seed: 0, heads: 1, temperature: 0, scalar: 'f64' })).toThrow(/temperature 0/);
    // Numbers in messages, as C's %g writes them.
    const written: [number, string][] = [
      [1e-7, '1e-07'], [0.00012345678, '0.000123457'], [1e-5, '1e-05'], [-2.5, '-2.5'], [123456.7, '123457'],
      [999999.9, '1e+06'], [1e20, '1e+20'], [-1e-300, '-1e-300'], [NaN, 'nan'], [-Infinity, '-inf'], [1200, '1200'],
    ];
    for (const [temperature, as] of written) {
      expect(() => engine.lab({ seed: 0, heads: 1, temperature, scalar: 'f64' })).toThrow(`temperature ${as}: expected`);
    }
    expect(() => engine.lab({ seed: 0.5, heads: 1, temperature: 1, scalar: 'f64' })).toThrow(/seed 0.5/);
  });
});
