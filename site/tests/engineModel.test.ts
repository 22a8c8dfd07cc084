/* engineModel.test.ts -- a model, its derivatives, generation, sampling and the tokenizer
 * through vitrine.wasm. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { EngineError, loadEngine } from '../src/engine';
import type { Engine, Filters, Model, Sizes, Tensors } from '../src/engine/types';
import { near } from './near';

let engine: Engine;
beforeAll(async () => {
  engine = await loadEngine(readFileSync(resolve(__dirname, '../../build/wasm/vitrine.wasm')));
});

/* ---- the tokenizer ----------------------------------------------------- */

describe('the tokenizer', () => {
  const text = 'the cat sat on the mat, the cat sat on the hat. \u00e9t\u00e9 \u65e5\u672c\u8a9e \ud83d\udc31\n\n  <|endoftext|> 123';
  const end = ['<|endoftext|>'];

  it('learns, encodes and decodes', () => {
    const learned = engine.trainTokenizer(text, 40), n = learned.counts.length;
    expect(learned.merges.length).toBe(2 * n);
    expect(n).toBeGreaterThan(10);
    for (let i = 1; i < n; i++) expect(learned.counts[i]!).toBeLessThanOrEqual(learned.counts[i - 1]!);
    expect(learned.counts[0]).toBe(text.split('at').length - 1);     // "at" is the most frequent pair
    expect([...learned.merges.slice(0, 2)]).toEqual([97, 116]);
    const t = engine.openTokenizer(learned.merges, end);
    expect(t.size).toBe(256 + n + 1);
    for (const s of [text, '', 'x', '\ufeffbom', 'a'.repeat(3000), '\u0000\u0001']) {
      expect(t.decode(t.encode(s))).toBe(s);
      const all = new TextEncoder().encode(s), pieces = t.split(s);
      expect(pieces.map((p) => p.end - p.start).reduce((a, b) => a + b, 0)).toBe(all.length);
      pieces.forEach((p, i) => expect(p.start).toBe(i === 0 ? 0 : pieces[i - 1]!.end));
    }
    expect(t.split('the cat').map((p) => [p.start, p.end])).toEqual([[0, 3], [3, 7]]);
    expect([...t.encode('<|endoftext|>')]).not.toContain(t.size - 1);
    expect(new TextDecoder().decode(t.bytes(t.size - 1))).toBe('<|endoftext|>');
    expect(() => t.bytes(t.size)).toThrow(/expected an id/);
    expect(() => t.decode(Int32Array.of(t.size))).toThrow(/expected an id/);
    t.close();
    expect(() => t.encode('x')).toThrow(/closed/);
  });

  it('shows how a word became tokens', () => {
    const learned = engine.trainTokenizer(text, 40), t = engine.openTokenizer(learned.merges, end);
    for (const word of [' the', ' sat', 'aaaa', '\u65e5', 'q']) {
      let ids = Array.from(new TextEncoder().encode(word));
      for (const s of t.merges(word)) {
        expect(s.ids).toEqual(ids);
        expect([ids[s.at], ids[s.at + 1]]).toEqual([...learned.merges.slice(2 * s.rank, 2 * s.rank + 2)]);
        ids = [...ids.slice(0, s.at), 256 + s.rank, ...ids.slice(s.at + 2)];
      }
      expect(ids).toEqual([...t.encode(word)]);
    }
    expect(t.merges(' the').length).toBeGreaterThan(1);
    expect(() => t.merges('x'.repeat(5000))).toThrow(/expected at most 4096/);
    t.close();
  });

  it('takes other orders of ids, and refuses what is no tokenizer', () => {
    const bytes = Int32Array.from({ length: 256 }, (_, i) => 255 - i);
    const t = engine.openTokenizer(Int32Array.of(255 - 97, 255 - 98), end, { bytes, made: Int32Array.of(257), end: 256 });
    expect([...t.encode('aba')]).toEqual([257, 255 - 97]);
    expect(t.decode(Int32Array.of(257))).toBe('ab');
    expect(t.merges('ab')).toEqual([{ ids: [255 - 97, 255 - 98], at: 0, rank: 0 }]);
    t.close();
    const open = (...merges: number[]) => () => engine.openTokenizer(Int32Array.from(merges), end);
    expect(open(97, 300)).toThrow(/expected ids that are there/);
    expect(open(97, -1)).toThrow(/expected ids that are there/);
    expect(open(97, 98, 97, 98)).toThrow(/again/);
    expect(open(97)).toThrow(/expected pairs/);
    expect(() => engine.openTokenizer(Int32Array.of(), [])).toThrow(/expected one/);
  });
});

/* ---- a model ----------------------------------------------------------- */

const sizes: Sizes = { L: 2, C: 12, NH: 3, FF: 20, T: 10, V: 17, tied: false };

function countOf(z: Sizes, file: string): number {
  const { C, FF, V, T } = z;
  const ends: [string, number][] = [
    ['wte.weight', V * C], ['wpe.weight', T * C], ['c_attn.weight', 3 * C * C], ['c_attn.bias', 3 * C],
    ['attn.c_proj.weight', C * C], ['c_fc.weight', C * FF], ['c_fc.bias', FF], ['mlp.c_proj.weight', FF * C],
    ['lm_head.weight', C * V],
  ];
  return ends.find(([end]) => file.endsWith(end))?.[1] ?? C;
}

/** Random, gains and biases too. */
function makeModel(z: Sizes, seed: number, scale = 0.4): { model: Model; files: Map<string, Float32Array> } {
  const files = new Map<string, Float32Array>();
  const model = engine.openModel(z, (file) => {
    const data = Float32Array.from(engine.normals([seed, files.size], countOf(z, file)), (x) => scale * x);
    files.set(file, data);
    return data;
  });
  return { model, files };
}

const ids = Int32Array.of(3, 1, 4, 1, 5, 9, 2, 6), targets = Int32Array.of(1, 4, -1, 5, 9, 2, 6, 5);
const last = (t: Tensors, V: number) => t.get('logits')!.data.slice(-V);

describe('a model', () => {
  it('lists its parameters as the library does', () => {
    const { model } = makeModel(sizes, 1);
    expect(model.parameters.map((p) => p.name).slice(0, 5)).toEqual(['wte', 'wpe', 'h.0.ln1w', 'h.0.ln1b', 'h.0.qkvw']);
    expect(model.parameters.find((p) => p.name === 'h.1.qkvw')).toEqual({
      name: 'h.1.qkvw', file: 'transformer.h.1.attn.c_attn.weight', shape: [12, 36], count: 432, decay: true, start: 'matrix',
    });
    expect(model.parameters.at(-1)!.name).toBe('headw');
    model.close();
    expect(() => model.run(ids, targets)).toThrow(/closed/);
  });

  it('runs every stage: row sums 1, masked cells 0, logits as the head makes them', () => {
    const { model, files } = makeModel(sizes, 2);
    const t = model.run(ids, targets), N = ids.length, { C, V, NH, L } = sizes;
    expect(t.size).toBe(1 + L * 35 + 5 + 3 + model.parameters.length);
    expect([...t.keys()][0]).toBe('embedded');
    expect(t.get('h.1.scores')!.shape).toEqual([NH, N, N]);
    for (let l = 0; l < L; l++) {
      const att = t.get(`h.${l}.att`)!.data;
      for (let r = 0; r < NH * N; r++) {
        const row = att.slice(r * N, r * N + N);
        near([row.reduce((a, b) => a + b)], [1], 4e-16, 'row sum');
        near(row.slice((r % N) + 1), new Float64Array(N - 1 - (r % N)), 0, 'masked cells');
      }
    }
    const head = files.get('lm_head.weight')!, lnf = t.get('lnf')!.data;
    for (let v = 0; v < V; v++) {                       // (V, C) in files: a row is a token's
      let sum = 0;
      for (let i = 0; i < C; i++) sum += lnf[(N - 1) * C + i]! * head[v * C + i]!;
      near([last(t, V)[v]!], [sum], 1e-13, 'logit');
    }
    const loss = t.get('loss')!.data, counted = targets.filter((y) => y >= 0).length;
    near([model.loss(ids, targets)], [loss.reduce((a, b) => a + b) / counted], 1e-14, 'mean loss');
    near(t.get('dembedded')!.data, t.get('h.0.dx')!.data, 0, 'dembedded');
    model.close();
  });

  it('has gradients that agree with differences and the complex step', () => {
    for (const tied of [false, true]) {
      const { model } = makeModel({ ...sizes, tied }, 3);
      const t = model.run(ids, targets), steps = Float64Array.of(1e-5, 1e-30);
      for (const p of model.parameters) {
        const gradient = t.get(`grad.${p.name}`)!.data;
        for (const entry of [0, Math.floor(p.count / 2), p.count - 1]) {
          const d = model.derivative(ids, targets, p.name, entry, steps), size = 1 + Math.abs(d.hand);
          expect(d.hand).toBe(gradient[entry]);
          near([d.central[0]!], [d.hand], 1e-7 * size, `${p.name} central`);
          near([d.complex[1]!], [d.hand], 1e-12 * size, `${p.name} complex`);
        }
      }
      const again = model.run(ids, targets);
      for (const [name, tensor] of t) near(again.get(name)!.data, tensor.data, 0, `${name} after the derivatives`);
      model.close();
    }
  });

  it('is on the fast kernels what it is on the definitions', () => {
    for (const z of [sizes, { ...sizes, tied: true }, { L: 1, C: 40, NH: 2, FF: 70, T: 64, V: 33, tied: false }]) {
      const { model } = makeModel(z, 4, 0.2);
      for (const n of [1, 2, 3, 4, 5, 8, 10, 37, 64].filter((m) => m <= z.T)) {
        const some = Int32Array.from({ length: n }, (_, i) => (7 * i + 3) % z.V);
        const t = model.run(some, some), glance = model.glance(some);
        near(glance.logits, last(t, z.V), 2e-5, 'logits');
        for (let l = 0; l < z.L; l++) {
          const cells = z.NH * n * n;
          near(glance.att.slice(l * cells, (l + 1) * cells), t.get(`h.${l}.att`)!.data, 2e-6, 'att');
        }
      }
      model.close();
    }
  });

  it('generates what a full forward pass says, with and without the cache', () => {
    const { model } = makeModel(sizes, 5, 0.7);
    const filters: Filters = { temperature: 0, topK: 0, topP: 1 };
    const generation = model.generate(ids.slice(0, 3), filters, 0, 6);
    const all = [...ids.slice(0, 3)];
    let end = false;
    for (let i = 0; i < 8 && !end; i++) {               // the sixth id fills the window
      const next = model.next(model.glance(Int32Array.from(all.slice(-6))).logits, filters), step = generation.step();
      if (step === null) {
        expect(next.order[0]).toBe(sizes.V - 1);
        end = true;
      } else {
        near(step.next.plain, next.plain, 1e-5, 'probabilities');
        expect([step.id, step.probability]).toEqual([next.order[0], 1]);
        all.push(step.id);
      }
    }
    expect(all.length).toBeGreaterThan(7);
    generation.close();
    model.close();
  });

  it('draws the same with the same seed, and another with another', () => {
    const { model } = makeModel(sizes, 6, 0.2);
    const draw = (seed: number) => {
      const g = model.generate(ids, { temperature: 1, topK: 0, topP: 1 }, seed), out: number[] = [];
      for (let i = 0; i < 12; i++) out.push(g.step()?.id ?? -1);
      g.close();
      return out.join();
    };
    expect(draw(1)).toBe(draw(1));
    expect(new Set([1, 2, 3, 4].map(draw)).size).toBeGreaterThan(1);
    model.close();
  });

  it('refuses what is no window, no parameter, no file', () => {
    const { model } = makeModel(sizes, 7), none = new Int32Array(11), on: Filters = { temperature: 1, topK: 0, topP: 1 };
    expect(() => model.run(none, none)).toThrow(/expected 1 to 10/);
    expect(() => model.run(Int32Array.of(17), Int32Array.of(0))).toThrow(/id 17/);
    expect(() => model.run(ids, Int32Array.of(0))).toThrow(/expected as many/);
    expect(() => model.glance(new Int32Array(0))).toThrow(/expected 1 to 10/);
    expect(() => model.glance(Int32Array.of(-1))).toThrow(/id -1/);
    expect(() => model.derivative(ids, targets, 'nothing', 0, Float64Array.of(1))).toThrow(/no such parameter/);
    expect(() => model.derivative(ids, targets, 'wte', 1e6, Float64Array.of(1))).toThrow(/there is none/);
    expect(() => model.generate(Int32Array.of(), on, 0)).toThrow(/empty prompt/);
    expect(() => model.generate(ids, on, 0, 11)).toThrow(/expected 1 to 10/);
    expect(() => model.generate(ids, { ...on, temperature: -1 }, 0)).toThrow(/temperature/);
    expect(() => model.next(new Float64Array(3).fill(NaN), on)).toThrow(/NaN/);
    expect(() => engine.openModel({ ...sizes, NH: 5 }, () => new Float32Array(1))).toThrow(EngineError);
    expect(() => engine.openModel({ ...sizes, V: 2 ** 23 }, () => new Float32Array(1))).toThrow(/size overflows/);
    const one = { L: 1, C: 1, NH: 1, FF: 1, T: 4, V: 257, tied: true }, most = 2 ** 31 - 1;
    for (const wraps of [{ L: 2, FF: most }, { V: most, tied: false }, { L: most }])    // NUM-01: in 32 bits, small
      expect(() => engine.openModel({ ...one, ...wraps }, () => new Float32Array(1))).toThrow(/size overflows/);
    expect(() => engine.openModel(sizes, () => new Float32Array(1))).toThrow(/wte.weight: 1 numbers, expected 204/);
    model.close();
  });
});

/* ---- sampling ---------------------------------------------------------- */

describe('the next token', () => {
  const logits = Float64Array.of(1, 3, 2, -Infinity, 0, 2);
  const next = (filters: Filters) => {
    const { model } = makeModel({ ...sizes, L: 1 }, 8), out = model.next(logits, filters);
    model.close();
    return out;
  };
  const softmax = (x: readonly number[]) => {
    const e = x.map(Math.exp), sum = e.reduce((a, b) => a + b);
    return e.map((v) => v / sum);
  };
  it('without filters', () => {
    const n = next({ temperature: 1, topK: 0, topP: 1 });
    near(n.plain, softmax([...logits]), 1e-15, 'plain');
    near(n.drawn, n.plain, 0, 'drawn');
    expect([...n.order]).toEqual([1, 2, 5, 0, 4, 3]);
  });
  it('with a temperature, the first k, the mass p', () => {
    const n = next({ temperature: 0.5, topK: 4, topP: 0.95 });
    const [a, b, c] = softmax([6, 4, 4, 2]) as [number, number, number, number];
    expect(a + b < 0.95 && a + b + c > 0.95).toBe(true);
    expect([...n.cut]).toEqual([2, 0, 0, 1, 1, 0]);
    const [x, y, z] = softmax([6, 4, 4]) as [number, number, number];
    near(n.drawn, [0, x, y, 0, 0, z], 1e-15, 'drawn');
  });
  it('at temperature 0', () => {
    const n = next({ temperature: 0, topK: 0, topP: 1 });
    expect([...n.drawn]).toEqual([0, 1, 0, 0, 0, 0]);
    expect([...n.cut]).toEqual([1, 0, 1, 1, 1, 1]);
  });
});
