/* verification-chain.tsx -- the functions of the attention layer in the order in which they run,
 * each beside its backward pass, which runs in the opposite order. */
import type { JSX } from 'preact';
import { defineIsland } from '../components/island';
import { fmt } from '../components/numbers';
import { Scroll } from '../components/Scroll';
import { Tex } from '../components/Tex';
import { largest, need, runAttention, type AttentionRun } from './attention-run';
import '../style/blocks.css';

interface Row {
  /** The function of the C code; its backward pass has the same name with "backward". */
  readonly function: string;
  readonly makes: readonly [name: string, tex: string][];
  readonly given: readonly [name: string, tex: string][];
  readonly returns: readonly [name: string, tex: string][];
}
const d = (tex: string): string => `\\mathrm{d}${tex}`;
const ROWS: readonly Row[] = [
  {
    function: 'linear', makes: [['Q', 'Q'], ['K', 'K'], ['V', 'V']], given: [['dQ', d('Q')], ['dK', d('K')], ['dV', d('V')]],
    returns: [['dWq', d('W_q')], ['dbq', d('b_q')], ['dWk', d('W_k')], ['dbk', d('b_k')], ['dWv', d('W_v')], ['dbv', d('b_v')], ['dXn', d('X_n')]],
  },
  { function: 'attention', makes: [['A', 'A'], ['O', 'O']], given: [['dO', d('O')]], returns: [['dA', d('A')], ['dS', d('S')], ['dQ', d('Q')], ['dK', d('K')], ['dV', d('V')]] },
  { function: 'linear', makes: [['out', '\\mathrm{out}']], given: [['dOut', d('\\mathrm{out}')]], returns: [['dWo', d('W_o')], ['dbo', d('b_o')], ['dO', d('O')]] },
];

function Tensors({ list, run }: { list: readonly [string, string][]; run: AttentionRun }): JSX.Element {
  return (
    <ul class="plain">
      {list.map(([name, tex]) => {
        const data = name === 'dOut' ? run.inputs.dOut : need(run.tensors, name).data;
        return <li key={name}><Tex tex={tex} /> <span class="num nw">{fmt(largest(data))}</span></li>;
      })}
    </ul>
  );
}

function View({ loaded }: { loaded: AttentionRun }): JSX.Element {
  return (
    <div data-source="example">
      <p class="block-words">Forwards the table is read from top to bottom, backwards from bottom to top. Beside each tensor stands the size of its largest entry.</p>
      <Scroll label="Forward functions and their backward passes">
        <table class="data">
          <caption class="vh">Forward functions and their backward passes</caption>
          <thead><tr><th scope="col">Forward ↓</th><th scope="col">makes</th><th scope="col">Backward ↑</th><th scope="col">is given</th><th scope="col">returns</th></tr></thead>
          <tbody>
            {ROWS.map((row, k) => (
              <tr key={k}>
                <th scope="row"><code>{row.function}_forward</code></th><td><Tensors list={row.makes} run={loaded} /></td>
                <td><code>{row.function}_backward</code></td><td><Tensors list={row.given} run={loaded} /></td><td><Tensors list={row.returns} run={loaded} /></td>
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
  inert: true,
});
