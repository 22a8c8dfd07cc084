/* FlowPicture.tsx -- the model as a picture: forward in full lines, the gradients' way back
 * dashed beside them, each tensor with the shape that it had in a run.
 *
 * There are two drawings of one graph, one wide and one tall: a style sheet shows the one
 * whose letters are large enough.
 */
import type { JSX } from 'preact';

export type Shapes = Readonly<Record<string, readonly number[]>>;

interface Node {
  readonly id: string;
  /** Symbol, and the letters of its shape. */
  readonly symbol: string;
  readonly letters: string;
  readonly wide: readonly [x: number, y: number];
  readonly tall: readonly [x: number, y: number];
}
interface Edge {
  readonly from: string;
  readonly to: string;
  readonly says?: string;
  /** Where the words stand, from the middle of the edge: wide, tall. */
  readonly wide?: readonly [dx: number, dy: number];
  readonly tall?: readonly [dx: number, dy: number];
}

const NODES: readonly Node[] = [
  { id: 'X', symbol: 'X', letters: 'T, C', wide: [60, 150], tall: [150, 34] },
  { id: 'Q', symbol: 'Q', letters: 'T, D', wide: [250, 50], tall: [54, 154] },
  { id: 'K', symbol: 'K', letters: 'T, D', wide: [250, 150], tall: [150, 154] },
  { id: 'V', symbol: 'V', letters: 'T, D', wide: [250, 250], tall: [246, 154] },
  { id: 'masked', symbol: 'S', letters: 'H, T, T', wide: [450, 100], tall: [102, 274] },
  { id: 'P', symbol: 'P', letters: 'H, T, T', wide: [640, 100], tall: [102, 394] },
  { id: 'O', symbol: 'O', letters: 'T, D', wide: [800, 175], tall: [150, 514] },
  { id: 'logits', symbol: 'logits', letters: 'T, V', wide: [960, 175], tall: [150, 634] },
  { id: 'loss', symbol: 'loss', letters: '', wide: [1130, 175], tall: [150, 754] },
];
const EDGES: readonly Edge[] = [
  { from: 'X', to: 'Q', says: 'W_q', wide: [-4, -20], tall: [-34, 0] },
  { from: 'X', to: 'K', says: 'W_k', wide: [8, -14], tall: [20, 4] },
  { from: 'X', to: 'V', says: 'W_v', wide: [-4, 30], tall: [36, 0] },
  { from: 'Q', to: 'masked', says: 'Q K\u1d40 / \u221ad_h, mask', wide: [8, -28], tall: [-46, -2] },
  { from: 'K', to: 'masked' },
  { from: 'masked', to: 'P', says: 'softmax', wide: [0, -16], tall: [42, 4] },
  { from: 'P', to: 'O', says: 'P V', wide: [20, -18], tall: [-40, 6] },
  { from: 'V', to: 'O' },
  { from: 'O', to: 'logits', says: 'W_o', wide: [0, -16], tall: [28, 4] },
  { from: 'logits', to: 'loss', says: 'targets', wide: [0, -16], tall: [40, 4] },
];

const HALF: readonly [number, number] = [42, 27];
const APART = 6;

type Point = readonly [number, number];

/** Where the line from a node's middle leaves its box. */
function border([x, y]: Point, [dx, dy]: Point): Point {
  const reach = Math.min(dx === 0 ? Infinity : HALF[0] / Math.abs(dx), dy === 0 ? Infinity : HALF[1] / Math.abs(dy));
  return [x + dx * reach, y + dy * reach];
}

function Arrow({ from, to, back }: { from: Point; to: Point; back: boolean }): JSX.Element {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  const unit: Point = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
  const side = back ? APART : -APART;
  const shift = ([x, y]: Point, along: number): Point => [x - unit[1] * side + unit[0] * along, y + unit[0] * side + unit[1] * along];
  const a = shift(border(from, unit), 3), b = shift(border(to, [-unit[0], -unit[1]]), -3);
  const [tail, tip, way] = back ? [b, a, -1] : [a, b, 1];
  const wing = (turn: number): string => `${(tip[0] - way * 8 * unit[0] - turn * 4 * unit[1]).toFixed(1)} ${(tip[1] - way * 8 * unit[1] + turn * 4 * unit[0]).toFixed(1)}`;
  return (
    <>
      <path class={back ? 'back' : 'go'} d={`M${tail[0].toFixed(1)} ${tail[1].toFixed(1)}L${tip[0].toFixed(1)} ${tip[1].toFixed(1)}`} />
      <path class={back ? 'tip back' : 'tip'} d={`M${wing(1)}L${tip[0].toFixed(1)} ${tip[1].toFixed(1)}L${wing(-1)}`} />
    </>
  );
}

/** `W_q`: what stands behind the sign is set low. */
function Says({ text }: { text: string }): JSX.Element {
  return <>{text.split(/(_\w)/).map((part, k) => (part.startsWith('_') ? [<tspan key={k} dy="3" font-size="11">{part.slice(1)}</tspan>, <tspan key={`${k}b`} dy="-3">{'\u200b'}</tspan>] : part))}</>;
}

function Box({ node, at, size }: { node: Node; at: Point; size: string }): JSX.Element {
  return (
    <g>
      <rect x={at[0] - HALF[0]} y={at[1] - HALF[1]} width={2 * HALF[0]} height={2 * HALF[1]} rx="3" />
      <text class="symbol" x={at[0]} y={at[1] - 4} text-anchor="middle">{node.symbol}</text>
      <text class="size" x={at[0]} y={at[1] + 16} text-anchor="middle">{size}</text>
    </g>
  );
}

function Drawing({ kind, sizes }: { kind: 'wide' | 'tall'; sizes: (node: Node) => string }): JSX.Element {
  const place = (id: string): Point => NODES.find((n) => n.id === id)![kind];
  const box = kind === 'wide' ? '0 0 1190 300' : '0 0 300 800';
  return (
    <svg class={`flowpic ${kind}`} viewBox={box} role="img" aria-label="The tokens X make queries Q, keys K and values V. Queries and keys make the scores S, scaled and masked; softmax makes the weights P. Weights and values make O, then the logits, then, with the targets, the loss. Gradients go back along every arrow, dashed; three of them meet in X.">
      {EDGES.map((e) => {
        const a = place(e.from), b = place(e.to), middle: Point = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2], d = e[kind] ?? [0, 0];
        return (
          <g key={`${e.from}${e.to}`}>
            <Arrow from={a} to={b} back={false} />
            <Arrow from={a} to={b} back />
            {e.says === undefined ? null : (kind === 'tall' ? e.says.split(', ') : [e.says]).map((line, k) => (
              <text key={line} class="says" x={middle[0] + d[0]} y={middle[1] + d[1] + 16 * k} text-anchor="middle"><Says text={line} /></text>))}
          </g>
        );
      })}
      {NODES.map((n) => <Box key={n.id} node={n} at={n[kind]} size={sizes(n)} />)}
    </svg>
  );
}

export function FlowPicture({ shapes }: { shapes: Shapes }): JSX.Element {
  const size = (n: Node): string => (n.letters === '' ? 'one number' : `(${(shapes[n.id] ?? []).join(', ')})`);
  return (
    <>
      <Drawing kind="wide" sizes={size} />
      <Drawing kind="tall" sizes={size} />
      <p class="cap flowkey"><i class="go" /> forward <i class="back" /> the gradients' way back. Under each symbol its shape, as the run had it.</p>
    </>
  );
}
