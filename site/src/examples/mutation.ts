/* mutation.ts -- a planted fault and how the check sees it: softmax's backward pass with
 * its sum forgotten, beside the right one, both compared with the complex step. */
import { full, sci } from '../components/numbers';
import type { Engine } from '../engine/types';
import { GAP_MOST } from './gap';
import { along, backward, backwardLedger, given, inner, products, rowInputs, rowOf, rowTensor, softmax, type Row } from './softmax-row';
import type { Example, ExampleTensor } from './types';

/** Derivative of <v, softmax(x)> by each score: the complex step along each in turn, weighted by v. */
function bySteps(engine: Engine, x: Row, v: Row): Row {
  return Float64Array.from(x, (_, i) => inner(engine, v, along(engine, x, Float64Array.from(x, (_unused, k) => (k === i ? 1 : 0)))));
}

function run(engine: Engine, inputs: Example['inputs']): readonly ExampleTensor[] {
  const x = rowOf(inputs, 'x'), v = rowOf(inputs, 'dp');
  const p = softmax(engine, x), right = backward(engine, v, p), wrong = products(engine, p, v), step = bySteps(engine, x, v);
  const mean = inner(engine, p, v);
  const distance = (found: Row): Row => Float64Array.from(found, (value, i) => Math.abs(value - (step[i] ?? NaN)));
  const apart = (id: string, title: string, tex: string, found: Row): ExampleTensor => {
    const data = distance(found);
    return rowTensor({
      id, tex, title, data, label: 'diff.complex', letters: '(N, V)',
      ledger: (c) => ({
        columns: ['in full'], rows: [{ head: 'written', cells: [full(found[c] ?? NaN)] }, { head: 'complex step', cells: [full(step[c] ?? NaN)] }],
        total: { head: 'apart', cells: [sci(data[c] ?? NaN)] }, sentence: `|${full(found[c] ?? NaN)} \u2212 ${full(step[c] ?? NaN)}| = ${sci(data[c] ?? NaN)}`,
      }),
    });
  };
  return [
    rowTensor({ id: 'x', tex: 'x', title: 'scores', data: x, label: null, input: true, letters: '(N, V)', ledger: given('x', x) }),
    rowTensor({ id: 'dp', tex: '\\mathrm{d}p', title: 'gradient that arrives', data: v, label: null, input: true, letters: '(N, V)', ledger: given('dp', v) }),
    rowTensor({
      id: 'p', tex: 'p', title: 'probabilities', data: p, scale: 'weight', label: 'softmax.p', letters: '(N, V)',
      ledger: (c) => ({ columns: ['p'], rows: Array.from(p, (value, i) => ({ head: String(i), cells: [value], chosen: i === c })), total: { head: `p[${c}]`, cells: [p[c] ?? null] }, sentence: `p[${c}] = ${full(p[c] ?? NaN)}` }),
    }),
    rowTensor({ id: 'right', tex: '\\mathrm{d}x', title: 'gradient, right', data: right, label: 'softmax.dx', letters: '(N, V)', ledger: backwardLedger(p, v, right, mean, 'dx') }),
    rowTensor({
      id: 'wrong', tex: '\\mathrm{d}x', title: 'gradient with the planted fault', data: wrong, label: null, letters: '(N, V)',
      ledger: (c) => ({
        columns: ['p', 'dp', ''], operators: ['', '\u00d7', '='], rows: [{ head: String(c), cells: [p[c] ?? null, v[c] ?? null, wrong[c] ?? null], chosen: true }],
        total: { head: `dx[${c}]`, cells: [null, null, wrong[c] ?? null] }, sentence: `dx[${c}] = ${full(p[c] ?? NaN)} \u00d7 ${full(v[c] ?? NaN)} = ${full(wrong[c] ?? NaN)}`,
      }),
    }),
    rowTensor({
      id: 'step', tex: '\\mathrm{d}x', title: 'gradient by complex step', data: step, label: 'diff.complex', letters: '(N, V)',
      ledger: (c) => ({ columns: ['in full'], rows: [], total: { head: `dx[${c}]`, cells: [full(step[c] ?? NaN)] }, sentence: `dx[${c}] = ${full(step[c] ?? NaN)}` }),
    }),
    { ...apart('gapright', 'gap of the right gradient', '\\text{gap}', right), most: new Float64Array(x.length).fill(GAP_MOST * Math.max(...step.map(Math.abs))) },
    apart('gapwrong', 'gap of the planted fault', '\\text{gap}', wrong),
  ];
}

export const example: Example = { id: 'mutation', inputs: { x: rowInputs.x, dp: rowInputs.v }, run, core: true };
