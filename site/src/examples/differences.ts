/* differences.ts -- one row of the query weights, each entry's derivative found by steps.
 *
 * The layer, its inputs and its loss are those of the attention example.  Rows are steps, columns the entries of the row.  Losses and
 * derivatives come from the C code; the gaps are their distances from the
 * derivative by hand.
 */
import { full, MINUS, sci } from '../components/numbers';
import type { AttentionInputs, Engine } from '../engine/types';
import file from '../../content/inputs/differences.json';
import { attentionNumbers, moved, toAttentionInputs } from './attention-inputs';
import type { Example, ExampleTensor, Ledger } from './types';

/** The loss <out, dOut>: a linear layer with one row, one output and no bias is this sum. */
export function attentionLoss(engine: Engine, inputs: AttentionInputs): number {
  const out = engine.attention(inputs).get('out');
  if (!out) throw new Error('attention: no tensor "out"');
  const loss = new Float64Array(1);
  engine.call('f64', 'linear_forward', loss, out.data, inputs.dOut, null, 1, out.data.length, 1);
  return loss[0] ?? NaN;
}

const relative = (found: number, hand: number): number => Math.abs(found - hand) / Math.abs(hand);

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const inputs = toAttentionInputs();
  const steps = Float64Array.from((given['steps'] ?? []) as readonly number[]);
  const row = Number((given['row'] ?? [])[0]);
  const n = steps.length, C = inputs.C;
  const names = ['plus', 'minus', 'central', 'gap', 'complex', 'complexgap'] as const;
  const table = Object.fromEntries(names.map((name) => [name, new Float64Array(n * C)])) as Record<(typeof names)[number], Float64Array>;
  const hand = new Float64Array(C);
  for (let c = 0; c < C; c++) {
    const entry = row * C + c;
    const found = engine.attentionDerivative(inputs, 'Wq', entry, steps);
    hand[c] = found.hand;
    for (let k = 0; k < n; k++) {
      const h = steps[k] ?? NaN, at = k * C + c, D = found.central[k] ?? NaN, S = found.complex[k] ?? NaN;
      table.plus[at] = attentionLoss(engine, moved(inputs, 'Wq', entry, h));
      table.minus[at] = attentionLoss(engine, moved(inputs, 'Wq', entry, -h));
      table.central[at] = D;
      table.gap[at] = relative(D, found.hand);
      table.complex[at] = S;
      table.complexgap[at] = relative(S, found.hand);
    }
  }
  const value = (name: (typeof names)[number], k: number, c: number): number => table[name][k * C + c] ?? NaN;
  const step = (k: number): number => steps[k] ?? NaN;
  const entryName = (c: number): string => `Wq[${row},${c}]`;
  const rows = Array.from(steps, (h) => `h = ${sci(h, 0)}`), columns = Array.from(hand, (_, c) => entryName(c));
  const one = (head: string, x: number): Ledger['rows'][number] => ({ head, cells: [full(x)] });

  const loss = (name: 'plus' | 'minus', sign: string) => (k: number, c: number): Ledger => ({
    columns: ['the whole layer, run again'],
    rows: [one(entryName(c), Number((attentionNumbers.Wq as readonly (readonly number[])[])[row]?.[c])), { head: `${sign} h`, cells: [sci(step(k), 0)] }],
    total: one('loss', value(name, k, c)),
    sentence: `f(x ${sign} h) = ${full(value(name, k, c))}`,
  });
  const central = (k: number, c: number): Ledger => {
    const plus = value('plus', k, c), minus = value('minus', k, c), D = value('central', k, c);
    return {
      columns: ['in full'],
      rows: [one('f(x + h)', plus), one(`f(x ${MINUS} h)`, minus), one('difference', plus - minus), one('divided by', 2 * step(k))],
      total: one('D', D),
      sentence: `D = ${full(plus - minus)} / ${full(2 * step(k))} = ${full(D)}`,
    };
  };
  const complex = (k: number, c: number): Ledger => {
    const S = value('complex', k, c), h = step(k);
    return {
      columns: ['in full'],
      rows: [one('Im f(x + ih)', S * h), one('divided by', h)],
      total: one('derivative', S),
      sentence: `Im f(x + ih) / h = ${full(S)}`,
    };
  };
  const distance = (name: 'central' | 'complex', gapName: 'gap' | 'complexgap') => (k: number, c: number): Ledger => ({
    columns: ['in full'],
    rows: [one('by step', value(name, k, c)), one('by hand', hand[c] ?? NaN), one('distance', Math.abs(value(name, k, c) - (hand[c] ?? NaN)))],
    total: { head: 'relative', cells: [sci(value(gapName, k, c))] },
    sentence: `gap = ${sci(value(gapName, k, c))}`,
  });
  const shared = { shape: [n, C], letters: '(steps, d)', scale: 'signed' as const, rows, columns, rowAxis: 'step', columnAxis: 'entry' };
  return [
    {
      id: 'h', tex: 'h', title: 'steps', shape: [n, 1], letters: '(steps)', data: steps, scale: 'signed', rows, columns: ['h'], rowAxis: 'step', columnAxis: '', label: null,
      ledger: (k) => ({ columns: ['given'], rows: [], total: one('h', step(k)), sentence: `h = ${sci(step(k), 0)}` }),
    },
    {
      id: 'hand', tex: '\\mathrm{d}W_q', title: 'derivative by hand', shape: [1, C], letters: '(1, d)', data: hand, scale: 'signed', rows: ['by hand'], columns, rowAxis: '', columnAxis: 'entry', label: 'attn.dwq',
      ledger: (_, c) => ({ columns: ['in full'], rows: [], total: one('by hand', hand[c] ?? NaN), sentence: `dWq[${row},${c}] = ${full(hand[c] ?? NaN)}` }),
    },
    { ...shared, id: 'plus', tex: 'f(x + h)', title: 'loss after a step up', data: table.plus, label: 'attn.loss', ledger: loss('plus', '+') },
    { ...shared, id: 'minus', tex: 'f(x - h)', title: 'loss after a step down', data: table.minus, label: 'attn.loss', ledger: loss('minus', MINUS) },
    { ...shared, id: 'central', tex: 'D_3(h)', title: 'central difference', data: table.central, label: 'diff.central', ledger: central },
    { ...shared, id: 'gap', tex: 'E(h)', title: 'gap of the central difference', data: table.gap, label: 'diff.central', ledger: distance('central', 'gap') },
    { ...shared, id: 'complex', tex: '\\operatorname{Im} f(x + \\mathrm{i} h) / h', title: 'complex step', data: table.complex, label: 'diff.complex', ledger: complex },
    { ...shared, id: 'complexgap', tex: 'E_{\\mathrm{i}}(h)', title: 'gap of the complex step', data: table.complexgap, label: 'diff.complex', ledger: distance('complex', 'complexgap') },
  ];
}

export const example: Example = { id: 'differences', inputs: file.inputs, run, core: true };
