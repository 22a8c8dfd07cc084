/* attention-dbk.tsx -- the bias of the keys: its gradient is 0 but for rounding, and moving
 * it changes no output. */
import type { JSX } from 'preact';
import { defineIsland } from '../components/island';
import { fmt, full, sci } from '../components/numbers';
import { Scroll } from '../components/Scroll';
import { Tex } from '../components/Tex';
import { moved } from '../examples/attention-inputs';
import { largest, need, runAttention, type AttentionRun } from './attention-run';
import '../style/blocks.css';

interface Loaded extends AttentionRun {
  /** Largest change of any score, weight and output after every key's first channel was moved by 1. */
  readonly scores: number;
  readonly weights: number;
  readonly out: number;
}

function change(before: AttentionRun, after: AttentionRun['tensors'], name: string): number {
  const a = need(before.tensors, name).data, b = need(after, name).data;
  return largest(a.map((x, i) => x - (b[i] as number)));
}

function View({ loaded }: { loaded: Loaded }): JSX.Element {
  const dbk = need(loaded.tensors, 'dbk').data;
  return (
    <div data-source="example">
      <p class="block-words">
        The bias of the keys adds the same row to every key. So every score of a row grows by the same amount, the query times that
        row, and softmax ignores what a whole row shares. The gradient must be zero. What is left is rounding: sums of numbers
        that cancel, not quite to the last digit.
      </p>
      <Scroll label="The gradient of the key bias">
        <table class="data narrow">
          <caption class="vh">The gradient of the key bias</caption>
          <tbody>
            <tr><th scope="row"><Tex tex="\mathrm{d}b_k" />, entry by entry</th><td class="num">{Array.from(dbk, (x, i) => <span key={i} class="nw" data-t="dbk" data-i={String(i)}>{full(x)}<br /></span>)}</td></tr>
            <tr><th scope="row">largest <Tex tex="|\mathrm{d}b_k|" /></th><td class="num"><b>{sci(largest(dbk))}</b></td></tr>
            <tr><th scope="row">largest <Tex tex="|\mathrm{d}b_q|" />, to compare</th><td class="num">{fmt(largest(need(loaded.tensors, 'dbq').data))}</td></tr>
          </tbody>
        </table>
      </Scroll>
      <p class="block-words">Try it the other way: move the first entry of the bias by one, and run the layer again.</p>
      <Scroll label="What a moved key bias changes">
        <table class="data narrow">
          <caption class="vh">What a moved key bias changes</caption>
          <tbody>
            <tr><th scope="row">largest change of a score</th><td class="num">{fmt(loaded.scores)}</td></tr>
            <tr><th scope="row">largest change of a weight</th><td class="num">{sci(loaded.weights)}</td></tr>
            <tr><th scope="row">largest change of an output</th><td class="num">{sci(loaded.out)}</td></tr>
          </tbody>
        </table>
      </Scroll>
    </div>
  );
}

export const island = defineIsland<Record<string, never>, Loaded>({
  load: async (_, engine) => {
    const run = runAttention(engine), after = engine.attention(moved(run.inputs, 'bk', 0, 1));
    return { ...run, scores: change(run, after, 'scaled'), weights: change(run, after, 'A'), out: change(run, after, 'out') };
  },
  view: View,
  inert: true,
});
