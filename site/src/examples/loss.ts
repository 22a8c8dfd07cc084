/* loss.ts -- from the last rows to logits, probabilities, loss and back.
 *
 * Same sentence and same table of tokens as the embedding example: its transpose
 * is the head.  The last position has no next word, so its target is ignored.
 */
import type { Engine } from '../engine/types';
import type { Example, ExampleTensor } from './types';
import table from '../../content/inputs/embedding.json';
import inputs from '../../content/inputs/loss.json';
import { computed, input, operand, products, range, sum, wholeInput } from './arithmetic';
import { definitions, flat, linearBackward } from './definitions';
import { gapTensor, type Loss } from './gap';
import { VOCABULARY } from './embedding';
import { fmt } from '../components/numbers';

/** VT_IGNORE: a position with this target has no loss and no gradient. */
const IGNORE = -1;

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const target = Int32Array.from(given.targets as readonly number[]);
  const Y = flat(given.Y, 'Y'), dp = flat(given.dp, 'dp'), wte = flat(given.wte, 'wte');
  const N = target.length, C = Y.length / N, V = wte.length / C, vocabulary = range(V);
  const d = definitions(engine, 'f64');

  const head = new Float64Array(C * V);                           /* wte, lying on its side */
  vocabulary.forEach((v) => range(C).forEach((i) => { head[i * V + v] = wte[v * C + i]!; }));
  const l = d.linear(Y, head, null, N, C, V);
  const p = d.softmax(l, N, V);
  const { loss, lse } = d.crossentropy(l, target, N, V);
  const counted = target.filter((k) => k !== IGNORE).length;
  const share = Float64Array.from(target, (k) => (k === IGNORE ? 0 : 1 / counted));
  const mean = d.dot(loss, share);
  const dl = new Float64Array(N * V);
  engine.call('f64', 'crossentropy_backward', dl, share, lse, l, target, 1, N, V);
  const back = linearBackward(engine, dl, Y, head, N, C, V);
  const dwte = new Float64Array(V * C);                           /* the head's gradient, stood up again */
  vocabulary.forEach((v) => range(C).forEach((i) => { dwte[v * C + i] = back.dw[i * V + v]!; }));
  const rowsum = d.linear(dl, new Float64Array(V).fill(1), null, N, V, 1);
  const dx = new Float64Array(N * V);
  engine.call('f64', 'softmax_backward', dx, dp, p, N, V);

  /* a model that knows nothing: every logit the same */
  const equal = d.crossentropy(new Float64Array(N * V), target, N, V).loss;
  const lnV = Float64Array.of(engine.elementary('log', V));

  const words = Array.from(given.tokens as readonly number[], (k) => VOCABULARY[k] ?? `token ${k}`);
  const tokens = vocabulary.map((v) => VOCABULARY[v] ?? String(v));
  const grid = { shape: [N, V], letters: '(N, V)', rows: words, rowAxis: 'position', columns: tokens, columnAxis: 'next token' };
  const one = { shape: [N], letters: '(N)', columns: words, columnAxis: 'position' };
  const next = (n: number) => tokens[target[n]!];
  const total = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0);
  /* a row of logits, less its largest, and the exponentials of that */
  const exponentials = (n: number, chosen: number | null) => {
    const x = vocabulary.map((v) => l[n * V + v]!), max = Math.max(...x);
    const e = x.map((v) => engine.elementary('exp', v - max));
    return { max, e, sum: total(e), rows: [
      ...vocabulary.map((v) => ({ head: tokens[v]!, cells: [x[v]!, x[v]! - max, e[v]!], ...(v === chosen ? { chosen: true } : {}) })),
      { head: 'sum', cells: [null, null, total(e)] },
    ] };
  };
  const lossLedger = (name: string, n: number, x: (v: number) => number, lseValue: number, value: number) => {
    const y = target[n]!;
    if (y === IGNORE)
      return { columns: ['value'], rows: [{ head: 'target ignored', cells: [value] }],
        sentence: `${name}[${n}] = ${fmt(value, 4)}: this position does not count` };
    return {
      columns: ['value'],
      rows: [
        { head: `lse[${n}]`, cells: [lseValue] },
        { head: `− z[${n},${y}], "${next(n)}"`, cells: [-x(y)] },
      ],
      total: { head: `${name}[${n}]`, cells: [value] },
      sentence: `${name}[${n}] = ${fmt(lseValue, 4)} − ${operand(x(y))} = ${fmt(value, 4)}`,
    };
  };

  const meanLoss: Loss = (s, a) => s.dot(s.crossentropy(a.l!, target, N, V).loss, a.share!);
  const whole: Loss = (s, a) => s.dot(s.crossentropy(s.linear(a.Y!, a.head!, null, N, C, V), target, N, V).loss, a.share!);
  const soft: Loss = (s, a) => s.dot(s.softmax(a.l!, N, V), a.dp!);

  return [
    input({ id: 'Y', tex: 'Y', title: 'Rows after the last layer norm', shape: [N, C], letters: '(N, C)', data: Y, rows: words, rowAxis: 'position', columnAxis: 'channel' }),
    input({ id: 'wte', tex: '\\mathrm{wte}', title: 'Table of tokens, as on the Embedding page', shape: [V, C], letters: '(V, C)', data: wte, rows: tokens, rowAxis: 'token', columnAxis: 'channel' }),
    wholeInput({ id: 'targets', tex: 'y', title: 'The token that came next, at each position', data: Float64Array.from(target), ...one,
      whole: { least: IGNORE, most: V - 1, what: 'id of a token' } }),
    computed({ id: 'l', tex: 'l', title: 'Logits', data: l, ...grid }, 'head.logits',
      (n, v) => products(`l[${n},${v}]`, `Y[${n},i]`, `wte[${v},i]`,
        range(C).map((i) => ({ head: `i = ${i}`, a: Y[n * C + i]!, b: wte[v * C + i]! })), l[n * V + v]!)),
    computed({ id: 'p', tex: 'p', title: 'Probabilities of the next token', data: p, scale: 'weight', ...grid }, 'softmax.p',
      (n, v) => {
        const { e, sum: all, rows } = exponentials(n, v);
        return {
          columns: [`x[${n},v]`, '− max', 'exp'],
          rows,
          total: { head: `p[${n},${v}]`, cells: [null, null, p[n * V + v]!] },
          sentence: `p[${n},${v}] = ${fmt(e[v]!, 4)} / ${fmt(all, 4)} = ${fmt(p[n * V + v]!, 4)}`,
        };
      }),
    input({ id: 'dp', tex: '\\mathrm{d}p', title: 'A gradient on the probabilities', data: dp, ...grid }),
    computed({ id: 'dx', tex: '\\mathrm{d}x', title: 'Gradient that softmax passes back', data: dx, ...grid }, 'softmax.dx',
      (n, v) => {
        const pw = (w: number) => p[n * V + w]!, dw = (w: number) => dp[n * V + w]!;
        const row = total(vocabulary.map((w) => pw(w) * dw(w)));
        return {
          columns: [`p[${n},w]`, `dp[${n},w]`, 'product'],
          operators: ['', '×', '='],
          rows: [
            ...vocabulary.map((w) => ({ head: tokens[w]!, cells: [pw(w), dw(w), pw(w) * dw(w)], ...(w === v ? { chosen: true } : {}) })),
            { head: 'sum', cells: [null, null, row] },
          ],
          total: { head: `dx[${n},${v}]`, cells: [null, null, dx[n * V + v]!] },
          sentence: `dx[${n},${v}] = ${fmt(pw(v), 4)} × (${fmt(dw(v), 4)} − ${operand(row)}) = ${fmt(dx[n * V + v]!, 4)}`,
        };
      }),
    computed({ id: 'lse', tex: '\\mathrm{lse}', title: 'Log of the sum of exponentials', data: lse, ...one }, 'ce.lse',
      (_, n) => {
        const { max, sum: all, rows } = exponentials(n, null);
        return {
          columns: [`z[${n},v]`, '− max', 'exp'],
          rows,
          total: { head: `lse[${n}]`, cells: [null, null, lse[n]!] },
          sentence: `lse[${n}] = ${fmt(max, 4)} + log ${fmt(all, 4)} = ${fmt(lse[n]!, 4)}`,
        };
      }),
    computed({ id: 'loss', tex: '\\mathrm{loss}', title: 'Loss of each position', data: loss, ...one }, 'ce.loss',
      (_, n) => lossLedger('loss', n, (v) => l[n * V + v]!, lse[n]!, loss[n]!)),
    computed({ id: 'share', tex: '\\mathrm{dloss}', title: 'Share of each position in the mean', data: share, ...one }, null,
      (_, n) => {
        const v = share[n]!;
        return { columns: ['value'], rows: [{ head: target[n] === IGNORE ? 'ignored' : `one of the ${counted} that count`, cells: [v], chosen: true }],
          sentence: target[n] === IGNORE ? `dloss[${n}] = 0: this position does not count` : `dloss[${n}] = 1 / ${counted} = ${fmt(v, 4)}` };
      }),
    computed({ id: 'mean', tex: '\\overline{\\mathrm{loss}}', title: 'Mean loss', shape: [1], letters: '()', data: mean, columns: ['mean'] }, null,
      () => products('mean loss', 'loss[n]', 'share', words.map((w, n) => ({ head: w, a: loss[n]!, b: share[n]! })), mean[0]!)),
    computed({ id: 'equal', tex: '\\mathrm{loss}^{=}', title: 'Loss of each position when all logits are equal', data: equal, ...one }, 'ce.loss',
      (_, n) => lossLedger('loss', n, () => 0, lnV[0]!, equal[n]!)),
    computed({ id: 'lnV', tex: '\\ln V', title: 'Natural logarithm of the vocabulary size', shape: [1], letters: '()', data: lnV, columns: ['ln V'] }, null,
      () => ({ columns: ['value'], rows: [{ head: 'V', cells: [V] }], total: { head: 'ln V', cells: [lnV[0]!] }, sentence: `ln ${V} = ${fmt(lnV[0]!, 4)}` })),
    computed({ id: 'dl', tex: '\\mathrm{d}l', title: 'Gradient of the mean loss by the logits', data: dl, ...grid }, 'ce.dl',
      (n, v) => {
        const y = target[n]!, value = dl[n * V + v]!, q = p[n * V + v]!;
        if (y === IGNORE)
          return { columns: ['value'], rows: [{ head: 'target ignored', cells: [value] }], sentence: `dl[${n},${v}] = 0: this position does not count` };
        return {
          columns: ['value'],
          rows: [
            { head: `p[${n},${v}], "${tokens[v]}"`, cells: [q] },
            { head: v === y ? `− 1: "${tokens[v]}" came next` : `− 0: "${next(n)}" came next`, cells: [v === y ? -1 : 0] },
            { head: `× dloss[${n}]`, cells: [share[n]!] },
          ],
          total: { head: `dl[${n},${v}]`, cells: [value] },
          sentence: `dl[${n},${v}] = ${operand(share[n]!)} × (${fmt(q, 4)} − ${v === y ? 1 : 0}) = ${fmt(value, 4)}`,
        };
      }),
    computed({ id: 'rowsum', tex: '\\textstyle\\sum_v \\mathrm{d}l', title: 'Sum of each row of that gradient', data: rowsum, ...one }, null,
      (_, n) => {
        return sum(`sum[${n}]`, `dl[${n},v]`, vocabulary.map((v) => ({ head: tokens[v]!, value: dl[n * V + v]! })),
          rowsum[n]!);
      }),
    computed({ id: 'dY', tex: '\\mathrm{d}Y', title: 'Gradient on the last rows', shape: [N, C], letters: '(N, C)', data: back.dx, rows: words, rowAxis: 'position', columnAxis: 'channel' }, 'head.dy',
      (n, i) => products(`dY[${n},${i}]`, `dl[${n},v]`, `wte[v,${i}]`,
        vocabulary.map((v) => ({ head: tokens[v]!, a: dl[n * V + v]!, b: wte[v * C + i]! })), back.dx[n * C + i]!)),
    computed({ id: 'dwte', tex: '\\mathrm{dwte}', title: 'Gradient of the table, its part from the head', shape: [V, C], letters: '(V, C)', data: dwte, rows: tokens, rowAxis: 'token', columnAxis: 'channel' }, 'head.dwte',
      (v, i) => products(`dwte[${v},${i}]`, `Y[n,${i}]`, `dl[n,${v}]`,
        words.map((w, n) => ({ head: w, a: Y[n * C + i]!, b: dl[n * V + v]! })), dwte[v * C + i]!)),
    gapTensor(engine, { l, share, dp, Y, head }, [
      { name: 'l', of: [{ hand: dl, by: 'l' }], loss: meanLoss },
      { name: 'Y', of: [{ hand: back.dx, by: 'Y' }], loss: whole },
      { name: 'Whead', of: [{ hand: back.dw, by: 'head' }], loss: whole },
      { name: 'x', of: [{ hand: dx, by: 'l' }], loss: soft },
    ]),
  ];
}

/** The table and the sentence are those of the embedding example. */
export const example: Example = { id: 'loss', inputs: { ...inputs, tokens: table.tokens, wte: table.wte }, run, core: true };
