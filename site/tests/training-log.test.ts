/* training-log.test.ts -- the log of a run: read, summarised, thinned for reading. */
import { describe, expect, it } from 'vitest';
import { readLog, readStep, rowsToRead, summarise } from '../src/training/log';

const line = (step: number, loss: number, more: Record<string, unknown> = {}): string =>
  JSON.stringify({ step, loss, val_loss: null, lr: 0.001 * step, grad_norm: 10 - step, tokens_per_s: 100, ...more });

describe('metrics.jsonl', () => {
  const log = readLog([line(1, 5), line(2, 3, { val_loss: 3.5 }), line(3, 4, { val_loss: 3.25, steps: 9 })].join('\n') + '\n');

  it('is read line by line', () => {
    expect(log.map((s) => [s.step, s.loss, s.validation, s.steps])).toEqual([[1, 5, null, null], [2, 3, 3.5, null], [3, 4, 3.25, 9]]);
  });
  it('is refused where a line is none, with its number', () => {
    expect(() => readLog(`${line(1, 5)}\n{`)).toThrow('metrics.jsonl, line 2 is not JSON');
    expect(() => readLog(`${line(1, 5)}\n${line(1, 5)}`)).toThrow('line 2: step 1 comes again');
    expect(() => readStep('{"step":1,"loss":"<img>"}', 'line 7')).toThrow('line 7: loss is "<img>"; expected a number');
    expect(() => readStep('[]', 'line 7')).toThrow('line 7: step is undefined');
  });
  it('is summarised by its own numbers', () => {
    expect(summarise(log)).toMatchObject({ first: { loss: 5 }, last: { loss: 4 }, lowest: { step: 2 }, validation: { step: 3 }, highestRate: 0.003, largestNorm: { step: 1 } });
    expect(summarise([])).toBeNull();
  });
  it('is thinned for reading, without losing the last step or a validation loss', () => {
    const long = readLog(Array.from({ length: 100 }, (_, k) => line(k + 1, 1, k === 36 ? { val_loss: 2 } : {})).join('\n'));
    expect(rowsToRead(long, 10)).toMatchObject({ every: 10 });
    expect(rowsToRead(long, 10).rows.map((s) => s.step)).toEqual([1, 11, 21, 31, 37, 41, 51, 61, 71, 81, 91, 100]);
  });
});
