/* gates.ts -- no page is made with a gradient that the complex step contradicts.
 *
 * The pages say that the gaps are rounding.  Here that is looked at, for the inputs that
 * the pages show; a visitor's inputs may be of any size, and stop nothing.
 */
import type { Checked } from '../codelab/Checks';
import type { Engine } from '../engine/types';
import type { ExampleTensor } from '../examples/types';
import type { Faults } from './faults';

/** Names every gap that is above what it may be; NaN is. */
export function checkGaps(name: string, tensors: readonly ExampleTensor[], faults: Faults): void {
  for (const t of tensors) {
    if (!t.most) continue;
    t.data.forEach((gap, i) => {
      const most = t.most?.[i] ?? NaN;
      if (!(gap <= most)) faults.add(`examples/${name}`, `${t.id}[${t.columns?.[i] || i}]`, `${t.title}: found ${gap}, expected at most ${most}: a gradient is wrong`);
    });
  }
}

/** The verdicts of the code lab, whose bounds the C code computes for each entry. */
export function checkVerdict({ rows, verdict }: Pick<Checked, 'rows' | 'verdict'>, faults: Faults): void {
  for (const way of ['complex', 'central'] as const) {
    if (verdict[way].pass) continue;
    const error = (r: Checked['rows'][number]): number => (Number.isNaN(r[way]) ? Infinity : r[way]);
    const worst = rows.reduce((a, b) => (error(b) > error(a) ? b : a));
    faults.add('examples/codelab', worst.tensor, `gradient by hand against ${way === 'complex' ? 'the complex step' : 'central differences'}: found a relative error of ${worst[way]}, ${verdict[way].share} times its bound; expected at most 1: a gradient is wrong`);
  }
}

export async function checkCodelab(engine: Engine, faults: Faults): Promise<void> {
  const [{ checkLab }, { FIRST }] = await Promise.all([import('../codelab/Checks'), import('../examples/codelab')]);
  checkVerdict(checkLab(engine, FIRST), faults);
}
