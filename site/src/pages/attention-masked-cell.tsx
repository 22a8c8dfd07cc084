/* attention-masked-cell.tsx -- one masked cell's three values: its weight, the gradient on
 * the weight, and the gradient on the score. */
import { useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { defineIsland } from '../components/island';
import { full } from '../components/numbers';
import { Segment } from '../components/Segment';
import { Scroll } from '../components/Scroll';
import { Tex } from '../components/Tex';
import { attentionTokens } from '../examples/attention-inputs';
import { need, runAttention, type AttentionRun } from './attention-run';
import '../style/blocks.css';

const VALUES = [
  { name: 'A', tex: 'A_{ij}', what: 'the weight', why: 'Exactly zero. Nothing of this position was read.' },
  { name: 'dA', tex: '\\mathrm{d}A_{ij}', what: 'the gradient on the weight', why: 'In general not zero. If the weight could grow, the loss would change by this much for each unit; the sum for it does not know of the mask.' },
  { name: 'dS', tex: '\\mathrm{d}S_{ij}', what: 'the gradient on the score', why: 'Exactly zero. The weight stands as a factor before it, so nothing passes to the query and the key.' },
] as const;

interface Cell {
  readonly head: number;
  readonly reads: number;
  readonly isRead: number;
}

function View({ loaded }: { loaded: AttentionRun }): JSX.Element {
  const { T, H } = loaded.inputs;
  const [cell, setCell] = useState<Cell>({ head: 0, reads: 1, isRead: 3 });
  const at = (cell.head * T + cell.reads) * T + cell.isRead;
  const word = (k: number): string => attentionTokens[k] ?? String(k);
  const choose = (next: Cell): void => setCell({ ...next, isRead: Math.max(next.isRead, next.reads + 1) });
  const positions = Array.from({ length: T }, (_, k) => k);
  return (
    <div data-source="example">
      <p class="block-words">Choose a position and one behind it. It may not be read; three numbers say what becomes of it.</p>
      <div class="block-tool">
        <Segment label="Head" value={cell.head} choices={Array.from({ length: H }, (_, k) => ({ value: k, text: String(k) }))} onChoose={(head) => choose({ ...cell, head })} />
        <Segment label="Reads" value={cell.reads} choices={positions.slice(0, T - 1).map((k) => ({ value: k, text: word(k) }))} onChoose={(reads) => choose({ ...cell, reads })} />
        <Segment label="Is masked" value={cell.isRead} choices={positions.slice(1).map((k) => ({ value: k, text: word(k), disabled: k <= cell.reads }))} onChoose={(isRead) => choose({ ...cell, isRead })} />
      </div>
      <Scroll label={`Head ${cell.head}, ${word(cell.reads)} reads ${word(cell.isRead)}: masked`} live>
        <table class="data stack">
          <caption class="vh">{`Head ${cell.head}, ${word(cell.reads)} reads ${word(cell.isRead)}: masked`}</caption>
          <thead><tr><th scope="col">Value</th><th scope="col">Number</th><th scope="col">What it says</th></tr></thead>
          <tbody>
            {VALUES.map(({ name, tex, what, why }) => (
              <tr key={name}>
                <th scope="row"><Tex tex={tex} /> {what}</th>
                <td class="nw num" data-t={name} data-i={`${cell.head},${cell.reads},${cell.isRead}`}>{full(need(loaded.tensors, name).data[at] as number)}</td>
                <td>{why}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </div>
  );
}

export const island = defineIsland<Record<string, never>, AttentionRun>({
  load: async (_, engine) => runAttention(engine),
  view: View,
  core: true,
  waits: true,
});
