/* HeadMaps.tsx -- the attention weights of all layers and heads as small multiples,
 * one scale for all: the picker of layer and head.  One tab stop, arrows choose. */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { palette, type Theme } from './colour';
import { gridKey } from './grid-keys';
import '../style/picker.css';
import { useTheme } from './shown-theme';

export interface HeadMapsProps {
  readonly label: string;
  readonly layers: number;
  readonly heads: number;
  /** Positions. */
  readonly T: number;
  /** (T, T) weights of one head. */
  readonly weights: (layer: number, head: number) => ArrayLike<number>;
  readonly layer: number;
  readonly head: number;
  readonly onChoose: (layer: number, head: number) => void;
}

/** One pixel a cell; what lies behind the mask stays transparent. */
function draw(canvas: HTMLCanvasElement, weights: ArrayLike<number>, T: number, theme: Theme): void {
  const context = canvas.getContext('2d');
  if (!context) return;
  const image = context.createImageData(T, T);
  const { bytes } = palette('weight', theme), steps = bytes.length - 1;
  for (let row = 0; row < T; row++)
    for (let column = 0; column <= row; column++) {
      const [r, g, b] = bytes[Math.round(Math.min(1, Math.max(0, weights[row * T + column] as number)) * steps)] as readonly [number, number, number];
      const at = 4 * (row * T + column);
      image.data[at] = r;
      image.data[at + 1] = g;
      image.data[at + 2] = b;
      image.data[at + 3] = 255;
    }
  context.putImageData(image, 0, 0);
}

function Small({ weights, T, theme }: { weights: ArrayLike<number>; T: number; theme: Theme }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => { if (canvas.current) draw(canvas.current, weights, T, theme); }, [weights, T, theme]);
  return <canvas ref={canvas} width={T} height={T} aria-hidden="true" />;
}

export function HeadMaps(p: HeadMapsProps): JSX.Element {
  const theme = useTheme();
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (root.current?.contains(document.activeElement)) root.current.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  }, [p.layer, p.head]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = gridKey(event, p.layer, p.head, p.layers, p.heads);
    if (!next) return;
    event.preventDefault();
    p.onChoose(next[0], next[1]);
  };
  return (
    <div class="multi" role="grid" aria-label={p.label} style={`--heads:${p.heads}`} ref={root} onKeyDown={onKeyDown}>
      <div role="row">
        <span role="gridcell" />
        {Array.from({ length: p.heads }, (_, head) => (
          <span key={head} role="columnheader" class={`hh${head === p.head ? ' on' : ''}`} aria-label={`head ${head}`}>{head}</span>))}
      </div>
      {Array.from({ length: p.layers }, (_, layer) => (
        <div key={layer} role="row">
          <span role="rowheader" class={`ll${layer === p.layer ? ' on' : ''}`}><b>layer </b>{layer}</span>
          {Array.from({ length: p.heads }, (__, head) => {
            const on = layer === p.layer && head === p.head;
            return (
              <div key={head} role="gridcell" aria-selected={on}>
                <button type="button" class="th" tabIndex={on ? 0 : -1} aria-pressed={on} aria-label={`Layer ${layer}, head ${head}`}
                  onClick={() => p.onChoose(layer, head)}><Small weights={p.weights(layer, head)} T={p.T} theme={theme} /></button>
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}
