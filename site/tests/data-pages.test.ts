/* data-pages.test.ts -- the examples of Tokenizer, Training and Generation: values against the same
 * mathematics written another way, and every ledger of every cell. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadEngine } from '../src/engine/index';
import type { Engine } from '../src/engine/types';
import { examples } from '../src/examples/registry';
import type { ExampleTensor } from '../src/examples/types';
import { tokenizerText } from '../src/examples/tokenizer';
import { encodeText } from '../src/pages/tokenizer-words';
import { tinyWords } from '../src/pages/overview/tiny-model';
import adamwInputs from '../content/inputs/adamw.json';
import batchInputs from '../content/inputs/batches.json';
import clippingInputs from '../content/inputs/clipping.json';
import samplingInputs from '../content/inputs/sampling.json';
import scheduleInputs from '../content/inputs/schedule.json';
import { softmax } from './algebra';
import { near } from './near';

const NAMES = ['adamw', 'batches', 'cache', 'clipping', 'generation', 'sampling', 'schedule', 'tokenizer'] as const;
type Name = (typeof NAMES)[number];

let engine: Engine;
const found = new Map<Name, ReadonlyMap<string, ExampleTensor>>();

beforeAll(async () => {
  engine = await loadEngine(readFileSync(new URL('../../build/wasm/vitrine.wasm', import.meta.url)));
  for (const name of NAMES) {
    const { example } = await examples[name]!();
    found.set(name, new Map(example.run(engine, example.inputs).map((t) => [t.id, t])));
  }
});

const tensorOf = (name: Name, id: string): ExampleTensor => {
  const t = found.get(name)!.get(id);
  if (!t) throw new Error(`${name} has no tensor ${id}`);
  return t;
};
const data = (name: Name, id: string): number[] => [...tensorOf(name, id).data];
const last = <T>(list: readonly T[]): T => list[list.length - 1]!;

describe.each(NAMES)('%s', (name) => {
  test('every cell of every tensor has a ledger that ends in its number', () => {
    let cells = 0;
    for (const t of found.get(name)!.values()) {
      const width = last(t.shape), height = t.data.length / width;
      expect(Number.isInteger(height), t.id).toBe(true);
      if (t.columns) expect(t.columns.length, t.id).toBe(width);
      if (t.rows) expect(height % t.rows.length, t.id).toBe(0);
      for (let k = 0; k < t.data.length; k++, cells++) {
        const ledger = t.ledger(Math.floor(k / width), k % width), end = ledger.total ?? last(ledger.rows);
        expect(last(end.cells), `${t.id}[${k}]`).toBe(t.data[k]);
        for (const r of ledger.rows) expect(r.cells.length, `${t.id}: ${r.head}`).toBe(ledger.columns.length);
        expect(end.cells.length, t.id).toBe(ledger.columns.length);
        expect(ledger.sentence.length).toBeGreaterThan(0);
      }
    }
    expect(cells).toBeGreaterThan(10);
  });

  test('what a ledger adds up is its sum', () => {
    for (const t of found.get(name)!.values()) {
      const width = last(t.shape);
      for (let k = 0; k < t.data.length; k++) {
        const ledger = t.ledger(Math.floor(k / width), k % width);
        if (ledger.total?.head !== 'sum') continue;
        const at = ledger.columns.length - 1;
        const terms = ledger.rows.map((r) => r.cells[at] as number);
        expect(Math.abs(terms.reduce((a, b) => a + b, 0) - (last(ledger.total.cells) as number)), `${t.id} ${k}`).toBeLessThan(1e-13);
      }
    }
  });
});

/* ---- byte-pair encoding, counted again from the beginning before each merge -------- */

const PATTERN = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;
const bytesOf = (text: string): number[] => [...new TextEncoder().encode(text)];
const cut = (text: string): string[] => text.match(PATTERN) ?? [];

function joined(word: readonly string[], a: string, b: string): string[] {
  const out: string[] = [];
  for (let i = 0; i < word.length; i++) {
    if (word[i] === a && word[i + 1] === b) out.push(word[i]! + word[++i]!);
    else out.push(word[i]!);
  }
  return out;
}
/** Tokens are strings of one character a byte, so that comparing strings compares bytes. */
const spelled = (text: string): string[] => bytesOf(text).map((b) => String.fromCharCode(b));

function naive(corpus: string, most: number): { pairs: [string, string][]; counts: number[] } {
  let words = cut(corpus).map(spelled);
  const pairs: [string, string][] = [], counts: number[] = [];
  while (pairs.length < most) {
    const tally = new Map<string, { pair: [string, string]; n: number }>();
    for (const w of words) {
      let before = -1;                                 /* a run of equal tokens holds half its length, rounded down */
      for (let i = 0; i + 1 < w.length; i++) {
        if (w[i] === w[i + 1] && i > 0 && w[i - 1] === w[i] && before === i - 1) continue;
        before = i;
        const key = `${w[i]}\u0000${w[i + 1]}`, entry = tally.get(key) ?? { pair: [w[i]!, w[i + 1]!], n: 0 };
        entry.n++;
        tally.set(key, entry);
      }
    }
    const order = (p: string, q: string): number => (p < q ? -1 : p > q ? 1 : 0);
    const best = [...tally.values()].sort((p, q) => q.n - p.n || order(p.pair[0], q.pair[0]) || order(p.pair[1], q.pair[1]))[0];
    if (!best || best.n < 2) break;
    pairs.push(best.pair);
    counts.push(best.n);
    words = words.map((w) => joined(w, ...best.pair));
  }
  return { pairs, counts };
}

describe('tokenizer', () => {
  const { corpus, text, merges } = tokenizerText;
  const want = naive(corpus, merges);
  const idOf = (token: string): number => (token.length === 1 ? token.charCodeAt(0) : 256 + want.pairs.findIndex(([a, b]) => a + b === token));

  test('merges and counts are those of a trainer that counts everything again', () => {
    expect(data('tokenizer', 'best')).toEqual(want.counts);
    expect(data('tokenizer', 'merges')).toEqual(want.pairs.flatMap(([a, b]) => [idOf(a), idOf(b), idOf(a + b)]));
    const table = tensorOf('tokenizer', 'counts');
    want.counts.forEach((n, r) => expect(table.data[r * table.shape[1]!]).toBe(n));
    for (let r = 0; r < want.counts.length; r++) {
      const row = [...table.data.slice(r * table.shape[1]!, (r + 1) * table.shape[1]!)];
      expect(row).toEqual([...row].sort((a, b) => b - a));
    }
  });
  test('words are those of the regular expression', () => {
    const ends = cut(text).map((w) => bytesOf(w).length).reduce<number[]>((all, n) => [...all, (all[all.length - 1] ?? 0) + n], []);
    expect(data('tokenizer', 'pieces')).toEqual(ends.flatMap((e, k) => [ends[k - 1] ?? 0, e]));
    const distinct = [...new Set(cut(corpus))];
    expect(data('tokenizer', 'weights')).toEqual(distinct.map((w) => cut(corpus).filter((v) => v === w).length));
  });
  test('ids are those of applying every merge in order', () => {
    const ids = cut(text).flatMap((w) => want.pairs.reduce((tokens, [a, b]) => joined(tokens, a, b), spelled(w))).map(idOf);
    expect(data('tokenizer', 'ids')).toEqual(ids);
    expect(data('tokenizer', 'bytes')).toEqual(bytesOf(text));
    expect(data('tokenizer', 'back')).toEqual(bytesOf(text));
    expect(data('tokenizer', 'ranks').length).toBeGreaterThan(2);
  });
  test('a text of one\u2019s own: words, steps and ids agree, and it comes back', () => {
    const { merges: pairs } = engine.trainTokenizer(corpus, 40);
    const tokenizer = engine.openTokenizer(pairs, ['<|endoftext|>']);
    for (const typed of ['', 'that cat', '  the\n\tcat\u2019s 42 caf\u00e9s \u{1f600}!', '<img src=x onerror=alert(1)>', '<|endoftext|>', '\ud800 lone', '\ufeffbom']) {
      const e = encodeText(tokenizer, typed), plain = typed.replace(/[\ud800-\udbff](?![\udc00-\udfff])/g, '\ufffd');
      expect(e.same, typed).toBe(true);
      expect(e.back).toBe(plain);
      expect(e.words.flatMap((w) => w.ids)).toEqual([...e.ids]);
      expect(e.words.map((w) => w.bytes.length).reduce((a, b) => a + b, 0)).toBe(bytesOf(plain).length);
      for (const w of e.words) expect(w.ids.length).toBe(w.bytes.length - w.steps.length);
      expect([...e.ids].every((id) => id < tokenizer.size - 1)).toBe(true);
    }
    tokenizer.close();
  });
});

/* ---- training ---------------------------------------------------------------------- */

describe('batches', () => {
  const seq = batchInputs.seq[0]!, stride = batchInputs.stride[0]!, N = batchInputs.text.split(' ').length;
  test('the order of windows and the split are NumPy\u2019s', () => {
    /* np.random.default_rng([42, 2, e]).permutation(4) for e = 0, 1, 2; sorted(default_rng([42, 1, 0]).permutation(24)[:3]) */
    expect(data('batches', 'order')).toEqual([0, 3, 1, 2, 3, 1, 2, 0, 0, 1, 3, 2]);
    expect(data('batches', 'validates').flatMap((v, d) => (v ? [d] : []))).toEqual([1, 9, 12]);
    expect(tensorOf('batches', 'order').shape[1]).toBe(Array.from({ length: N }, (_, k) => k).filter((k) => k % stride === 0 && k + seq < N).length);
  });
  test('a target is the token behind its input', () => {
    const x = data('batches', 'x'), y = data('batches', 'y');
    expect(x).toEqual([0, 1, 2, 3, 9, 10, 11, 12]);
    expect(y).toEqual(x.map((v) => v + 1));
  });
  test('a batch that is not full says so, and what cannot be is refused', () => {
    const tokens = Int32Array.from({ length: 14 }, (_, k) => k), options = { seq: 4, stride: 0, batch: 2, seed: 1 };
    const all = [0, 1].map((step) => engine.batch(tokens, step, options));
    expect(all.map((b) => [b.rows, b.windows, b.perEpoch])).toEqual([[2, 3, 2], [1, 3, 2]]);
    expect([...all[1]!.y.slice(4)]).toEqual([-1, -1, -1, -1]);
    expect(all.flatMap((b) => [...b.x.slice(0, b.rows * 4)]).sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, k) => k));
    expect(() => engine.batch(tokens.slice(0, 4), 0, options)).toThrow(/expected at least 5/);
    expect(() => engine.batch(tokens, -1, options)).toThrow(/expected an integer/);
    expect(() => engine.splitDocuments(9, 1)).toThrow(/9 documents: expected 10/);
    expect([...engine.splitDocuments(31, 7)].filter((v) => v === 1).length).toBe(4);
  });
});

test('schedule: a line, half a cosine, then level', () => {
  const steps = scheduleInputs.steps[0]!, warmup = scheduleInputs.warmup[0]!, high = scheduleInputs.highest[0]!, low = scheduleInputs.lowest[0]!;
  const want = data('schedule', 'lr').map((_, s) => {
    if (s < warmup) return ((s + 1) * high) / warmup;
    return s >= steps ? low : low + (high - low) * Math.cos((Math.PI * (s - warmup)) / (2 * (steps - warmup))) ** 2;
  });
  near(data('schedule', 'lr'), want, 1e-15, 'lr');
});

test('clipping: one factor for all gradients', () => {
  const all = [...clippingInputs.gW.flat(), ...clippingInputs.gb], norm = Math.hypot(...all), clip = clippingInputs.clip[0]!;
  near(data('clipping', 'norm'), [norm], 1e-15, 'norm');
  near([...data('clipping', 'cW'), ...data('clipping', 'cb')], all.map((g) => (g * clip) / norm), 1e-15, 'clipped');
  near(data('clipping', 'factors'), clippingInputs.norms.map((n) => (n > clip ? clip / n : 1)), 1e-16, 'factors');
  expect(Math.hypot(...data('clipping', 'cW'), ...data('clipping', 'cb'))).toBeCloseTo(clip, 14);
});

test('adamw: PyTorch\u2019s order of operations', () => {
  const one = (name: 'clip' | 'lr' | 'beta1' | 'beta2' | 'eps' | 'decay'): number => adamwInputs[name][0]!;
  for (const [id, decay] of [['w', one('decay')], ['wplain', 0]] as const) {
    const w = [...adamwInputs.w], m = w.map(() => 0), v = w.map(() => 0), after: number[] = [], moments: number[] = [], hats: number[] = [];
    adamwInputs.g.forEach((gradient, k) => {
      const c1 = 1 - one('beta1') ** (k + 1), c2 = 1 - one('beta2') ** (k + 1);
      gradient.forEach((g, i) => {
        const x = g * one('clip');
        w[i]! *= 1 - one('lr') * decay;
        m[i]! += (x - m[i]!) * (1 - one('beta1'));
        v[i] = v[i]! * one('beta2') + (1 - one('beta2')) * x ** 2;
        w[i]! -= ((one('lr') / c1) * m[i]!) / (Math.sqrt(v[i]!) / Math.sqrt(c2) + one('eps'));
      });
      after.push(...w);
      moments.push(...m, ...v);
      hats.push(...m.map((x) => x / c1), ...v.map((x) => x / c2));
    });
    near(data('adamw', id), after, 2e-15, id);
    const rows = (name: string): number[][] => adamwInputs.g.map((_, k) => data('adamw', name).slice(k * w.length, (k + 1) * w.length));
    const pair = (a: string, b: string): number[] => rows(a).flatMap((r, k) => [...r, ...rows(b)[k]!]);
    near(pair('m', 'v'), moments, 1e-15, 'moments');
    near(pair('mhat', 'vhat'), hats, 2e-15, 'corrected moments');
  }
  expect(data('adamw', 'groups').filter((d) => d > 0).length).toBe(6);
});

/* ---- generation --------------------------------------------------------------------- */

describe('sampling', () => {
  const l = samplingInputs.logits, T = samplingInputs.temperature[0]!, k = samplingInputs.topk[0]!, p = samplingInputs.topp[0]!;
  const sorted = l.map((_, v) => v).sort((a, b) => l[b]! - l[a]!);
  const share = (kept: readonly number[]): number[] => {
    const some = softmax([kept.map((v) => l[v]! / T)])[0]!;
    return l.map((_, v) => (kept.includes(v) ? some[kept.indexOf(v)]! : 0));
  };
  const nucleus = (): number[] => {
    const row = share(sorted.slice(0, k));
    return sorted.filter((_, i) => row[sorted[i]!]! > 0 && sorted.slice(0, i).reduce((s, v) => s + row[v]!, 0) < p);
  };
  test('temperature', () => {
    near(data('sampling', 'w'), l.map((x) => Math.exp((x - Math.max(...l)) / T)), 1e-15, 'w');
    near(data('sampling', 'p'), share(sorted), 1e-15, 'p');
    const rows = samplingInputs.temperatures.flatMap((t) => (t === 0 ? l.map((_, v) => (v === sorted[0] ? 1 : 0)) : softmax([l.map((x) => x / t)])[0]!));
    near(data('sampling', 'byT'), rows, 1e-15, 'by temperature');
  });
  test('top-k and top-p', () => {
    expect(data('sampling', 'order')).toEqual(sorted);
    near(data('sampling', 'topk'), share(sorted.slice(0, k)), 1e-15, 'top-k');
    near(data('sampling', 'topp'), share(nucleus()), 1e-15, 'top-p');
    expect(nucleus().length).toBeLessThan(k);
  });
  test('a draw is the inverse of the running mass', () => {
    const row = share(nucleus());
    expect(data('sampling', 'drawn')).toEqual(samplingInputs.u.map((u) => nucleus().find((_, i, all) => all.slice(0, i + 1).reduce((s, v) => s + row[v]!, 0) > u)));
    for (const u of [1, -0.1, NaN]) expect(() => engine.draw(Float64Array.from(l), { temperature: 1, topK: 0, topP: 1 }, u)).toThrow(/expected a number from 0 to below 1/);
    expect(() => engine.draw(new Float64Array(0), { temperature: 1, topK: 0, topP: 1 }, 0)).toThrow(/0 logits/);
  });
});

test('cache: one row at a time gives the bits of all rows at once', () => {
  expect(data('cache', 'gap')).toEqual(new Array(18).fill(0));
  expect(data('cache', 'P')).toEqual([0, 1, 2, 3, 4, 5]);
  const golden = JSON.parse(readFileSync(new URL('../../tests/golden/attention_example.json', import.meta.url), 'utf8')) as { forward: Record<string, number[][]> };
  near(data('cache', 'k'), golden.forward.K!.flat(), 1e-15, 'k');
  near(data('cache', 'v'), golden.forward.V!.flat(), 1e-15, 'v');
  near(data('cache', 'out'), golden.forward.O!.flat(), 1e-15, 'O');
});

/** np.random.default_rng([179, 3, 0]).random(5) */
const NUMPY_U = [0.7346661931078219, 0.495177848384178, 0.8198665763261892, 0.6077589860855693, 0.9933315434715433];

test('generation: each id is the one that NumPy\u2019s number draws, with the cache and without', () => {
  near(data('generation', 'u'), NUMPY_U, 0, 'u');
  const rows = tensorOf('generation', 'probs'), V = rows.shape[1]!;
  data('generation', 'ids').forEach((id, k) => {
    const row = [...rows.data.slice(k * V, (k + 1) * V)], order = row.map((_, v) => v).sort((a, b) => row[b]! - row[a]!);
    near([row.reduce((a, b) => a + b, 0)], [1], 1e-14, 'sum');
    expect(order.find((_, i) => order.slice(0, i + 1).reduce((s, v) => s + row[v]!, 0) > NUMPY_U[k]!)).toBe(id);
  });
  expect(Math.max(...data('generation', 'gap'))).toBeLessThan(1e-6);
  expect(new Set(data('generation', 'ids')).size).toBe(tinyWords.length);
});
