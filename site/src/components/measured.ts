/* measured.ts -- build/site-work/measured.json: figures that the project's own tools printed,
 * with the commit that they belong to.  tools/measure-for-site writes it.
 */

/** One planted fault, as `vitrine check --self-test --json` says it. */
export interface SelfTestRow {
  readonly name: string;
  readonly op: string;
  readonly precision: string;
  readonly what: string;
  readonly found: boolean;
  /** The check also named the kind of fault. */
  readonly right: boolean;
}
export interface SelfTest {
  readonly pass: boolean;
  readonly seed: number;
  readonly faults: number;
  readonly found: number;
  readonly kind_right: number;
  readonly correct: number;
  readonly false_alarms: number;
  readonly worst_budget_used: number;
  readonly rows: readonly SelfTestRow[];
}
export interface Measured {
  readonly commit: string;
  /** The tree had changes that are not in the commit. */
  readonly modified: boolean;
  readonly selfTest: SelfTest;
}

function isCount(x: unknown): x is number {
  return typeof x === 'number' && Number.isInteger(x) && x >= 0;
}

/** Checks what the page relies on: counts that fit the rows. */
export function readMeasured(text: string): Measured {
  const fail = (what: string): never => {
    throw new Error(`measured.json: ${what}; remove it and build again`);
  };
  const m = JSON.parse(text) as Partial<Measured>;
  const t = m.selfTest;
  if (typeof m.commit !== 'string' || typeof m.modified !== 'boolean' || !t) return fail('expected commit, modified and selfTest');
  if (!Array.isArray(t.rows) || !isCount(t.faults) || t.rows.length !== t.faults) return fail('selfTest.rows: expected one for each fault');
  if (t.rows.filter((r) => r.found).length !== t.found) return fail('selfTest.found is not the number of rows that were found');
  if (!isCount(t.kind_right) || !isCount(t.correct) || !isCount(t.false_alarms)) return fail('selfTest: expected counts');
  return m as Measured;
}
