/* elementary.ts -- exp, log and tanh of a few numbers, and how each is reduced to a small
 * argument.
 *
 * Each result is the C code's.  In a ledger, k and the remainder are found as the
 * equation says, from the C code's ln 2; the C code keeps remainders in two parts,
 * one double of it is shown.
 */
import { full, sci } from '../components/numbers';
import type { Engine } from '../engine/types';
import file from '../../content/inputs/elementary.json';
import { given, rowOf, rowTensor, type Row } from './softmax-row';
import type { Example, ExampleTensor, Ledger } from './types';

/** Where the C code's tanh goes over from the fraction to the exponential. */
const FRACTION_UP_TO = 0.55;

const at = (row: Row, c: number): number => row[c] ?? NaN;
const line = (head: string, x: number): Ledger['rows'][number] => ({ head, cells: [full(x)] });

/** a / (1 + a^2 / (3 + a^2 / (5 + ...))), `depth` quotients deep. */
export function convergent(a: number, depth: number): number {
  let below = 2 * depth - 1;
  for (let k = depth - 1; k >= 1; k--) below = 2 * k - 1 + (a * a) / below;
  return a / below;
}

function expLedger(engine: Engine, x: Row, e: Row): (c: number) => Ledger {
  const ln2 = engine.elementary('log', 2);
  return (c) => {
    const k = Math.round(at(x, c) / ln2), r = at(x, c) - k * ln2, small = engine.elementary('exp', r);
    return {
      columns: ['in full'],
      rows: [line('x', at(x, c)), line('k = round(x / ln 2)', k), line('r = x \u2212 k ln 2', r), line('e^r', small), line('2^k', 2 ** k)],
      total: line('e^x', at(e, c)),
      sentence: `e^x = 2^k \u00d7 e^r = ${full(2 ** k)} \u00d7 ${full(small)} = ${full(at(e, c))}`,
    };
  };
}

function logLedger(engine: Engine, y: Row, l: Row): (c: number) => Ledger {
  const ln2 = engine.elementary('log', 2);
  return (c) => {
    const k = Math.round(at(l, c) / ln2), f = at(y, c) / 2 ** k - 1, small = engine.elementary('log', 1 + f);
    return {
      columns: ['in full'],
      rows: [line('y', at(y, c)), line('k', k), line('f = y / 2^k \u2212 1', f), line('log(1 + f)', small), line('k ln 2', k * ln2)],
      total: line('log y', at(l, c)),
      sentence: `log y = k ln 2 + log(1 + f) = ${full(k * ln2)} + ${full(small)} = ${full(at(l, c))}`,
    };
  };
}

function tanhLedger(engine: Engine, x: Row, t: Row): (c: number) => Ledger {
  return (c) => {
    const a = at(x, c), total = line('tanh x', at(t, c));
    if (Math.abs(a) <= FRACTION_UP_TO) {
      const depths = [1, 2, 3, 4];
      return {
        columns: ['in full'],
        rows: [line('x', a), ...depths.map((n) => line(n === 1 ? 'one quotient' : `${n} quotients`, convergent(a, n)))],
        total, sentence: `tanh x = x / (1 + x\u00b2 / (3 + x\u00b2 / (5 + \u2026))) = ${full(at(t, c))}`,
      };
    }
    const e = engine.elementary('exp', 2 * a), q = 2 / (e + 1);
    return {
      columns: ['in full'], rows: [line('x', a), line('e^(2x)', e), line('2 / (e^(2x) + 1)', q)],
      total, sentence: `tanh x = 1 \u2212 2 / (e^(2x) + 1) = 1 \u2212 ${full(q)} = ${full(at(t, c))}`,
    };
  };
}

function run(engine: Engine, inputs: Example['inputs']): readonly ExampleTensor[] {
  const x = rowOf(inputs, 'x');
  const of = (name: 'exp' | 'log' | 'tanh', row: Row): Row => Float64Array.from(row, (v) => engine.elementary(name, v));
  const y = of('exp', x), l = of('log', y), t = of('tanh', x), back = Float64Array.from(x, (v, c) => Math.abs(at(l, c) - v));
  const letters = '(1, n)';
  return [
    rowTensor({ id: 'x', tex: 'x', title: 'numbers', data: x, label: null, input: true, letters, ledger: given('x', x) }),
    rowTensor({ id: 'exp', tex: 'y = e^{x}', title: 'exponential', data: y, label: 'elem.exp', letters, ledger: expLedger(engine, x, y) }),
    rowTensor({ id: 'log', tex: '\\log y', title: 'logarithm of it', data: l, label: 'elem.log', letters, ledger: logLedger(engine, y, l) }),
    rowTensor({
      id: 'back', tex: '|\\log y - x|', title: 'how far from where it began', data: back, label: 'elem.log', letters,
      ledger: (c) => ({
        columns: ['in full'], rows: [line('log y', at(l, c)), line('x', at(x, c))],
        total: { head: 'apart', cells: [sci(at(back, c))] }, sentence: `|${full(at(l, c))} \u2212 ${full(at(x, c))}| = ${sci(at(back, c))}`,
      }),
    }),
    rowTensor({ id: 'tanh', tex: '\\tanh x', title: 'hyperbolic tangent', data: t, label: 'elem.tanh', letters, ledger: tanhLedger(engine, x, t) }),
  ];
}

export const example: Example = { id: 'elementary', inputs: file.inputs, run, core: true };
