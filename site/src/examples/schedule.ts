/* schedule.ts -- the learning rate of each step of a short run: warm-up, cosine, the end.
 * Rates are src/train/schedule.c's. */
import type { Engine } from '../engine/types';
import type { Example, ExampleTensor, Ledger } from './types';
import file from '../../content/inputs/schedule.json';
import { computed, range } from './arithmetic';
import { fmt, sci } from '../components/numbers';

const text = (x: number): string => (x !== 0 && Math.abs(x) < 0.01 ? sci(x, 3) : fmt(x, 4));

/** The part of a schedule that a step is in. */
export type Part = 'warm-up' | 'cosine' | 'end';
export interface Schedule { readonly steps: number; readonly warmup: number; readonly highest: number; readonly lowest: number }
export const partOf = (s: Schedule, step: number): Part => (step < s.warmup ? 'warm-up' : step < s.steps ? 'cosine' : 'end');

export const rateOf = (engine: Engine, s: Schedule, step: number): number => engine.learningRate(step, s.steps, s.warmup, s.highest, s.lowest);

/** (1 + cos(pi x)) / 2 of this step: the same schedule, from one down to zero. */
const factorOf = (engine: Engine, s: Schedule, step: number): number => engine.learningRate(step, s.steps, s.warmup, 1, 0);

export function rateLedger(engine: Engine, s: Schedule, step: number): Ledger {
  const rate = rateOf(engine, s, step), name = `lr(${step})`;
  const one = (head: string, x: number | string): { head: string; cells: (number | string)[] } => ({ head, cells: [typeof x === 'string' ? x : Number.isInteger(x) ? String(x) : text(x)] });
  const total = { head: name, cells: [rate] };
  switch (partOf(s, step)) {
    case 'warm-up': return {
      columns: ['operand'],
      rows: [one('step + 1', step + 1), one('/ warm-up', s.warmup), one('× highest rate', s.highest)],
      total, sentence: `${name} = ${text(s.highest)} × ${step + 1} / ${s.warmup} = ${text(rate)}`,
    };
    case 'cosine': {
      const factor = factorOf(engine, s, step);
      return {
        columns: ['operand'],
        rows: [one('step − warm-up', step - s.warmup), one('/ (steps − warm-up)', s.steps - s.warmup), one('(1 + cos πx) / 2', factor),
          one('× (highest − lowest)', s.highest - s.lowest), one('+ lowest rate', s.lowest)],
        total, sentence: `x = ${step - s.warmup} / ${s.steps - s.warmup}; ${name} = ${text(s.lowest)} + ${text(s.highest - s.lowest)} × ${text(factor)} = ${text(rate)}`,
      };
    }
    case 'end': return {
      columns: ['operand'],
      rows: [one('lowest rate', s.lowest)],
      total, sentence: `step ${step} is not before the end of the schedule, ${s.steps}: ${name} = ${text(rate)}`,
    };
  }
}

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const number = (name: string): number => Number((given[name] ?? [])[0]);
  const s: Schedule = { steps: number('steps'), warmup: number('warmup'), highest: number('highest'), lowest: number('lowest') };
  const steps = range(number('shown')), columns = steps.map(String);
  const lr = Float64Array.from(steps, (k) => rateOf(engine, s, k)), factor = Float64Array.from(steps, (k) => factorOf(engine, s, k));
  const row = { shape: [steps.length], letters: '(steps)', columns, columnAxis: 'step' };
  return [
    computed({ id: 'lr', tex: '\\mathrm{lr}(s)', title: 'Learning rate of each step', data: lr, ...row }, 'lr.cosine', (_, k) => rateLedger(engine, s, k)),
    computed({ id: 'factor', tex: '\\mathrm{lr}(s)', title: 'The same from zero to one: the shape alone', data: factor, scale: 'weight', ...row }, 'lr.share',
      (_, k) => rateLedger(engine, { ...s, highest: 1, lowest: 0 }, k)),
  ];
}

export const example: Example = { id: 'schedule', inputs: file, run };
