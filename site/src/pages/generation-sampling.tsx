/* generation-sampling.tsx -- one row of logits under temperature, top-k and top-p, and the token that a
 * number u draws: probabilities and choice are the C code's at every move of a slider. */
import { useMemo, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { Case } from '../components/Case';
import { defineIsland } from '../components/island';
import { fmt } from '../components/numbers';
import type { Engine, NextToken } from '../engine/types';
import inputs from '../../content/inputs/sampling.json';
import { WORDS } from '../examples/sampling';
import '../style/textlab.css';

interface Setting { readonly temperature: number; readonly topK: number; readonly topP: number; readonly u: number }
interface Drawn { readonly next: NextToken; readonly id: number }

const LOGITS = Float64Array.from(inputs.logits), V = LOGITS.length;
const FIRST: Setting = { temperature: inputs.temperature[0]!, topK: inputs.topk[0]!, topP: inputs.topp[0]!, u: inputs.u[4]! };
/** Sliders move in steps that are sums of powers of two: no rounding in what they say. */
const FINE = 64;

const draw = (engine: Engine, s: Setting): Drawn => engine.draw(LOGITS, s, s.u);

function Slider({ name, text, most, value, onChoose }: { name: string; text: string; most: number; value: number; onChoose: (value: number) => void }): JSX.Element {
  return (
    <label class="fld"><span class="fl">{name}: <b>{text}</b></span>
      <input type="range" min="0" max={most} step="1" value={value} aria-valuetext={text} onInput={(e) => onChoose(Number(e.currentTarget.value))} />
    </label>
  );
}

const WHY = ['', 'cut by top-k', 'cut by top-p'] as const;

function View({ loaded, engine }: { loaded: Drawn; engine: Engine }): JSX.Element {
  const [s, set] = useState(FIRST);
  const { next, id } = useMemo(() => (s === FIRST ? loaded : draw(engine, s)), [s, engine, loaded]);
  const order = [...next.order], kept = order.filter((v) => next.drawn[v]! > 0);
  const word = (v: number): string => WORDS[v] ?? String(v);
  const greedy = s.temperature === 0;
  return (
    <Case source="example" small label="Drawing a token">
      <h2 class="vh">Drawing a token</h2>
      <div class="sampler">
        <div>
          <Slider name="Temperature" text={greedy ? 'zero: the most probable' : fmt(s.temperature, 3)} most={2 * FINE} value={s.temperature * (FINE / 2)} onChoose={(v) => set({ ...s, temperature: v / (FINE / 2) })} />
          <Slider name="Top-k" text={s.topK === 0 ? 'off' : String(s.topK)} most={V} value={s.topK} onChoose={(topK) => set({ ...s, topK })} />
          <Slider name="Top-p" text={s.topP >= 1 ? 'off' : fmt(s.topP, 3)} most={FINE} value={Math.round(s.topP * FINE)} onChoose={(v) => set({ ...s, topP: v / FINE })} />
          <Slider name="u" text={fmt(s.u, 3)} most={FINE - 1} value={Math.round(s.u * FINE)} onChoose={(v) => set({ ...s, u: v / FINE })} />
        </div>
        <div aria-live="polite">
          <dl class="bars">
            {order.map((v) => (
              <>
                <dt key={`t${v}`} class={v === id ? 'is-drawn' : next.cut[v] ? 'is-cut' : ''}>{word(v)}</dt>
                <dd key={`d${v}`}>
                  <span class="track"><u style={`width:${(100 * next.plain[v]!).toFixed(2)}%`} /><i style={`width:${(100 * next.drawn[v]!).toFixed(2)}%`} /></span>
                  <span class={next.cut[v] ? 'is-cut' : v === id ? 'is-drawn' : ''} data-t="drawn" data-i={String(v)}>{next.cut[v] ? (greedy ? 'not the largest' : WHY[next.cut[v]!]) : fmt(next.drawn[v]!)}</span>
                </dd>
              </>
            ))}
          </dl>
          <div class="drawline" role="img" aria-label={`The line that u falls on: ${kept.map((v) => `${word(v)} ${fmt(next.drawn[v]!)}`).join(', ')}. u = ${fmt(s.u)} draws ${word(id)}.`}>
            {kept.map((v) => <span key={v} class={v === id ? 'is-drawn' : ''} style={`flex:${next.drawn[v]!.toFixed(6)} 1 0`}>{next.drawn[v]! > 0.07 ? word(v) : ''}</span>)}
            <b style={`left:${(100 * s.u).toFixed(2)}%`} />
          </div>
          <p class="facts">u = {fmt(s.u, 3)} draws <b>{word(id)}</b>. Filled bars: what is drawn from. Dashed outlines: the model's own probabilities, at temperature one.</p>
        </div>
      </div>
    </Case>
  );
}

export const island = defineIsland<Record<string, never>, Drawn>({ load: async (_, engine) => draw(engine, FIRST), view: View });
