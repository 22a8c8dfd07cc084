/* Overview.tsx -- the whole model as one picture: one row for each word, through every stage.
 *
 * Each matrix is a stage's tensor of one run of the C code, drawn with the same
 * rows, so that a word is followed by going right.  Backward shows the
 * gradients of the same stages, by which the loss comes back.
 */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { magnitude, paint } from '../../components/colour';
import { defineIsland, type ViewProps } from '../../components/island';
import { fmt } from '../../components/numbers';
import { Segment } from '../../components/Segment';
import type { Tensor } from '../../engine/types';
import { runTinyModel, type TinyRun } from './tiny-model';
import '../../style/overview.css';

type Way = 'forward' | 'backward';

interface Stage {
  readonly title: string;
  readonly page: string;
  readonly forward: string;
  readonly backward: string;
  readonly says: string;
}

const embedded: Stage = { title: 'Embedding', page: 'embedding.html', forward: 'embedded', backward: 'dembedded', says: 'one row for each word' };
const attentionPart: readonly Stage[] = [
  { title: 'LayerNorm', page: 'layernorm.html', forward: 'h.0.ln1', backward: 'h.0.dln1', says: 'brought to one scale' },
  { title: 'Attention', page: 'attention.html', forward: 'h.0.att', backward: 'h.0.datt', says: 'who reads whom, in each head' },
  { title: 'Read', page: 'attention.html#output', forward: 'h.0.attproj', backward: 'h.0.dattproj', says: 'values, mixed' },
];
const mlpPart: readonly Stage[] = [
  { title: 'LayerNorm', page: 'layernorm.html', forward: 'h.0.ln2', backward: 'h.0.dln2', says: 'again' },
  { title: 'Feed-forward', page: 'feedforward.html', forward: 'h.0.gelu', backward: 'h.0.dgelu', says: 'wide, through GELU' },
  { title: 'Made', page: 'feedforward.html', forward: 'h.0.fcproj', backward: 'h.0.dfcproj', says: 'narrow again' },
];
const res1: Stage = { title: 'Sum', page: 'block.html', forward: 'h.0.res1', backward: 'h.0.dres1', says: 'with what came in' };
const res2: Stage = { title: 'Sum', page: 'block.html', forward: 'h.0.res2', backward: 'h.0.dres2', says: 'with what came in' };
const last: readonly Stage[] = [
  { title: 'LayerNorm', page: 'layernorm.html', forward: 'lnf', backward: 'dlnf', says: 'once more' },
  { title: 'Scores', page: 'loss.html', forward: 'logits', backward: 'dlogits', says: 'one for each token' },
];

interface Shared {
  readonly run: TinyRun;
  readonly way: Way;
  readonly row: number;
}

function tensorOf(run: TinyRun, name: string): Tensor {
  const t = run.tensors.get(name);
  if (!t) throw new Error(`the run gave no tensor "${name}"`);
  return t;
}

/** One matrix: (T, n), or (NH, T, T) with the heads side by side. Masked cells are hatched. */
function Matrix({ t, weights, row }: { t: Tensor; weights: boolean; row: number }): JSX.Element {
  const rowCount = t.shape[t.shape.length - 2] ?? 1;
  const columns = t.shape[t.shape.length - 1] ?? 1;
  const slices = t.shape.length > 2 ? (t.shape[0] ?? 1) : 1;
  const domain = weights ? 1 : magnitude(t.data);
  const masked = t.shape.length > 2;
  return (
    <div class={slices > 1 ? 'mx heads' : 'mx'} role="img" aria-label={`${t.name}, shape (${t.shape.join(', ')})${weights ? '' : `, largest magnitude ${fmt(domain)}`}`}>
      {Array.from({ length: slices }, (_, s) => (
        <div key={s} class="m" style={`--n:${columns}`}>
          {Array.from({ length: rowCount * columns }, (_, k) => {
            const [r, c] = [Math.floor(k / columns), k % columns];
            if (masked && c > r) return <i key={k} class="x" />;
            return <i key={k} class={r === row ? 'on' : undefined} style={paint(weights ? 'weight' : 'signed', (t.data[s * rowCount * columns + k] as number) / domain)} />;
          })}
        </div>
      ))}
    </div>
  );
}

function Box({ stage, shared }: { stage: Stage; shared: Shared }): JSX.Element {
  const name = stage[shared.way];
  const t = tensorOf(shared.run, name);
  const weights = name.endsWith('.att');
  return (
    <div class="st">
      <a href={stage.page}>{stage.title}</a>
      <Matrix t={t} weights={weights} row={shared.row} />
      <span class="says">{shared.way === 'forward' ? stage.says : 'its gradient'}</span>
      <span class="dom num" data-t={name} data-i="max">{weights ? '0 to 1' : `\u00b1${fmt(magnitude(t.data))}`} <small>({t.shape.join(', ')})</small></span>
    </div>
  );
}

/** A path through two or three stages, and the sum where it meets what it left. */
function Path({ stages, sum, shared }: { stages: readonly Stage[]; sum: Stage; shared: Shared }): JSX.Element {
  return (
    <>
      <div class="path"><span class="res" aria-hidden="true" />{stages.map((s) => <Box key={s.forward} stage={s} shared={shared} />)}</div>
      <div class="plus"><b aria-hidden="true">+</b><Box stage={sum} shared={shared} /></div>
    </>
  );
}

function Words({ shared, choose }: { shared: Shared; choose: (row: number) => void }): JSX.Element {
  return (
    <div class="st words">
      <a href="tokenizer.html">Tokenizer</a>
      <div class="chs" role="group" aria-label="Follow one word">
        {shared.run.tokens.map((word, i) => <button key={i} type="button" aria-pressed={i === shared.row} onClick={() => choose(i)}>{word}</button>)}
      </div>
      <span class="says">choose a word to follow</span>
    </div>
  );
}

/** What comes next after the chosen word, and the loss of the whole text. */
function Next({ shared }: { shared: Shared }): JSX.Element {
  const { run, row } = shared;
  const p = run.next[row] as Float64Array;
  const loss = tensorOf(run, 'loss').data[0] as number;
  return (
    <div class="st next">
      <a href="generation.html">What comes next?</a>
      <ol>
        {run.words.map((word, id) => (
          <li key={id} class={word === run.tokens[row + 1] ? 'came' : undefined}>
            <span>{word}</span><i style={`--p:${p[id]}`} /><b class="num" data-t="next" data-i={`${row},${id}`}>{fmt(p[id] as number)}</b>
          </li>
        ))}
      </ol>
      <span class="says"><a href="loss.html">loss</a> of the text <b class="num" data-t="loss" data-i="0">{fmt(loss)}</b></span>
    </div>
  );
}

function View({ loaded: run }: ViewProps<Record<string, never>, TinyRun>): JSX.Element {
  const [way, setWay] = useState<Way>('forward');
  const [row, setRow] = useState(run.tokens.length - 3);
  const shared: Shared = { run, way, row };
  return (
    <div class="overview">
      <div class="obar">
        <Segment label="Which way" quiet choices={[{ value: 'forward' as const, text: 'Forward: the numbers' }, { value: 'backward' as const, text: 'Backward: the gradients' }]} value={way} onChoose={setWay} />
        <p class="cap">One row for each word; each matrix is a stage, computed by the C code. {way === 'forward' ? 'Data flows to the right.' : 'Gradients of the mean loss flow to the left.'} Colours: each matrix by its own largest magnitude, written below it; zero is the ground, hatched cells are masked.</p>
      </div>
      <div class={`pic ${way}`}>
        <Words shared={shared} choose={setRow} />
        <Box stage={embedded} shared={shared} />
        <div class="blk">
          <a class="name" href="block.html">Transformer block</a>
          <Path stages={attentionPart} sum={res1} shared={shared} />
          <Path stages={mlpPart} sum={res2} shared={shared} />
        </div>
        {last.map((s) => <Box key={s.forward} stage={s} shared={shared} />)}
        <Next shared={shared} />
      </div>
      <p class="train"><a href="training.html">Training</a> takes a step against these gradients, many times; <a href="verification.html">Verification</a> proves that they are right.</p>
    </div>
  );
}

export const island = defineIsland<Record<string, never>, TinyRun>({
  load: (_props, engine) => Promise.resolve(runTinyModel(engine)),
  view: View,
});
