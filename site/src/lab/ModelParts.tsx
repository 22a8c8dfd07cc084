/* ModelParts.tsx -- what the lab shows of a trained model only: heads and tokens to choose
 * from, the proof on the model's own loss, where the numbers come from.  Loaded with the model. */
import type { JSX } from 'preact';
import { useCallback, useMemo, useRef } from 'preact/hooks';
import { HeadMaps } from '../components/HeadMaps';
import { Tokens } from '../components/Tokens';
import type { Derivative } from '../engine/types';
import { rowOf, type AttentionLayer } from '../examples/attention-layer';
import { chooseToken, parameterSize, PARAMETERS, type LabState } from './lab-state';
import { parameterEntry } from './model-layer';
import { Prove, type Nudge } from './Prove';
import type { Chosen } from './model-run';
import { termsOf } from './verdict';

export { modelLayer } from './model-layer';
export { chooseRun } from './model-run';
export { LabProvenance } from './Provenance';

/** Of a model: heads as small multiples, tokens as chips, the visitor's text. */
export function ModelBar({ state: s, chosen, layer, seed, onState }: {
  state: LabState; chosen: Chosen; layer: AttentionLayer; seed: string; onState: (change: Partial<LabState>) => void;
}): JSX.Element {
  const { run } = chosen;
  const box = useRef<HTMLInputElement>(null);
  const parts = useMemo(() => Array.from({ length: run.L }, (_, l) => Array.from({ length: run.H }, (__, h) =>
    (run.tensors.get(`h.${l}.att`)?.data ?? new Float64Array(0)).subarray(h * run.T * run.T, (h + 1) * run.T * run.T))), [run]);
  const weights = rowOf(layer.tensor('A'), layer.T, s.head * layer.T + s.i);
  const submit = (event: Event): void => {
    event.preventDefault();
    const text = box.current?.value ?? '';
    onState({ text: text === '' ? null : text });
  };
  return (
    <div class="heads">
      <div>
        <span class="fl over">All layers and heads: choose one</span>
        <HeadMaps label="Attention weights of all layers and heads" layers={run.L} heads={run.H} T={run.T} layer={s.layer} head={s.head}
          weights={(l, h) => parts[l]?.[h] ?? []} onChoose={(l, head) => onState({ layer: l, head })} />
      </div>
      <div class="words">
        <span class="fl over">Token that reads; the bar is how much it reads each one, in this head</span>
        <Tokens label="Token that reads" tokens={layer.tokens} chosen={s.i} onChoose={(i) => onState(chooseToken(s, i))}
          weights={Array.from(weights, (w, k) => (k <= s.i ? w : null))} />
        <form class="mine" onSubmit={submit}>
          <label class="fld"><span class="fl">Your own text, run in this page and sent nowhere</span>
            <input type="text" ref={box} defaultValue={s.text ?? seed} key={s.text ?? seed} maxLength={4000} autocomplete="off" spellcheck={false} /></label>
          <button type="submit" class="btn">Run</button>
          <button type="button" class="btn" disabled={s.text === null} onClick={() => onState({ text: null })}>The exported window</button>
        </form>
        {chosen.left > 0 && <p class="cap">The window holds {run.T} tokens, the positions that the model was trained on; {chosen.left} more are left out.</p>}
      </div>
    </div>
  );
}

/** The proof of a model: the loss is the mean over the window's next tokens. */
export function ModelProof({ chosen, layer, state: s, derivative, onChange }: {
  chosen: Chosen; layer: AttentionLayer; state: LabState; onChange: (change: Partial<LabState>) => void;
  derivative: (parameter: string, entry: number, steps: Float64Array) => Derivative;
}): JSX.Element {
  const [rows, columns] = parameterSize(s.parameter, { L: chosen.run.L, H: layer.H, T: layer.T, C: layer.C });
  const derive = useCallback((steps: Float64Array) => {
    const [parameter, entry] = parameterEntry(s.parameter as 'Wq', s.layer, s.row, s.column, layer.C);
    return derivative(parameter, entry, steps);
  }, [derivative, chosen, s.layer, s.parameter, s.row, s.column, layer.C]);
  const nudge = useCallback((hand: number, h: number): Nudge => ({
    predicted: 2 * h * hand, computed: 2 * h * (derive(Float64Array.of(h)).central[0] as number),
    words: 'Nudge the entry from \u2212h to +h: the change of the loss',
  }), [derive]);
  return <Prove parameters={PARAMETERS.filter((p) => p !== 'Xn')} parameter={s.parameter} row={s.row} column={s.column} h={s.h} rows={rows} columns={columns}
    gradient={layer.tensor(`d${s.parameter}` as 'dWq')} terms={termsOf(layer, s.parameter)} derive={derive} slow nudge={nudge} onChange={onChange}
    lossWords="L is the mean loss over the window: how surprised the model is by each next token, in nats." />;
}
