/* engineNative.test.ts -- the page against the command, on a model that the command has just
 * trained: every double of an exported window bit for bit, ids, probabilities, and generated
 * text.  Needs build/vitrine. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadEngine } from '../src/engine';
import type { Engine, Model, Tokenizer } from '../src/engine/types';
import { floats, numbers, readSafetensors } from '../src/provenance/safetensors';
import { readTokenizerFile } from '../src/provenance/tokenizer-file';

const root = resolve(__dirname, '../..');
const command = join(root, 'build/vitrine'), wasm = join(root, 'build/wasm/vitrine.wasm');
const text = 'the page computes what the command computes';

describe.skipIf(!existsSync(command))('on a trained model', () => {
  let folder: string, engine: Engine, tokenizer: Tokenizer, model: Model;
  let manifest: { tokens: number[]; targets: number[]; loss: number };
  const vitrine = (...args: string[]) => execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'vitrine-engine-'));
    const corpus = join(folder, 'corpus.txt'), site = join(folder, 'site'), made = join(folder, 'model');
    writeFileSync(corpus, `${text}, as the glass shows what is in the case. `.repeat(200));
    vitrine('train', '--preset', 'tiny', '--data', corpus, '--steps', '30', '--merges', '60', '--out', made);
    mkdirSync(site);
    copyFileSync(wasm, join(site, 'vitrine.wasm'));
    vitrine('export', made, '--site', site, '--text', text);
    engine = await loadEngine(readFileSync(wasm));
    const file = readTokenizerFile(readFileSync(join(made, 'tokenizer.json'), 'utf8'));
    tokenizer = engine.openTokenizer(file.merges, file.special);
    const config = JSON.parse(readFileSync(join(made, 'config.json'), 'utf8'));
    const tensors = readSafetensors(readFileSync(join(made, 'model.safetensors')));
    model = engine.openModel(
      {
        L: config.n_layer, C: config.n_embd, NH: config.n_head, FF: config.n_inner, T: config.n_positions,
        V: config.vocab_size, tied: config.tie_word_embeddings,
      },
      (name) => floats(tensors.get(name)!),
    );
    manifest = JSON.parse(readFileSync(join(site, 'data/lab/manifest.json'), 'utf8'));
  }, 120000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('has the ids of the text', () => {
    expect([...tokenizer.encode(text)].slice(0, manifest.tokens.length)).toEqual(manifest.tokens);
    expect(tokenizer.decode(Int32Array.from(manifest.tokens))).toBe(text.slice(0, tokenizer.decode(Int32Array.from(manifest.tokens)).length));
  });

  it('has every bit of the exported window', () => {
    const ours = model.run(Int32Array.from(manifest.tokens), Int32Array.from(manifest.targets));
    const theirs = readSafetensors(readFileSync(join(folder, 'site/data/lab/window.safetensors')));
    let compared = 0;
    expect([...ours.keys()].sort()).toEqual([...theirs.keys()].sort());
    for (const [name, tensor] of theirs) {
      expect(ours.get(name)!.shape, name).toEqual(tensor.shape);
      const a = Buffer.from(ours.get(name)!.data.buffer), b = Buffer.from(numbers(tensor).buffer);
      expect(a.equals(b), name).toBe(true);
      compared += b.length / 8;
    }
    expect(compared).toBeGreaterThan(50000);
    expect(model.loss(Int32Array.from(manifest.tokens), Int32Array.from(manifest.targets))).toBe(manifest.loss);
  });

  it('writes what vitrine generate writes with the portable kernels', () => {
    const filters = { temperature: 0.9, topK: 40, topP: 0.95 };
    for (const seed of [1, 2]) {
      const native = vitrine('generate', join(folder, 'model'), '--prompt', text, '--isa', 'portable', '--seed', `${seed}`,
        '--max-tokens', '60', '--temperature', '0.9', '--top-k', '40', '--top-p', '0.95');
      const generation = model.generate(tokenizer.encode(text), filters, seed, 16), ids: number[] = [];
      for (let step = generation.step(); step !== null && ids.length < 60; step = generation.step()) ids.push(step.id);
      generation.close();
      expect(ids.length).toBeGreaterThan(20);
      const page = tokenizer.decode(Int32Array.from(ids));
      expect(native.trim().endsWith(page.trim())).toBe(true);
    }
  });
});
