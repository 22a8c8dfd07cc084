/* svg.ts -- a heat map as a picture of its own: SVG, and PNG by way of it.
 *
 * Tokens come from a corpus or a visitor: they are text of the picture, escaped here,
 * never markup.  The picture carries the words of its source.
 */
import { colour, contrast, type Rgb, type Theme } from '../components/colour';
import { fmt, short } from '../components/numbers';
import type { Scale } from '../examples/types';

export interface Picture {
  readonly title: string;
  readonly source: string;
  readonly data: ArrayLike<number>;
  readonly rows: number;
  readonly columns: number;
  readonly scale: Scale;
  readonly domain: number;
  readonly rowLabels: readonly string[];
  readonly columnLabels: readonly string[];
  readonly rowAxis: string;
  readonly columnAxis: string;
  readonly masked: (row: number, column: number) => boolean;
  readonly chosen: readonly [number, number];
}

type Node = string | readonly [tag: string, attributes: Readonly<Record<string, string | number>>, ...children: Node[]];

/** Text of XML; characters that XML 1.0 cannot hold become U+FFFD. */
export function escapeXml(text: string): string {
  return text
    // eslint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c] as string);
}

function serialise(node: Node): string {
  if (typeof node === 'string') return escapeXml(node);
  const [tag, attributes, ...children] = node;
  const written = Object.entries(attributes).map(([k, v]) => ` ${k}="${escapeXml(String(v))}"`).join('');
  return `<${tag}${written}>${children.map(serialise).join('')}</${tag}>`;
}

const css = (c: Rgb): string => `rgb(${c.join(',')})`;
const INK: Record<Theme, { paper: string; ink: string; quiet: string; hatch: string; ground: string }> = {
  light: { paper: '#ffffff', ink: '#1a1c20', quiet: '#494d55', hatch: '#83878d', ground: '#f1f0ec' },
  dark: { paper: '#191c1f', ink: '#e9e7e2', quiet: '#b7b9bc', hatch: '#666c72', ground: '#1d2023' },
};

/** The picture as SVG text. */
export function toSvg(p: Picture, theme: Theme): { readonly text: string; readonly width: number; readonly height: number } {
  const cell = p.columns > 8 || p.rows > 8 ? 32 : 56;
  const dense = cell < 44;
  const left = 40 + Math.min(140, 8 * Math.max(1, ...p.rowLabels.map((t) => t.length)));
  const top = dense ? 130 : 84;
  const width = left + p.columns * cell + 24;
  const height = top + p.rows * cell + 44;
  const ink = INK[theme];
  const cells: Node[] = [];
  for (let r = 0; r < p.rows; r++)
    for (let c = 0; c < p.columns; c++) {
      const x = p.data[r * p.columns + c] as number;
      const masked = p.masked(r, c);
      const ground = colour(p.scale, x / p.domain, theme);
      const digits = contrast(ground, [255, 255, 255]) >= contrast(ground, [0, 0, 0]) ? '#fff' : '#000';
      const text = dense ? (masked ? '' : short(x, p.scale === 'weight')) : fmt(x, 3);
      cells.push(['g', {},
        ['title', {}, `${p.rowLabels[r] ?? r}, ${p.columnLabels[c] ?? c}: ${masked ? 'masked, ' : ''}${fmt(x, 4)}`],
        ['rect', { x: left + c * cell, y: top + r * cell, width: cell, height: cell, fill: masked ? 'url(#hatch)' : css(ground) }],
        ['text', { x: left + (c + 0.5) * cell, y: top + (r + 0.5) * cell + 4, 'text-anchor': 'middle', 'font-size': dense ? 11 : 13, fill: masked ? ink.ink : digits }, text]]);
    }
  const rowNames: Node[] = Array.from({ length: p.rows }, (_, r) => ['text',
    { x: left - 8, y: top + (r + 0.5) * cell + 4, 'text-anchor': 'end', 'font-size': 13, fill: ink.ink }, p.rowLabels[r] ?? String(r)]);
  const columnNames: Node[] = Array.from({ length: p.columns }, (_, c) => {
    const x = left + (c + 0.5) * cell;
    const turn: Record<string, string | number> = dense ? { transform: `rotate(-90 ${x + 4} ${top - 8})`, x: x + 4, 'text-anchor': 'start' } : { x, 'text-anchor': 'middle' };
    return ['text', { ...turn, y: top - 8, 'font-size': 13, fill: ink.ink }, p.columnLabels[c] ?? String(c)];
  });
  const root: Node = ['svg', { xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${width} ${height}`, 'font-family': 'sans-serif', role: 'img' },
    ['title', {}, `${p.title}. ${p.source}`],
    ['defs', {}, ['pattern', { id: 'hatch', width: 8, height: 8, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
      ['rect', { width: 8, height: 8, fill: ink.ground }], ['rect', { width: 1, height: 8, fill: ink.hatch }]]],
    ['rect', { width, height, fill: ink.paper }],
    ['text', { x: 16, y: 24, 'font-size': 16, fill: ink.ink }, p.title],
    ['text', { x: left, y: 46, 'font-size': 12, fill: ink.quiet }, p.columnAxis],
    ['text', { x: 20, y: top + (p.rows * cell) / 2, 'font-size': 12, fill: ink.quiet, 'text-anchor': 'middle', transform: `rotate(-90 20 ${top + (p.rows * cell) / 2})` }, p.rowAxis],
    ...columnNames, ...rowNames, ...cells,
    /* Last, so that no neighbour covers it. */
    ['rect', { x: left + p.chosen[1] * cell, y: top + p.chosen[0] * cell, width: cell, height: cell, fill: 'none', stroke: ink.ink, 'stroke-width': 2 }],
    ['text', { x: 16, y: height - 14, 'font-size': 12, fill: ink.quiet }, p.source]];
  return { text: serialise(root), width, height };
}

/** The same picture in pixels, twice as fine. */
export async function toPng(svg: { readonly text: string; readonly width: number; readonly height: number }): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([svg.text], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = 2 * svg.width;
    canvas.height = 2 * svg.height;
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the browser made no PNG'))), 'image/png'));
  } finally {
    URL.revokeObjectURL(url);
  }
}

export function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
