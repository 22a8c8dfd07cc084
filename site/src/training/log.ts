/* log.ts -- metrics.jsonl, the log of a training run: a line of JSON per step. */
import { FormatError } from '../provenance/safetensors';

export interface Step {
  readonly step: number;
  /** Nats per token. */
  readonly loss: number;
  readonly validation: number | null;
  readonly rate: number;
  readonly norm: number;
  /** Tokens per second. */
  readonly speed: number | null;
  /** How many steps the run is to have; null in older logs. */
  readonly steps: number | null;
}

const finite = (x: unknown): x is number => typeof x === 'number' && Number.isFinite(x);

/** One line; throws where it is none. */
export function readStep(line: string, where: string): Step {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new FormatError(`${where} is not JSON`);
  }
  const v = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const number = (field: string): number => {
    const x = v[field];
    if (!finite(x)) throw new FormatError(`${where}: ${field} is ${String(JSON.stringify(x)).slice(0, 40)}; expected a number`);
    return x;
  };
  const optional = (field: string): number | null => (v[field] === null || v[field] === undefined ? null : number(field));
  const step = number('step');
  if (!Number.isInteger(step) || step < 1) throw new FormatError(`${where}: step is ${step}; expected a whole number from 1 on`);
  return { step, loss: number('loss'), validation: optional('val_loss'), rate: number('lr'), norm: number('grad_norm'), speed: optional('tokens_per_s'), steps: optional('steps') };
}

/** A whole log; steps ascend. */
export function readLog(text: string): readonly Step[] {
  const steps = text.split('\n').filter((line) => line !== '').map((line, k) => readStep(line, `metrics.jsonl, line ${k + 1}`));
  const late = steps.findIndex((s, k) => k > 0 && s.step <= (steps[k - 1] as Step).step);
  if (late > 0) throw new FormatError(`metrics.jsonl, line ${late + 1}: step ${(steps[late] as Step).step} comes again`);
  return steps;
}

export interface Summary {
  readonly first: Step;
  readonly last: Step;
  readonly lowest: Step;
  /** Of the steps that measured it. */
  readonly validation: Step | null;
  readonly highestRate: number;
  readonly largestNorm: Step;
}

export function summarise(steps: readonly Step[]): Summary | null {
  const [first] = steps, last = steps[steps.length - 1];
  if (!first || !last) return null;
  const best = (of: readonly Step[], value: (s: Step) => number): Step => of.reduce((a, b) => (value(b) < value(a) ? b : a));
  const measured = steps.filter((s) => s.validation !== null);
  return {
    first, last, lowest: best(steps, (s) => s.loss),
    validation: measured.length > 0 ? best(measured, (s) => s.validation as number) : null,
    highestRate: steps.reduce((m, s) => Math.max(m, s.rate), 0),
    largestNorm: best(steps, (s) => -s.norm),
  };
}

/** At most about `most` rows for reading: evenly spaced ones, the last, and each with a validation loss. */
export function rowsToRead(steps: readonly Step[], most = 40): { readonly rows: readonly Step[]; readonly every: number } {
  const every = Math.max(1, Math.ceil(steps.length / most));
  return { every, rows: steps.filter((s, k) => k % every === 0 || k === steps.length - 1 || s.validation !== null) };
}
