/* layernorm.ts -- four rows, normalised and differentiated.
 *
 * What layernorm.c keeps in local variables (xhat, dxhat, the two means of
 * backward) is computed here by other definitions on the same numbers: xhat is
 * the layer norm with gain one and no bias, products and means are linear maps.
 * With a power of two as number of channels they have the same bits.
 */
import type { Engine } from '../engine/types';
import type { Example, ExampleTensor } from './types';
import inputs from '../../content/inputs/layernorm.json';
import { chain, computed, input, layernormLedger, operand, products, range, sum } from './arithmetic';
import { attentionTokens } from './attention-inputs';
import { definitions, flat, layernormBackward } from './definitions';
import { gapTensor, type Loss } from './gap';
import { fmt, sci } from '../components/numbers';

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const x = flat(given.x, 'x'), w = flat(given.w, 'w'), b = flat(given.b, 'b'), dy = flat(given.dy, 'dy');
  const C = w.length, N = x.length / C, words = attentionTokens.slice(0, N), channels = range(C);
  const d = definitions(engine, 'f64');
  const ones = new Float64Array(C).fill(1), none = new Float64Array(C);

  const { y, mean, rstd } = d.layernorm(x, w, b, N, C);
  const xhat = d.layernorm(x, ones, none, N, C).y;
  /* a row of zeros has variance 0: what its rstd is made of is eps alone */
  const alone = d.layernorm(none, ones, none, 1, C).rstd[0]!;
  const eps = 1 / (alone * alone);

  const { dx, dw, db } = layernormBackward(engine, dy, x, w, mean, rstd, N, C);
  const diagonal = new Float64Array(C * C);
  channels.forEach((i) => { diagonal[i * C + i] = w[i]!; });
  const dxhat = d.linear(dy, diagonal, null, N, C, C);
  const avg = d.linear(dxhat, ones.map(() => 1 / C), null, N, C, 1);
  const avgxhat = new Float64Array(N);
  range(N).forEach((n) => {
    const row = (a: Float64Array) => a.slice(n * C, (n + 1) * C);
    avgxhat[n] = d.dot(row(dxhat), row(xhat).map((v) => v / C))[0]!;
  });

  const rows = { rows: words, rowAxis: 'row', columnAxis: 'channel' };
  const one = { columns: words, columnAxis: 'row' };
  const channel = { columns: channels.map(String), columnAxis: 'channel' };
  const loss: Loss = (s, a) => s.dot(s.layernorm(a.x!, a.w!, a.b!, N, C).y, a.dy!);
  const all = { x, w, b, dy };

  return [
    input({ id: 'x', tex: 'x', title: 'Input', shape: [N, C], letters: '(N, C)', data: x, ...rows }),
    computed({ id: 'mean', tex: '\\mathrm{mean}', title: 'Mean of each row', shape: [N], letters: '(N)', data: mean, ...one },
      'ln.mean', (_, n) => {
        const xs = channels.map((i) => x[n * C + i]!);
        return {
          columns: [`x[${n},i]`, 'divided by C'],
          operators: ['', ''],
          rows: xs.map((v, i) => ({ head: `i = ${i}`, cells: [v, v / C] })),
          total: { head: `mean[${n}]`, cells: [null, mean[n]!] },
          sentence: `mean[${n}] = (${xs.map(operand).join(' + ')}) / ${C} = ${fmt(mean[n]!, 4)}`,
        };
      }),
    computed({ id: 'rstd', tex: '\\mathrm{rstd}', title: 'One over the standard deviation of each row', shape: [N], letters: '(N)', data: rstd, ...one },
      'ln.rstd', (_, n) => {
        const off = channels.map((i) => x[n * C + i]! - mean[n]!);
        const variance = off.reduce((s, v) => s + v * v, 0) / C;
        return {
          columns: [`x[${n},i]`, `− mean[${n}]`, 'squared'],
          rows: [
            ...off.map((v, i) => ({ head: `i = ${i}`, cells: [x[n * C + i]!, v, v * v] })),
            { head: 'sum / C', cells: [null, null, variance] },
            { head: '+ eps', cells: [null, null, eps] },
          ],
          total: { head: `rstd[${n}]`, cells: [null, null, rstd[n]!] },
          sentence: `rstd[${n}] = 1 / √(${fmt(variance, 4)} + ${sci(eps, 0)}) = ${fmt(rstd[n]!, 4)}`,
        };
      }),
    computed({ id: 'xhat', tex: '\\hat{x}', title: 'Normalised rows, before gain and bias', shape: [N, C], letters: '(N, C)', data: xhat, ...rows },
      'ln.y', (n, i) => {
        const v = x[n * C + i]!, m = mean[n]!, r = rstd[n]!;
        return chain(`xhat[${n},${i}]`, [
          { head: `x[${n},${i}]`, operand: v, result: v },
          { head: `− mean[${n}]`, operand: m, result: v - m },
          { head: `× rstd[${n}]`, operand: r, result: null },
        ], xhat[n * C + i]!, `(${fmt(v, 4)} − ${operand(m)}) × ${operand(r)}`);
      }),
    input({ id: 'w', tex: 'w', title: 'Gain', shape: [C], letters: '(C)', data: w, ...channel }),
    input({ id: 'b', tex: 'b', title: 'Bias', shape: [C], letters: '(C)', data: b, ...channel }),
    computed({ id: 'y', tex: 'y', title: 'Output', shape: [N, C], letters: '(N, C)', data: y, ...rows },
      'ln.y', layernormLedger('y', 'x', 'w', 'b', x, w, b, mean, rstd, y, C)),
    input({ id: 'dy', tex: '\\mathrm{d}y', title: 'Gradient that comes back', shape: [N, C], letters: '(N, C)', data: dy, ...rows }),
    computed({ id: 'dxhat', tex: '\\mathrm{d}\\hat{x}', title: 'Gradient on the normalised rows', shape: [N, C], letters: '(N, C)', data: dxhat, ...rows },
      'ln.dxhat', (n, i) => products(`dxhat[${n},${i}]`, `w[${i}]`, `dy[${n},${i}]`,
        [{ head: 'gain times gradient', a: w[i]!, b: dy[n * C + i]! }], dxhat[n * C + i]!)),
    computed({ id: 'avg', tex: '\\mathrm{avg}', title: 'Mean gradient of a row', shape: [N], letters: '(N)', data: avg, ...one },
      'ln.dx', (_, n) => {
        return sum(`avg[${n}]`, `dxhat[${n},i] / C`, channels.map((i) => ({ head: `i = ${i}`, value: dxhat[n * C + i]! / C })), avg[n]!, `avg[${n}]`);
      }),
    computed({ id: 'avgxhat', tex: '\\mathrm{avg}_{\\hat{x}}', title: 'How far the gradient of a row points along the row', shape: [N], letters: '(N)', data: avgxhat, ...one },
      'ln.dx', (_, n) => {
        return products(`avg_xhat[${n}]`, `dxhat[${n},i]`, `xhat[${n},i] / C`,
          channels.map((i) => ({ head: `i = ${i}`, a: dxhat[n * C + i]!, b: xhat[n * C + i]! / C })), avgxhat[n]!);
      }),
    computed({ id: 'dx', tex: '\\mathrm{d}x', title: 'Gradient of the input', shape: [N, C], letters: '(N, C)', data: dx, ...rows },
      'ln.dx', (n, i) => {
        const r = rstd[n]!, h = xhat[n * C + i]!, g = dxhat[n * C + i]!;
        return {
          columns: ['term', `rstd[${n}]`, 'product'],
          operators: ['', '×', '='],
          rows: [
            { head: `dxhat[${n},${i}]`, cells: [g, r, g * r] },
            { head: `− avg[${n}]`, cells: [-avg[n]!, r, -avg[n]! * r] },
            { head: `− xhat[${n},${i}] avg_xhat[${n}]`, cells: [-(h * avgxhat[n]!), r, -(h * avgxhat[n]!) * r] },
          ],
          total: { head: 'sum', cells: [null, null, dx[n * C + i]!] },
          sentence: `dx[${n},${i}] = ${operand(r)} × (${fmt(g, 4)} − ${operand(avg[n]!)} − ${operand(h)} × ${operand(avgxhat[n]!)}) = ${fmt(dx[n * C + i]!, 4)}`,
        };
      }),
    computed({ id: 'dw', tex: '\\mathrm{d}w', title: 'Gradient of the gain', shape: [C], letters: '(C)', data: dw, ...channel },
      'ln.dw', (_, i) => {
        return products(`dw[${i}]`, `dy[n,${i}]`, `xhat[n,${i}]`,
          words.map((head, n) => ({ head, a: dy[n * C + i]!, b: xhat[n * C + i]! })), dw[i]!);
      }),
    computed({ id: 'db', tex: '\\mathrm{d}b', title: 'Gradient of the bias', shape: [C], letters: '(C)', data: db, ...channel },
      'ln.db', (_, i) => {
        return sum(`db[${i}]`, `dy[n,${i}]`, words.map((head, n) => ({ head, value: dy[n * C + i]! })), db[i]!);
      }),
    gapTensor(engine, all, [
      { name: 'x', of: [{ hand: dx, by: 'x' }], loss },
      { name: 'w', of: [{ hand: dw, by: 'w' }], loss },
      { name: 'b', of: [{ hand: db, by: 'b' }], loss },
    ]),
  ];
}

export const example: Example = { id: 'layernorm', inputs, run, core: true };
