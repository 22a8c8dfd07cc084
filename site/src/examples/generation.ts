/* generation.ts -- tokens from the overview's model of one block, one after the other.
 *
 * The generator is the C code's (src/sample/generate.c), with its cache, its fast
 * float kernels and its random numbers.  Beside each step stands a fresh pass over all
 * tokens so far.  The model's last id is a word here; in a trained model it ends a text.
 */
import type { Engine, Filters } from '../engine/types';
import type { Example, ExampleTensor, LedgerRow } from './types';
import file from '../../content/inputs/generation.json';
import { computed, counting, range } from './arithmetic';
import { fmt, full, sci } from '../components/numbers';
import { openTinyModel, tinyWords } from '../pages/overview/tiny-model';

/** Stream of the draws of a text, RNG_SAMPLE of src/base/rng.h. */
const DRAWS = 3;
const PLAIN: Filters = { temperature: 1, topK: 0, topP: 1 };

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const number = (name: string): number => Number((given[name] ?? [])[0]);
  const filters: Filters = { temperature: number('temperature'), topK: number('topk'), topP: number('topp') };
  const prompt = [...(given.prompt as readonly number[])], n = number('tokens'), seed = number('seed');
  const model = openTinyModel(engine);
  try {
    const V = model.sizes.V, ids = [...prompt], steps: { drawn: Float64Array; fresh: Float64Array; id: number; order: Int32Array; read: readonly number[] }[] = [];
    const generation = model.generate(Int32Array.from(prompt), filters, seed);
    for (let k = 0; k < n; k++) {
      const read = [...ids], next = model.next(generation.logits(), PLAIN), fresh = model.next(model.glance(Int32Array.from(ids)).logits, PLAIN).plain;
      const id = generation.step()?.id ?? V - 1;    /* the end of a text, a word here */
      steps.push({ drawn: next.plain, fresh, id, order: next.order, read });
      ids.push(id);
    }
    generation.close();
    const u = engine.uniforms([seed, DRAWS, 0], n);
    const word = (id: number): string => tinyWords[id] ?? String(id);
    const rows = steps.map((s) => `${s.read.map(word).join(' ')} \u2026`);
    const table = { shape: [n, V], letters: '(steps, V)', rows, rowAxis: 'text so far', columns: tinyWords, columnAxis: 'next token' };
    const row = { shape: [n], letters: '(steps)', columns: range(n).map((k) => `step ${k}`), columnAxis: 'step' };
    return [
      computed({ id: 'probs', tex: 'p', title: 'Probabilities of the next token at each step', data: Float64Array.from(steps.flatMap((s) => [...s.drawn])), scale: 'weight', ...table }, 'gen.logits',
        (k, v) => ({
          columns: ['probability'],
          rows: range(V).map((x): LedgerRow => ({ head: word(x), cells: [steps[k]!.drawn[x]!], ...(x === v ? { chosen: true } : {}) })),
          total: { head: `p[${v}]`, cells: [steps[k]!.drawn[v]!] },
          sentence: `after "${steps[k]!.read.map(word).join(' ')}" the model gives "${word(v)}" ${fmt(steps[k]!.drawn[v]!, 4)}`,
        })),
      computed({ id: 'u', tex: 'u', title: 'Random number of each step', data: u, scale: 'weight', ...row }, 'sample.draw',
        (_, k) => ({
          columns: ['from'],
          rows: [{ head: 'seed', cells: [String(seed)] }, { head: 'draw', cells: [String(k)] }],
          total: { head: 'u', cells: [u[k]!] },
          sentence: `u = ${full(u[k]!)}, the generator's number ${k} for seed ${seed}`,
        })),
      counting(computed({ id: 'ids', tex: '\\mathrm{ids}', title: 'Token that each step drew', data: Float64Array.from(steps, (s) => s.id), ...row, columns: steps.map((s) => word(s.id)) }, 'gen.append',
        (_, k) => {
          const s = steps[k]!;
          let mass = 0;
          return {
            columns: ['probability', 'running mass', 'id'],
            rows: [...s.order].map((v): LedgerRow => ({ head: word(v), cells: [s.drawn[v]!, (mass += s.drawn[v]!), v], ...(v === s.id ? { chosen: true } : {}) })),
            total: { head: `u = ${fmt(u[k]!, 4)}`, cells: [null, null, s.id] },
            sentence: `the first running mass above ${fmt(u[k]!, 4)} is that of "${word(s.id)}": the text is now "${[...s.read, s.id].map(word).join(' ')}"`,
          };
        })),
      computed({ id: 'gap', tex: '\\Delta', title: 'Distance of each probability from a fresh pass over all tokens', data: Float64Array.from(steps.flatMap((s) => [...s.drawn].map((p, v) => Math.abs(p - s.fresh[v]!)))), ...table }, null,
        (k, v) => {
          const s = steps[k]!, gap = Math.abs(s.drawn[v]! - s.fresh[v]!);
          return {
            columns: ['in full'],
            rows: [{ head: 'with the cache', cells: [full(s.drawn[v]!)] }, { head: 'all tokens again', cells: [full(s.fresh[v]!)] }],
            total: { head: 'apart', cells: [gap] },
            sentence: gap === 0 ? 'the same bits both ways' : `apart by ${sci(gap)}, in float arithmetic`,
          };
        }),
    ];
  } finally {
    model.close();
  }
}

export const example: Example = { id: 'generation', inputs: file, run };
