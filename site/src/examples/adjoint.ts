/* adjoint.ts -- the adjoint identity for softmax of one row: forwards by complex step,
 * back by the backward pass written by hand, and the two sums that must agree. */
import { full, sci } from '../components/numbers';
import type { Engine } from '../engine/types';
import { GAP_MOST } from './gap';
import { along, backward, backwardLedger, given, inner, rowInputs, rowOf, rowTensor, softmax, STEP, sumOfProducts } from './softmax-row';
import type { Example, ExampleTensor } from './types';

function run(engine: Engine, inputs: Example['inputs']): readonly ExampleTensor[] {
  const x = rowOf(inputs, 'x'), u = rowOf(inputs, 'u'), v = rowOf(inputs, 'v');
  const p = softmax(engine, x), Ju = along(engine, x, u), JTv = backward(engine, v, p);
  const forwards = inner(engine, v, Ju), back = inner(engine, JTv, u), mean = inner(engine, p, v);
  const number = { shape: [1, 1], letters: '(1, 1)', scale: 'signed' as const, rows: [''], columns: [''], rowAxis: '', columnAxis: '', label: 'diff.adjoint' };
  return [
    rowTensor({ id: 'x', tex: 'x', title: 'scores', data: x, label: null, input: true, ledger: given('x', x) }),
    rowTensor({ id: 'u', tex: 'u', title: 'direction', data: u, label: null, input: true, ledger: given('u', u) }),
    rowTensor({ id: 'v', tex: 'v', title: 'weighting', data: v, label: null, input: true, ledger: given('v', v) }),
    rowTensor({
      id: 'p', tex: 'p', title: 'probabilities', data: p, scale: 'weight', label: 'softmax.p',
      ledger: (c) => ({ columns: ['p'], rows: Array.from(p, (value, i) => ({ head: String(i), cells: [value], chosen: i === c })), total: { head: `p[${c}]`, cells: [p[c] ?? null] }, sentence: `p[${c}] = ${full(p[c] ?? NaN)}` }),
    }),
    rowTensor({
      id: 'Ju', tex: 'J u', title: 'forwards along u', data: Ju, label: 'diff.complex',
      ledger: (c) => ({
        columns: ['in full'],
        rows: [{ head: 'Im F', cells: [full((Ju[c] ?? NaN) * STEP)] }, { head: 'divided by', cells: [sci(STEP, 0)] }],
        total: { head: `Ju[${c}]`, cells: [full(Ju[c] ?? NaN)] }, sentence: `Ju[${c}] = Im F / h = ${full(Ju[c] ?? NaN)}`,
      }),
    }),
    rowTensor({ id: 'JTv', tex: 'J^{\\top} v', title: 'back from v', data: JTv, label: 'softmax.dx', ledger: backwardLedger(p, v, JTv, mean, 'back') }),
    {
      ...number, id: 'forwards', tex: '\\langle v, J u \\rangle', title: 'forwards, then weighted', data: Float64Array.of(forwards),
      ledger: () => sumOfProducts({ name: 'v', data: v }, { name: 'Ju', data: Ju }, forwards, '<v, Ju>'),
    },
    {
      ...number, id: 'back', tex: '\\langle J^{\\top} v, u \\rangle', title: 'weighted, then back', data: Float64Array.of(back),
      ledger: () => sumOfProducts({ name: 'back', data: JTv }, { name: 'u', data: u }, back, '<back, u>'),
    },
    {
      ...number, id: 'apart', tex: '\\text{gap}', title: 'how far apart', data: Float64Array.of(Math.abs(forwards - back)),
      most: Float64Array.of(GAP_MOST * Math.max(...Ju.map((value, i) => Math.abs(value * (v[i] ?? NaN))))),
      ledger: () => ({
        columns: ['in full'], rows: [{ head: 'forwards', cells: [full(forwards)] }, { head: 'back', cells: [full(back)] }],
        total: { head: 'apart', cells: [sci(Math.abs(forwards - back))] }, sentence: `|${full(forwards)} \u2212 ${full(back)}| = ${sci(Math.abs(forwards - back))}`,
      }),
    },
  ];
}

export const example: Example = { id: 'adjoint', inputs: rowInputs, run, core: true };
