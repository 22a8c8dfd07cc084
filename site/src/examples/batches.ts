/* batches.ts -- a short row of tokens cut into windows, shuffled, and dealt out in batches.
 *
 * A word of the text is one token here, numbered by its place: so a window shows
 * where it was taken from.  Windows, their order and the split of documents are the
 * C code's (src/data/).
 */
import type { Batch, BatchOptions, Engine } from '../engine/types';
import type { Example, ExampleTensor, Ledger } from './types';
import file from '../../content/inputs/batches.json';
import { computed, counting, input, range } from './arithmetic';

const IGNORE = -1;
const text = file.text.split(' ');

/** A window's number is its first token's place over the stride: tokens are numbered by place. */
function windowsOf(b: Batch, { seq, stride }: BatchOptions): number[] {
  return range(b.rows).map((r) => b.x[r * seq]! / stride);
}

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const number = (name: string): number => Number((given[name] ?? [])[0]);
  const options: BatchOptions = { seq: number('seq'), stride: number('stride'), batch: number('batch'), seed: number('seed') };
  const { seq, stride, batch, seed } = options;
  const N = text.length, step = number('step'), places = Int32Array.from(range(N));
  const word = (place: number): string => text[place] ?? '';
  const now = engine.batch(places, step, options), W = now.windows, per = now.perEpoch;
  const epochs = number('epochs');
  const order = range(epochs).map((e) => range(per).flatMap((j) => windowsOf(engine.batch(places, e * per + j, options), options)));
  const D = number('documents'), validates = Float64Array.from(engine.splitDocuments(D, seed));
  const apart = [...validates].filter((v) => v === 1).length;

  const epoch = Math.floor(step / per), within = step % per;
  const window = (r: number): number => order[epoch]![within * batch + r]!;
  const rows = range(batch).map((r) => (r < now.rows ? `window ${window(r)}` : 'unused'));
  const grid = { shape: [batch, seq], letters: '(B, T)', rows, rowAxis: 'row', columns: range(seq).map(String), columnAxis: 't' };
  const ledger = (name: string, ahead: number, data: Int32Array) => (r: number, t: number): Ledger => {
    const value = data[r * seq + t]!;
    if (r >= now.rows) return {
      columns: ['value'], rows: [{ head: 'row not used', cells: [value] }], sentence: `${name}[${r}][${t}] = ${value}: nothing in this row counts`,
    };
    return {
      columns: ['place'],
      rows: [
        { head: `window ${window(r)} × stride ${stride}`, cells: [window(r) * stride] },
        { head: `+ t`, cells: [t] },
        ...(ahead ? [{ head: '+ one ahead', cells: [ahead] }] : []),
      ],
      total: { head: `token "${word(value)}"`, cells: [value] },
      sentence: `${name}[${r}][${t}] = tokens[${window(r)} × ${stride} + ${t}${ahead ? ' + 1' : ''}] = tokens[${value}] = "${word(value)}"`,
    };
  };

  return ([
    input({ id: 'tokens', tex: '\\mathrm{tokens}', title: 'The text: one token a word, numbered by its place', shape: [N], letters: '(N)',
      data: Float64Array.from(places), columns: text, columnAxis: 'token' }, false),
    computed({ id: 'validates', tex: '\\mathrm{validates}', title: 'Documents of a corpus: one for those set apart', shape: [D], letters: '(documents)', data: validates,
      columns: range(D).map(String), columnAxis: 'document' }, 'batch.split',
      (_, d) => ({
        columns: ['documents'],
        rows: [{ head: 'in the corpus', cells: [D] }, { head: 'set apart: a tenth, rounded up', cells: [apart] }],
        total: { head: `document ${d}`, cells: [validates[d]!] },
        sentence: `document ${d} is ${validates[d] === 1 ? 'among the first' : 'not among the first'} ${apart} of the shuffled ${D}: it ${validates[d] === 1 ? 'validates' : 'trains'}`,
      })),
    computed({ id: 'order', tex: '\\mathrm{order}', title: 'Windows in the order in which each epoch takes them', shape: [epochs, W], letters: '(epochs, W)', data: Float64Array.from(order.flat()),
      rows: range(epochs).map(String), rowAxis: 'epoch', columns: range(W).map(String), columnAxis: 'place in the order' }, 'batch.shuffle',
      (e, i) => {
        const w = order[e]![i]!;
        return {
          columns: ['first token', 'window'],
          rows: range(W).map((v) => ({ head: `"${word(v * stride)}"`, cells: [v * stride, v], ...(v === w ? { chosen: true } : {}) })),
          total: { head: `order[${i}]`, cells: [null, w] },
          sentence: `epoch ${e}, place ${i}: window ${w}, from the generator seeded with ${seed} and this epoch; batch ${Math.floor(i / batch)}, row ${i % batch}`,
        };
      }),
    computed({ id: 'x', tex: 'x', title: 'Inputs of the batch', data: Float64Array.from(now.x), ...grid }, 'batch.window', ledger('x', 0, now.x)),
    computed({ id: 'y', tex: 'y', title: 'Targets of the batch', data: Float64Array.from(now.y), ...grid }, 'batch.target', ledger('y', 1, now.y)),
    (() => {
      const last = engine.batch(places, per - 1, options), data = Float64Array.from(last.y);
      return computed({ id: 'ylast', tex: 'y_{\\text{last}}', title: 'Targets of an epoch\u2019s last batch', data, ...grid, rows: range(batch).map((r) => (r < last.rows ? `row ${r}` : 'unused')) }, 'batch.target',
        (r, t) => {
          const value = data[r * seq + t]!;
          return {
            columns: ['value'],
            rows: [{ head: r < last.rows ? `token "${word(value)}"` : 'row not used', cells: [value] }],
            sentence: value === IGNORE ? `y[${r}][${t}] is marked to be ignored: no window was left for this row` : `y[${r}][${t}] = "${word(value)}"`,
          };
        });
    })(),
  ] as const).map(counting);
}

const { text: _text, ...numbers } = file;
export const example: Example = { id: 'batches', inputs: numbers, run };
