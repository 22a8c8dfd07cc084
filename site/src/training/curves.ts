/* curves.ts -- the curves of a run, by uPlot: loaded when one is drawn. */
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { full } from '../components/numbers';
import type { Step } from './log';

export interface Colours {
  readonly ink: string;
  readonly quiet: string;
  readonly rule: string;
  readonly first: string;
  readonly second: string;
  readonly font: string;
}
export type Quantity = 'loss' | 'rate' | 'norm';

export interface Curve {
  readonly update: (steps: readonly Step[], chosen: number) => void;
  readonly close: () => void;
}

function dataOf(quantity: Quantity, steps: readonly Step[]): uPlot.AlignedData {
  const x = steps.map((s) => s.step);
  if (quantity === 'loss') return [x, steps.map((s) => s.loss), steps.map((s) => s.validation)];
  return [x, steps.map((s) => s[quantity])];
}

/** The chosen step: a dashed line in ink. */
function drawChosen(u: uPlot, index: number, colour: string): void {
  const x = u.data[0][index];
  if (x === undefined) return;
  const at = Math.round(u.valToPos(x, 'x', true)), c = u.ctx;
  c.save();
  c.strokeStyle = colour;
  c.lineWidth = devicePixelRatio;
  c.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  c.beginPath();
  c.moveTo(at, u.bbox.top);
  c.lineTo(at, u.bbox.top + u.bbox.height);
  c.stroke();
  c.restore();
}

/** Draws into `place`, and follows its width. `onChoose` is told the index of the step that was clicked. */
export function drawCurve(place: HTMLElement, quantity: Quantity, colours: Colours, start: readonly Step[], chosen: number, onChoose: (index: number) => void): Curve {
  let index = chosen;
  const font = `12px ${colours.font}`;
  const tick = (v: number): string => full(Number(v.toPrecision(3)));
  const axis = (size: number): uPlot.Axis => ({ stroke: colours.quiet, font, size, grid: { stroke: colours.rule, width: 1 }, ticks: { stroke: colours.rule, width: 1 }, values: (_, splits) => splits.map(tick) });
  const line = (stroke: string, more: Partial<uPlot.Series> = {}): uPlot.Series => ({ stroke, width: 1.5, points: { show: false }, ...more });
  const u = new uPlot({
    width: Math.max(200, place.clientWidth), height: 190, pxAlign: 1,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: false } },
    axes: [{ ...axis(30), space: 70 }, axis(64)],
    series: [{}, line(colours.first), ...(quantity === 'loss' ? [line(colours.second, { spanGaps: true, dash: [6, 4], points: { show: true, size: 7, fill: colours.second } })] : [])],
    hooks: {
      draw: [(plot) => drawChosen(plot, index, colours.ink)],
    },
  }, dataOf(quantity, start), place);
  const click = (): void => { if (typeof u.cursor.idx === 'number') onChoose(u.cursor.idx); };
  u.over.addEventListener('click', click);
  const watch = new ResizeObserver(() => {
    if (place.clientWidth > 0 && place.clientWidth !== u.width) u.setSize({ width: place.clientWidth, height: 190 });
  });
  watch.observe(place);
  let drawn = start;
  return {
    update: (steps, now) => {
      index = now;
      if (steps === drawn) u.redraw(false);
      else u.setData(dataOf(quantity, steps));
      drawn = steps;
    },
    close: () => { watch.disconnect(); u.destroy(); },
  };
}
