/* training-schedule.tsx -- the learning rate of every step, from four numbers: each point of the curve is
 * one answer of the C code. */
import { useMemo, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { defineIsland } from '../components/island';
import { LedgerTable } from '../components/LedgerTable';
import { full, sci } from '../components/numbers';
import type { Engine } from '../engine/types';
import { partOf, rateLedger, rateOf, type Schedule } from '../examples/schedule';
import '../style/curve.css';
import '../style/lab.css';
import '../style/ledger.css';

const LEFT = 64, RIGHT = 490, TOP = 12, BOTTOM = 232;
const FIRST: Schedule = { steps: 100, warmup: 10, highest: 1e-3, lowest: 1e-4 };
/** Highest rates that the slider offers: half powers of ten. */
const RATES = Array.from({ length: 7 }, (_, k) => 10 ** (-4.5 + k / 2));
const SHARES = 10;

/** A few steps beyond the end, so that the end is seen. */
const shownSteps = (s: Schedule): number => Math.ceil(s.steps * 1.15);
const ratesOf = (engine: Engine, s: Schedule): Float64Array => Float64Array.from({ length: shownSteps(s) }, (_, k) => rateOf(engine, s, k));

function Slider({ name, value, text, least = 0, most, onChoose }: { name: string; value: number; text: string; least?: number; most: number; onChoose: (value: number) => void }): JSX.Element {
  return (
    <label class="fld"><span class="fl">{name}: <b>{text}</b></span>
      <input type="range" min={least} max={most} step="1" value={value} aria-valuetext={text} onInput={(e) => onChoose(Number(e.currentTarget.value))} />
    </label>
  );
}

function View({ loaded, engine }: { loaded: Float64Array; engine: Engine }): JSX.Element {
  const [steps, setSteps] = useState(FIRST.steps), [warmup, setWarmup] = useState(FIRST.warmup);
  const [rate, setRate] = useState(3), [share, setShare] = useState(1), [at, choose] = useState(40);
  const s: Schedule = { steps, warmup: Math.min(warmup, steps), highest: RATES[rate]!, lowest: (RATES[rate]! * share) / SHARES };
  const first = s.steps === FIRST.steps && s.warmup === FIRST.warmup && rate === 3 && share === 1;
  const lr = useMemo(() => (first ? loaded : ratesOf(engine, s)), [engine, first, loaded, s.steps, s.warmup, s.highest, s.lowest]);
  const n = lr.length, k = Math.min(at, n - 1);
  const across = (step: number): number => LEFT + (step / (n - 1)) * (RIGHT - LEFT);
  const up = (v: number): number => BOTTOM - (v / s.highest) * (BOTTOM - TOP);
  return (
    <div class="curve">
      <div>
        <svg class="uc" viewBox="0 0 500 276" role="img" aria-label={`Learning rate over the steps: a straight line up in ${s.warmup} steps, half a cosine down until step ${s.steps}, then level.`}>
          {[0, s.lowest, s.highest].filter((v, i, all) => all.indexOf(v) === i).map((v) => (
            <g key={v}><line class={v === 0 ? 'ax' : 'gr'} x1={LEFT} x2={RIGHT} y1={up(v)} y2={up(v)} /><text x={LEFT - 8} y={up(v) + 4} text-anchor="end">{sci(v, 0)}</text></g>
          ))}
          {[0, s.warmup, s.steps].filter((v, i, all) => all.indexOf(v) === i && (v === 0 || v === s.steps || v > s.steps * 0.08) && (v !== s.warmup || v < s.steps * 0.9 || v === s.steps)).map((v) => <text key={v} x={across(v)} y={BOTTOM + 18} text-anchor="middle">{v}</text>)}
          <text x={RIGHT} y={BOTTOM + 38} text-anchor="end">step →</text>
          <path class="cs" d={`M${Array.from(lr, (v, i) => `${across(i).toFixed(1)} ${up(v).toFixed(1)}`).join('L')}`} />
          <line class="h" x1={across(k)} x2={across(k)} y1={TOP} y2={BOTTOM} />
          <circle class="dot" cx={across(k)} cy={up(lr[k]!)} r="5" />
        </svg>
        <Slider name="Step" value={k} text={`${k}, ${partOf(s, k)}`} most={n - 1} onChoose={choose} />
      </div>
      <div class="cellbox">
        <Slider name="Steps" value={steps} text={String(steps)} least={10} most={400} onChoose={setSteps} />
        <Slider name="Warm-up" value={s.warmup} text={String(s.warmup)} most={steps} onChoose={setWarmup} />
        <Slider name="Highest rate" value={rate} text={sci(s.highest, 1)} most={RATES.length - 1} onChoose={setRate} />
        <Slider name="Lowest rate" value={share} text={sci(s.lowest, 1)} most={SHARES} onChoose={setShare} />
        <div aria-live="polite">
          <LedgerTable ledger={rateLedger(engine, s, k)} digits={6} label={`Learning rate of step ${k}`} />
          <p class="full"><b data-t="lr" data-i={String(k)}>{full(lr[k]!)}</b></p>
        </div>
      </div>
    </div>
  );
}

export const island = defineIsland<Record<string, never>, Float64Array>({ load: async (_, engine) => ratesOf(engine, { ...FIRST, highest: RATES[3]!, lowest: RATES[3]! / SHARES }), view: View });
