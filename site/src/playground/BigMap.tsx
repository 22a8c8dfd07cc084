/* BigMap.tsx -- the attention weights of one head, large: rows read, columns are read.
 *
 * A window may have hundreds of tokens, so the cells are painted on a canvas.  For the
 * keyboard and for readers of the screen it is a grid with one tab stop; of its cells
 * only the chosen one stands in the document, with its place among all.
 */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { palette, type Theme } from '../components/colour';
import { gridKey } from '../components/grid-keys';
import { useTheme } from '../components/shown-theme';
import { fmt, short } from '../components/numbers';

export interface BigMapProps {
  readonly label: string;
  readonly tokens: readonly string[];
  /** (T, T) */
  readonly weights: Float32Array;
  readonly row: number;
  readonly column: number;
  readonly onChoose: (row: number, column: number) => void;
}

const LABELS = 74;
const DIGITS_FROM = 20;
const NAMES_FROM = 13;

/** Cell size, and where the cells begin. */
interface Plan {
  readonly size: number;
  readonly left: number;
  readonly top: number;
}

function planOf(width: number, T: number): Plan {
  const left = width < 420 ? 54 : LABELS;
  const fit = (width - left - 2) / T;
  return { size: Math.min(34, fit >= 3 ? Math.floor(fit) : fit), left, top: left };
}

const cut = (token: string, width: number): string => (token.length * 7.3 > width ? `${[...token].slice(0, Math.max(1, Math.floor(width / 7.3) - 1)).join('')}\u2026` : token);

function paintCells(c: CanvasRenderingContext2D, p: BigMapProps, plan: Plan, theme: Theme): void {
  const T = p.tokens.length, { colours, digits } = palette('weight', theme), steps = colours.length - 1;
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  c.font = '400 11px DejaVu Sans Condensed, sans-serif';
  for (let row = 0; row < T; row++)
    for (let column = 0; column <= row; column++) {
      const weight = p.weights[row * T + column] as number;
      const step = Math.round(Math.min(1, Math.max(0, weight)) * steps);
      const x = plan.left + column * plan.size, y = plan.top + row * plan.size;
      c.fillStyle = colours[step] as string;
      c.fillRect(x, y, plan.size + (plan.size < 3 ? 0.5 : 0), plan.size + (plan.size < 3 ? 0.5 : 0));
      if (plan.size < DIGITS_FROM) continue;
      const text = short(weight, true);
      if (text === '') continue;
      c.fillStyle = digits[step] as string;
      c.fillText(text, x + plan.size / 2, y + plan.size / 2 + 0.5);
    }
}

function paintNames(c: CanvasRenderingContext2D, p: BigMapProps, plan: Plan, ink: string): void {
  const all = plan.size >= NAMES_FROM;
  c.fillStyle = ink;
  c.textBaseline = 'middle';
  p.tokens.forEach((token, k) => {
    const middle = plan.top + (k + 0.5) * plan.size;
    if (all || k === p.row) {
      c.textAlign = 'right';
      c.font = `${k === p.row ? 700 : 400} 12px Liberation Mono, DejaVu Sans Mono, monospace`;
      c.fillText(cut(token, plan.left - 8), plan.left - 6, middle);
    }
    if (all || k === p.column) {
      c.save();
      c.translate(plan.left + (k + 0.5) * plan.size, plan.top - 6);
      c.rotate(-Math.PI / 2);
      c.textAlign = 'left';
      c.font = `${k === p.column ? 700 : 400} 12px Liberation Mono, DejaVu Sans Mono, monospace`;
      c.fillText(cut(token, plan.top - 8), 0, 0);
      c.restore();
    }
  });
}

function draw(canvas: HTMLCanvasElement, p: BigMapProps, plan: Plan, width: number, height: number, theme: Theme): void {
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const c = canvas.getContext('2d');
  if (!c) return;
  c.scale(scale, scale);
  c.clearRect(0, 0, width, height);
  paintCells(c, p, plan, theme);
  paintNames(c, p, plan, getComputedStyle(canvas).color);
}

/** The width that there is. */
function useWidth(of: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = of.current;
    if (!element) return undefined;
    const read = (): void => setWidth(element.clientWidth);
    read();
    const watch = new ResizeObserver(read);
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return width;
}

export function BigMap(p: BigMapProps): JSX.Element {
  const theme = useTheme();
  const room = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(room);
  const T = p.tokens.length, plan = planOf(width, T);
  const side = T * plan.size;
  useLayoutEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, p, plan, plan.left + side + 1, plan.top + side + 1, theme);
  }, [p.weights, p.tokens, p.row, p.column, width, theme]);

  const cellAt = (event: MouseEvent): void => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const at = (v: number): number => Math.min(T - 1, Math.max(0, Math.floor(v / plan.size)));
    p.onChoose(at(event.clientY - box.top), at(event.clientX - box.left));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = gridKey(event, p.row, p.column, T, T);
    if (!next) return;
    event.preventDefault();
    p.onChoose(next[0], next[1]);
  };
  const masked = p.column > p.row, weight = p.weights[p.row * T + p.column] as number;
  return (
    <div class="bigwrap" ref={room}>
      <div class="bigmap" style={`width:${plan.left + side + 1}px;height:${plan.top + side + 1}px`}>
        <div class="bighatch" style={`left:${plan.left}px;top:${plan.top}px;width:${side}px;height:${side}px`} />
        <canvas ref={canvas} aria-hidden="true" style={`width:${plan.left + side + 1}px;height:${plan.top + side + 1}px`} />
        <div class="biggrid" role="grid" tabIndex={0} aria-label={p.label} aria-rowcount={T} aria-colcount={T} aria-activedescendant="bigcell"
          style={`left:${plan.left}px;top:${plan.top}px;width:${side}px;height:${side}px`} onClick={cellAt} onKeyDown={onKeyDown}>
          <div class="bigrow" role="row" aria-rowindex={p.row + 1} style={`top:${p.row * plan.size}px;height:${plan.size}px`}>
            <div class="bigcell" id="bigcell" role="gridcell" aria-colindex={p.column + 1} aria-selected="true"
              aria-label={`${p.tokens[p.row]}, ${p.tokens[p.column]}: ${masked ? 'masked, exactly 0' : fmt(weight, 4)}`}
              style={`left:${p.column * plan.size}px;width:${plan.size}px`} />
          </div>
        </div>
      </div>
    </div>
  );
}
