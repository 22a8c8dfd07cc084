/* adamw.ts -- four weights over a few steps of AdamW, with and without decay.
 *
 * Every step is one call of src/kernels/adamw.c.  The corrected moments stay inside
 * that function; two more calls bring them out (`corrected`).
 */
import type { Engine } from '../engine/types';
import type { Example, ExampleTensor, Ledger } from './types';
import file from '../../content/inputs/adamw.json';
import { computed, input, operand, range } from './arithmetic';
import { definitions, flat } from './definitions';
import { fmt, MINUS, sci } from '../components/numbers';

interface Settings { readonly clip: number; readonly lr: number; readonly beta1: number; readonly beta2: number; readonly eps: number }

/** A power of two beyond which a root cannot be seen: dividing by it and multiplying by it are exact. */
const HUGE = 2 ** 600;

/** m / (1 - beta^t) as adamw() has it: with so large an eps a step from 0 is mhat / eps, and lr undoes the division. */
function corrected(engine: Engine, moment: Float64Array, g: Float64Array, beta: number, t: number): Float64Array {
  const n = g.length, w = new Float64Array(n);
  engine.call('f64', 'adamw', w, moment.slice(), new Float64Array(n), g, n, 1, -HUGE, beta, 0.5, HUGE, 0, t);
  return w;
}

interface Step { readonly w: Float64Array; readonly clipped: Float64Array; readonly m: Float64Array; readonly v: Float64Array; readonly mhat: Float64Array; readonly vhat: Float64Array }

function trained(engine: Engine, w0: Float64Array, g: readonly Float64Array[], s: Settings, decay: number): Step[] {
  const w = w0.slice(), n = w.length, m = new Float64Array(n), v = new Float64Array(n);
  return g.map((gradient, k) => {
    const clipped = definitions(engine, 'f64').linear(gradient, Float64Array.of(s.clip), null, n, 1, 1);
    const mhat = corrected(engine, m, clipped, s.beta1, k + 1), vhat = corrected(engine, v, clipped.map((x) => x * x), s.beta2, k + 1);
    engine.call('f64', 'adamw', w, m, v, gradient, n, s.clip, s.lr, s.beta1, s.beta2, s.eps, decay, k + 1);
    return { w: w.slice(), m: m.slice(), v: v.slice(), clipped, mhat, vhat };
  });
}

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const number = (name: string): number => flat(given[name], name)[0]!;
  const w0 = flat(given.w, 'w'), n = w0.length, all = flat(given.g, 'g'), steps = all.length / n;
  const g = range(steps).map((k) => all.slice(k * n, (k + 1) * n));
  const s: Settings = { clip: number('clip'), lr: number('lr'), beta1: number('beta1'), beta2: number('beta2'), eps: number('eps') };
  const decay = number('decay');
  const with_ = trained(engine, w0, g, s, decay), without = trained(engine, w0, g, s, 0);

  const grid = { shape: [steps, n], letters: '(steps, n)', rows: range(steps).map((k) => `t = ${k + 1}`), rowAxis: 'step', columns: range(n).map((i) => `w[${i}]`), columnAxis: 'weight' };
  const flatten = (name: keyof Step, of: readonly Step[]): Float64Array => Float64Array.from(of.flatMap((step) => [...step[name]]));
  const before = (name: 'm' | 'v', k: number, i: number): number => (k === 0 ? 0 : with_[k - 1]![name][i]!);
  const row = (head: string, x: number | string): { head: string; cells: (number | string)[] } => ({ head, cells: [x] });

  const moment = (name: 'm' | 'v', beta: number, betaName: string, power: string) => (k: number, i: number): Ledger => {
    const value = with_[k]![name][i]!, x = with_[k]!.clipped[i]!, old = before(name, k, i);
    const what = name === 'm' ? x : x * x;
    return {
      columns: ['factor', 'operand', 'product'], operators: ['', '×', '='],
      rows: [{ head: `${betaName} × ${name} before`, cells: [beta, old, beta * old] }, { head: `(1 ${MINUS} ${betaName}) × g'${power}`, cells: [1 - beta, what, (1 - beta) * what] }],
      total: { head: 'sum', cells: [null, null, value] },
      sentence: `${name}[${i}] = ${fmt(beta, 4)} × ${operand(old)} + ${fmt(1 - beta, 4)} × ${operand(what)} = ${fmt(value, 4)}`,
    };
  };
  const hat = (name: 'm' | 'v', beta: number, betaName: string) => (k: number, i: number): Ledger => {
    const value = with_[k]![`${name}hat`][i]!, raw = with_[k]![name][i]!;
    return {
      columns: ['operand'],
      rows: [row(`${name}[${i}]`, raw), row(`/ (1 ${MINUS} ${betaName}^${k + 1})`, 1 - beta ** (k + 1))],
      total: { head: `${name}hat[${i}]`, cells: [value] },
      sentence: `${name}hat[${i}] = ${operand(raw)} / ${fmt(1 - beta ** (k + 1), 4)} = ${fmt(value, 4)}`,
    };
  };
  const weight = (of: readonly Step[], decayed: number) => (k: number, i: number): Ledger => {
    const value = of[k]!.w[i]!, old = k === 0 ? w0[i]! : of[k - 1]!.w[i]!, { mhat, vhat } = of[k]!;
    const part = mhat[i]! / (Math.sqrt(vhat[i]!) + s.eps);
    return {
      columns: ['operand', 'in the step'],
      rows: [
        { head: `w[${i}] before`, cells: [old, old] },
        { head: 'mhat', cells: [mhat[i]!, null] },
        { head: '/ (√vhat + ε)', cells: [Math.sqrt(vhat[i]!) + s.eps, null] },
        { head: `${MINUS} lr × that`, cells: [s.lr, -s.lr * part] },
        { head: decayed === 0 ? `${MINUS} lr × no decay` : `${MINUS} lr × decay × w`, cells: [decayed, decayed === 0 ? 0 : -s.lr * decayed * old] },
      ],
      total: { head: `w[${i}]`, cells: [null, value] },
      sentence: `w[${i}] = ${operand(old)} ${MINUS} ${fmt(s.lr, 4)} × (${operand(mhat[i]!)} / ${vhat[i] === 0 ? sci(s.eps, 0) : fmt(Math.sqrt(vhat[i]!) + s.eps, 4)}${decayed === 0 ? '' : ` + ${fmt(decayed, 4)} × ${operand(old)}`}) = ${fmt(value, 4)}`,
    };
  };

  const sizes = { L: 1, C: 4, NH: 2, FF: 16, T: 6, V: 5, tied: true } as const;
  const parameters = engine.parameters(sizes);
  return [
    input({ id: 'w0', from: 'w', tex: 'w', title: 'Weights before the first step', shape: [n], letters: '(n)', data: w0, columns: grid.columns, columnAxis: 'weight' }),
    input({ id: 'g', tex: 'g', title: 'Gradient of each step', data: all, ...grid }),
    computed({ id: 'gc', tex: "g'", title: 'Gradient of each step, clipped', data: flatten('clipped', with_), ...grid }, 'adamw.g',
      (k, i) => ({
        columns: ['operand'],
        rows: [row(`g[${i}]`, g[k]![i]!), row('× clip', s.clip)],
        total: { head: `g'[${i}]`, cells: [with_[k]!.clipped[i]!] },
        sentence: `g'[${i}] = ${fmt(s.clip, 4)} × ${operand(g[k]![i]!)} = ${fmt(with_[k]!.clipped[i]!, 4)}`,
      })),
    computed({ id: 'm', tex: 'm', title: 'First moment', data: flatten('m', with_), ...grid }, 'adamw.m', moment('m', s.beta1, 'β₁', '')),
    computed({ id: 'v', tex: 'v', title: 'Second moment', data: flatten('v', with_), ...grid }, 'adamw.v', moment('v', s.beta2, 'β₂', '²')),
    computed({ id: 'mhat', tex: '\\hat m', title: 'First moment, corrected', data: flatten('mhat', with_), ...grid }, 'adamw.mhat', hat('m', s.beta1, 'β₁')),
    computed({ id: 'vhat', tex: '\\hat v', title: 'Second moment, corrected', data: flatten('vhat', with_), ...grid }, 'adamw.vhat', hat('v', s.beta2, 'β₂')),
    computed({ id: 'w', tex: 'w', title: 'Weights after each step, with decay', data: flatten('w', with_), ...grid }, 'adamw.w', weight(with_, decay)),
    computed({ id: 'wplain', tex: 'w_{\\text{no decay}}', title: 'Weights after each step, without decay', data: flatten('w', without), ...grid }, 'adamw.w', weight(without, 0)),
    computed({ id: 'groups', tex: '\\mathrm{decay}', title: 'Decay of each tensor of a model of one block', shape: [parameters.length], letters: '(tensors)',
      data: Float64Array.from(parameters, (p) => (p.decay ? decay : 0)), columns: parameters.map((p) => p.name), columnAxis: 'tensor' }, 'opt.decay',
      (_, k) => {
        const p = parameters[k]!, value = p.decay ? decay : 0;
        return {
          columns: ['says'],
          rows: [row('shape', `(${p.shape.join(', ')})`), row('numbers', String(p.count)), row('starts as', p.start)],
          total: { head: 'decay', cells: [value] },
          sentence: `${p.name} is ${p.shape.length === 1 ? 'a vector: it is not decayed' : `a matrix: its decay is ${fmt(value, 4)}`}`,
        };
      }),
  ];
}

export const example: Example = { id: 'adamw', inputs: file, run };
