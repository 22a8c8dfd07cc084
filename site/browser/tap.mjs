/* tap.mjs -- tests that speak TAP: a line each, notes under those that fail, the plan last. */

export class Tap {
  count = 0;
  failed = 0;

  /** @param {boolean} pass @param {string} name @param {readonly string[]} [notes] what is said where it fails */
  ok(pass, name, notes = []) {
    this.count += 1;
    if (!pass) this.failed += 1;
    console.log(`${pass ? 'ok' : 'not ok'} ${this.count} - ${name.replace(/#/g, '\\#')}`);
    if (pass) return;
    for (const note of notes.slice(0, 20)) console.log(`#   ${note.replace(/\s*\n\s*/g, ' | ').slice(0, 600)}`);
    if (notes.length > 20) console.log(`#   and ${notes.length - 20} more`);
  }

  /** @param {unknown} got @param {unknown} expected @param {string} name */
  is(got, expected, name) {
    const [a, b] = [JSON.stringify(got), JSON.stringify(expected)];
    this.ok(a === b, name, [`got:      ${a}`, `expected: ${b}`]);
  }

  /** Nothing is on the list. @param {readonly string[]} faults @param {string} name */
  none(faults, name) {
    this.ok(faults.length === 0, name, faults);
  }

  /** A figure or hash that the report of ./test shows. @param {string} text */
  show(text) {
    console.log(text.replace(/^/gm, '## '));
  }

  /** States the plan. */
  finish() {
    console.log(`1..${this.count}`);
    process.exitCode = this.failed === 0 ? 0 : 1;
  }
}

/** Runs tests; what they throw is a failure, and the plan is stated. @param {(tap: Tap) => Promise<void>} tests */
export async function run(tests) {
  const tap = new Tap();
  try {
    await tests(tap);
  } catch (error) {
    tap.ok(false, 'the tests ran to their end', [error instanceof Error ? (error.stack ?? error.message) : String(error)]);
  }
  tap.finish();
  // Nothing that was left open keeps the process.
  process.exit(process.exitCode);
}
