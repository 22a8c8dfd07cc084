/* attention-parameters.tsx -- the eight parameters of attention in one block: shape, size,
 * count, first value, decay.
 *
 * The list is the engine's, made from the C code's table of tensors.  The sizes are those of the illustrative example, or
 * of the trained model once a visitor asks for it.
 */
import { useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { Case } from '../components/Case';
import { defineIsland } from '../components/island';
import { Segment } from '../components/Segment';
import { Scroll } from '../components/Scroll';
import { Tex } from '../components/Tex';
import { whole } from '../engine/later';
import type { Engine, Model, Sizes } from '../engine/types';
import { toAttentionInputs } from '../examples/attention-inputs';
import '../style/blocks.css';

type Listed = Model['parameters'][number];

/** A row of the table: a tensor of the C code, or a third of one. */
export interface ParameterRow {
  readonly tex: string;
  readonly what: string;
  readonly letters: string;
  readonly shape: readonly number[];
  readonly count: number;
  readonly start: string;
  readonly decay: boolean;
  /** The tensor of the C code, and which columns of it. */
  readonly code: string;
}

const THIRDS = [['q', 'queries'], ['k', 'keys'], ['v', 'values']] as const;

/** What the C code's ways to start a tensor mean, in words. */
const STARTS: Readonly<Record<string, string>> = {
  zeros: 'zeros', ones: 'ones', matrix: 'random', 'residual matrix': 'random, for a residual path',
};
function startWords(start: string): string {
  const words = STARTS[start];
  if (words === undefined) throw new Error(`a parameter starts as "${start}": expected ${Object.keys(STARTS).join(', ')}`);
  return words;
}

/** The parameters of block 0; q, k and v are column blocks of one tensor. */
export function attentionRows(parameters: readonly Listed[]): readonly ParameterRow[] {
  const find = (name: string): Listed => {
    const p = parameters.find((candidate) => candidate.name === `h.0.${name}`);
    if (!p) throw new Error(`the model has no parameter h.0.${name}`);
    return p;
  };
  const thirds = (p: Listed, letter: string, letters: string, what: string): ParameterRow[] => THIRDS.map(([n, of], k) => {
    const columns = (p.shape[p.shape.length - 1] ?? 0) / THIRDS.length;
    return {
      tex: `${letter}_${n}`, what: `${what} of the ${of}`, letters, shape: [...p.shape.slice(0, -1), columns], count: p.count / THIRDS.length,
      start: startWords(p.start), decay: p.decay, code: `${p.name}, columns ${k * columns} to ${(k + 1) * columns - 1}`,
    };
  });
  const whole = (p: Listed, tex: string, letters: string, what: string): ParameterRow =>
    ({ tex, what, letters, shape: p.shape, count: p.count, start: startWords(p.start), decay: p.decay, code: p.name });
  return [
    ...thirds(find('qkvw'), 'W', '(d, d)', 'weights'), ...thirds(find('qkvb'), 'b', '(d)', 'bias'),
    whole(find('attprojw'), 'W_o', '(d, d)', 'weights of the output'), whole(find('attprojb'), 'b_o', '(d)', 'bias of the output'),
  ];
}

interface Shown {
  readonly source: 'example' | 'model';
  readonly rows: readonly ParameterRow[];
  /** Where the sizes are from. */
  readonly note: string;
}

/** The example's block: its sizes where it has them. It has no other layers and no vocabulary; these do not reach attention. */
function exampleSizes(): Sizes {
  const { T, C, H } = toAttentionInputs();
  return { L: 1, C, NH: H, FF: C, T, V: T, tied: true };
}

function Table({ rows }: { rows: readonly ParameterRow[] }): JSX.Element {
  const sum = rows.reduce((n, r) => n + r.count, 0);
  return (
    <Scroll label="The parameters of attention in one block">
      <table class="data">
        <caption class="vh">The parameters of attention in one block</caption>
        <thead><tr><th scope="col">Parameter</th><th scope="col">Shape</th><th scope="col">Size</th><th scope="col" class="num">Count</th><th scope="col">First value</th><th scope="col">Decay</th><th scope="col">In the code</th></tr></thead>
        <tbody>
          {rows.map((r) => (
            <tr key={r.tex}>
              <th scope="row"><Tex tex={r.tex} /> {r.what}</th><td class="nw">{r.letters}</td><td class="nw num">({r.shape.join(', ')})</td>
              <td class="num">{r.count}</td><td>{r.start}</td><td>{r.decay ? 'yes' : 'none'}</td><td><code>{r.code}</code></td>
            </tr>
          ))}
          <tr class="sum"><th scope="row">all</th><td colSpan={2} /><td class="num">{sum}</td><td colSpan={3} /></tr>
        </tbody>
      </table>
    </Scroll>
  );
}

async function ofModel(engine: Engine): Promise<Shown> {
  const { loadVerified } = await import('../provenance/verify');
  const { model, manifest } = await loadVerified('data/lab/', engine);
  const rows = attentionRows(model.parameters);
  model.close();
  return { source: 'model', rows, note: `sizes of the trained model, sha256 ${(manifest.files['model.safetensors']?.sha256 ?? '').slice(0, 12)}` };
}

function View({ loaded, engine }: { loaded: readonly ParameterRow[]; engine: Engine }): JSX.Element {
  const example: Shown = { source: 'example', rows: loaded, note: 'sizes of the six words and two heads' };
  const [shown, setShown] = useState<Shown>(example);
  const [said, setSaid] = useState('');
  const choose = (source: 'example' | 'model'): void => {
    setSaid('');
    if (source === 'example') setShown(example);
    else {
      setSaid('Loading the model.');
      ofModel(engine).then((next) => { setShown(next); setSaid(''); }, (error: unknown) => setSaid(error instanceof Error ? error.message : String(error)));
    }
  };
  return (
    <Case small source={shown.source} note={shown.note}>
      <div class="block-tool">
        <Segment label="Sizes from" value={shown.source} onChoose={choose}
          choices={[{ value: 'example', text: 'Illustrative example' }, { value: 'model', text: 'Actual model output' }]} />
      </div>
      <Table rows={shown.rows} />
      <p class="cap" role="status">{said}</p>
      <p class="block-words">
        <em>Random</em> is one of two draws, as training is told. <code>xavier</code> draws evenly between two bounds that come closer as the tensor
        grows. <code>gpt2</code> draws from a bell curve that is the same for all tensors, but narrower for those that write into a residual path: every
        block adds to it twice, so each must add less.
      </p>
      <p class="block-words">
        <em>Decay</em> means that each step of training also pulls the weight a little towards zero; biases are left out of it. The sizes do not
        depend on the number of positions: the same weights serve every position.
      </p>
    </Case>
  );
}

export const island = defineIsland<Record<string, never>, readonly ParameterRow[]>({
  load: async (_, engine) => attentionRows((await whole(engine)).parameters(exampleSizes())),
  view: View,
  core: true,
  waits: true,
});
