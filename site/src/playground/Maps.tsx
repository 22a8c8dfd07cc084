/* Maps.tsx -- all heads as small multiples, one of them large, and what the chosen token reads most. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { HeadMaps } from '../components/HeadMaps';
import { Legend } from '../components/Legend';
import { fmt } from '../components/numbers';
import { BigMap } from './BigMap';
import type { Read } from './protocol';
import type { Play } from './state';

/** A probability or weight in per cent; a small one is never shown as 0. */
export const perCent = (x: number): string => `${fmt(100 * x, 1)} %`;

export interface Chosen {
  readonly row: number;
  readonly column: number;
}

/** The chosen cell: the last token, and the one that it reads most, unless others were chosen. */
export function chosenCell(s: Play, weights: Float32Array, T: number): Chosen {
  const row = s.token ?? T - 1;
  if (s.read !== null) return { row, column: s.read };
  let column = 0;
  for (let j = 1; j <= row; j++) if ((weights[row * T + j] as number) > (weights[row * T + column] as number)) column = j;
  return { row, column };
}

/** (T, T) of each head, by layer and head. */
export function useHeads(read: Read | null, L: number, NH: number): (layer: number, head: number) => Float32Array {
  return useMemo(() => {
    const T = read?.tokens.length ?? 0, cells = T * T;
    const all = Array.from({ length: L * NH }, (_, k) => (read ? read.att.subarray(k * cells, (k + 1) * cells) : new Float32Array(0)));
    return (layer: number, head: number) => all[layer * NH + head] as Float32Array;
  }, [read, L, NH]);
}

const MOST_READ = 6;

function Reads({ read, weights, row }: { read: Read; weights: Float32Array; row: number }): JSX.Element {
  const T = read.tokens.length;
  const most = Array.from({ length: row + 1 }, (_, j) => [j, weights[row * T + j] as number] as const)
    .sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, MOST_READ);
  return (
    <div class="reads">
      <h4>What <span class="mono">{read.tokens[row]}</span> reads most, in this head</h4>
      <ol class="bars">
        {most.map(([j, weight]) => (
          <li key={j} class="br">
            <span class="t" title={read.tokens[j]}>{read.tokens[j]}</span>
            <span class="b" aria-hidden="true"><i class="is" style={`width:${100 * weight}%`} /></span>
            <span class="v">{perCent(weight)}</span>
          </li>))}
      </ol>
    </div>
  );
}

export function Maps({ read, heads, L, NH, s, cell, onChoose }: {
  read: Read; heads: (layer: number, head: number) => Float32Array; L: number; NH: number; s: Play; cell: Chosen; onChoose: (change: Partial<Play>) => void;
}): JSX.Element {
  const T = read.tokens.length, weights = heads(s.layer, s.head), { row, column } = cell;
  const weight = weights[row * T + column] as number, masked = column > row;
  return (
    <div class="pmaps">
      <div class="all">
        <div class="shead"><h3>All heads</h3><span class="ui cap push">{L} layers {'\u00d7'} {NH} heads</span></div>
        <div class="allbox" role="presentation">
          <HeadMaps label="All layers and heads" layers={L} heads={NH} T={T} weights={heads} layer={s.layer} head={s.head}
            onChoose={(layer, head) => onChoose({ layer, head })} />
        </div>
        <p class="cap">Each square is one head: rows read, columns are read. Same scale everywhere; hatched: masked.</p>
        <Reads read={read} weights={weights} row={row} />
      </div>
      <div class="one">
        <div class="shead"><h3>Layer {s.layer}, head {s.head}</h3><span class="ui cap push">(T, T) = ({T}, {T})</span></div>
        <p class="bigaxes cap"><span>{'\u2193'} <b>reads from</b>, queries</span> <span>{'\u2192'} <b>is read</b>, keys</span></p>
        <BigMap label={`Attention weights of layer ${s.layer}, head ${s.head}: rows read, columns are read`} tokens={read.tokens} weights={weights} row={row} column={column}
          onChoose={(token, to) => onChoose({ token, read: to })} />
        <Legend scale="weight" domain={1} value={weight} covers="of all heads" masked="masked, exactly 0" note="digits: per cent, from 10 up" />
        <p class="full" aria-live="polite">
          <b>{read.tokens[row]}</b> {masked ? 'may not read' : 'reads'} <b>{read.tokens[column]}</b>{masked ? ': masked, exactly 0' : <>: <b>{fmt(weight, 6)}</b></>}
        </p>
      </div>
    </div>
  );
}
