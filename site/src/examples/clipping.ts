/* clipping.ts -- the gradients of a matrix and of a vector, clipped by their common norm.
 *
 * Sums and factors are src/kernels/gradclip.c's.  A gradient times the factor is what
 * AdamW's first moment starts from; here it is a product alone, by linear_forward.
 */
import type { Engine } from '../engine/types';
import type { Example, ExampleTensor } from './types';
import file from '../../content/inputs/clipping.json';
import { computed, input, operand, range, sum } from './arithmetic';
import { definitions, flat } from './definitions';
import { fmt } from '../components/numbers';

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const gW = flat(given.gW, 'gW'), gb = flat(given.gb, 'gb'), most = flat(given.clip, 'clip')[0]!, norms = flat(given.norms, 'norms');
  const C = gb.length, R = gW.length / C;
  const squares = (x: Float64Array): number => engine.call('f64', 'sum_squares', x, x.length);
  const sums = Float64Array.of(squares(gW), squares(gb));
  const total = definitions(engine, 'f64').dot(sums, new Float64Array(2).fill(1))[0]!;
  const norm = Math.sqrt(total);              /* correctly rounded in C and here */
  const factor = engine.call('f64', 'clip_factor', total, most);
  const scaled = (x: Float64Array): Float64Array => definitions(engine, 'f64').linear(x, Float64Array.of(factor), null, x.length, 1, 1);
  const cW = scaled(gW), cb = scaled(gb);
  const factors = norms.map((n) => engine.call('f64', 'clip_factor', n * n, most));
  const matrix = { shape: [R, C], letters: '(R, C)', rows: range(R).map(String), rowAxis: 'row', columns: range(C).map(String), columnAxis: 'column' };
  const vector = { shape: [C], letters: '(C)', columns: range(C).map(String), columnAxis: 'entry' };
  const tensors = [{ name: 'dW', data: gW }, { name: 'db', data: gb }] as const;
  const clipped = (name: string, g: Float64Array, c: Float64Array) => (k: number, index: string) => ({
    columns: ['operand'],
    rows: [{ head: `${name}[${index}]`, cells: [g[k]!] }, { head: '× factor', cells: [factor] }],
    total: { head: `${name}'[${index}]`, cells: [c[k]!] },
    sentence: `${name}'[${index}] = ${operand(factor)} × ${operand(g[k]!)} = ${fmt(c[k]!, 4)}`,
  });
  const ofFactor = (n: number, value: number) => ({
    columns: ['operand'],
    rows: [{ head: 'largest norm', cells: [most] }, { head: '/ norm', cells: [n] }],
    total: { head: 'factor', cells: [value] },
    sentence: n <= most ? `norm ${fmt(n, 4)} is not above ${fmt(most, 4)}: the factor is 1` : `factor = ${fmt(most, 4)} / ${fmt(n, 4)} = ${fmt(value, 4)}`,
  });
  const cW1 = clipped('dW', gW, cW), cb1 = clipped('db', gb, cb);

  return [
    input({ id: 'dW', from: 'gW', tex: '\\mathrm{d}W', title: 'Gradient of a matrix', data: gW, ...matrix }),
    input({ id: 'db', from: 'gb', tex: '\\mathrm{d}b', title: 'Gradient of a vector', data: gb, ...vector }),
    computed({ id: 'sums', tex: '\\mathrm{sum}', title: 'Sum of squares of each tensor', shape: [2], letters: '(tensors)', data: sums, columns: tensors.map((t) => t.name), columnAxis: 'tensor' }, 'clip.sum',
      (_, k) => {
        const t = tensors[k]!;
        return {
          columns: [t.name, 'squared'],
          rows: Array.from(t.data, (g, i) => ({ head: k === 0 ? `${Math.floor(i / C)},${i % C}` : String(i), cells: [g, g * g] })),
          total: { head: 'sum', cells: [null, sums[k]!] },
          sentence: `sum of ${t.name} = ${Array.from(t.data, (g) => `${operand(g)}²`).join(' + ')} = ${fmt(sums[k]!, 4)}`,
        };
      }),
    computed({ id: 'norm', tex: '\\mathrm{norm}', title: 'Norm of all tensors together', shape: [1], letters: '()', data: Float64Array.of(norm), columns: ['norm'] }, 'opt.norm',
      () => {
        const s = sum('sum', 'sum of squares', tensors.map((t, k) => ({ head: t.name, value: sums[k]! })), total);
        return { ...s, rows: [...s.rows, { head: 'together', cells: [total] }], total: { head: 'root', cells: [norm] }, sentence: `norm = √(${Array.from(sums, operand).join(' + ')}) = ${fmt(norm, 4)}` };
      }),
    computed({ id: 'factor', tex: '\\mathrm{factor}', title: 'Factor for every gradient', shape: [1], letters: '()', data: Float64Array.of(factor), columns: ['factor'] }, 'clip.factor',
      () => ofFactor(norm, factor)),
    computed({ id: 'cW', tex: "\\mathrm{d}W'", title: 'Gradient of the matrix, clipped', data: cW, ...matrix }, 'opt.clip', (r, c) => cW1(r * C + c, `${r},${c}`)),
    computed({ id: 'cb', tex: "\\mathrm{d}b'", title: 'Gradient of the vector, clipped', data: cb, ...vector }, 'opt.clip', (_, c) => cb1(c, String(c))),
    computed({ id: 'factors', tex: '\\mathrm{factor}(\\mathrm{norm})', title: 'Factor for other norms', shape: [norms.length], letters: '(norms)', data: Float64Array.from(factors), scale: 'weight',
      columns: [...norms].map((n) => fmt(n, 2)), columnAxis: 'norm' }, 'clip.factor', (_, k) => ofFactor(norms[k]!, factors[k]!)),
  ];
}

export const example: Example = { id: 'clipping', inputs: file, run };
