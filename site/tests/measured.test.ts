/* measured.test.ts -- figures of the project's tools: what is wrong is refused, sums add up. */
import { describe, expect, it } from 'vitest';
import { readMeasured, type Measured, type SelfTestRow } from '../src/components/measured';
import { summarise } from '../src/pages/verification-self-test';

const row = (op: string, precision: string, what: string, found = true, right = true): SelfTestRow => ({ name: what, op, precision, what, found, right });
const rows = [row('linear', 'float64', 'a'), row('linear', 'float32', 'a', false, false), row('gelu', 'float64', 'b', true, false)];
const good: Measured = {
  commit: 'abc', modified: false,
  selfTest: { pass: true, seed: 42, faults: 3, found: 2, kind_right: 1, correct: 10, false_alarms: 0, worst_budget_used: 0.5, rows },
};
const changed = (part: Partial<Measured['selfTest']>): string => JSON.stringify({ ...good, selfTest: { ...good.selfTest, ...part } });

describe('measured.json', () => {
  it('is read', () => expect(readMeasured(JSON.stringify(good)).selfTest.found).toBe(2));
  it('is refused where counts do not fit the rows', () => {
    expect(() => readMeasured(changed({ found: 3 }))).toThrow(/selfTest.found/);
    expect(() => readMeasured(changed({ faults: 4 }))).toThrow(/selfTest.rows/);
    expect(() => readMeasured(changed({ correct: -1 }))).toThrow(/counts/);
  });
  it('is refused without a commit', () => expect(() => readMeasured(JSON.stringify({ ...good, commit: undefined }))).toThrow(/commit/));
});

describe('the summary', () => {
  const s = summarise(good.selfTest);
  it('has a line for each operator, and sums that add up', () => {
    expect(s.groups).toEqual([{ op: 'linear', planted: 2, found: 1, right: 1 }, { op: 'gelu', planted: 1, found: 1, right: 0 }]);
    for (const of of ['planted', 'found', 'right'] as const) expect(s.groups.reduce((n, g) => n + g[of], 0)).toBe(s.all[of]);
  });
  it('joins precisions, and a fault missed in one is missed', () => {
    expect(s.faults).toEqual([{ what: 'a', op: 'linear', precisions: 'float64, float32', found: false }, { what: 'b', op: 'gelu', precisions: 'float64', found: true }]);
  });
});
