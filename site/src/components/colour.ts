/* colour.ts -- the colour scales of heat maps, for both themes at once.
 *
 * Ramps are built in OKLCH (Ottosson 2020), where equal steps of L look like equal
 * steps of lightness; zero is the background in both themes.  A cell carries four
 * custom properties at most: the ground for light (--l) and dark (--d), and the digits on
 * it (--lf, --df), black or white, whichever has more contrast (WCAG 2.2): the
 * better of the two is never under 4.58:1.
 */
import type { Scale } from '../examples/types';

export type Rgb = readonly [number, number, number];
export type Theme = 'light' | 'dark';
type Oklch = readonly [lightness: number, chroma: number, hue: number];

const clamp = (x: number, low: number, high: number): number => Math.min(high, Math.max(low, x));

function oklch([lightness, chroma, hue]: Oklch): Rgb {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const byte = (v: number): number => {
    const u = clamp(v, 0, 1);
    return Math.round(255 * (u <= 0.0031308 ? 12.92 * u : 1.055 * u ** (1 / 2.4) - 0.055));
  };
  return [
    byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    byte(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/* Weights: cream, leaf, teal, navy in light; night, indigo, teal, straw in dark. */
const WEIGHT: Record<Theme, readonly Oklch[]> = {
  light: [[0.975, 0.012, 100], [0.85, 0.075, 145], [0.7, 0.105, 175], [0.55, 0.095, 220], [0.405, 0.105, 262], [0.27, 0.095, 280]],
  dark: [[0.235, 0.018, 265], [0.37, 0.085, 272], [0.5, 0.095, 240], [0.65, 0.105, 190], [0.8, 0.12, 145], [0.93, 0.11, 104]],
};
/* Others: blue below zero, orange above. */
const SIGNED: Record<Theme, { middle: Oklch; below: Oklch; above: Oklch }> = {
  light: { middle: [0.972, 0.004, 90], below: [0.5, 0.135, 255], above: [0.55, 0.135, 50] },
  dark: { middle: [0.245, 0.006, 250], below: [0.76, 0.115, 250], above: [0.76, 0.125, 58] },
};

/** The colour at t: 0..1 for weights, -1..1 for signed numbers; never clipped by the caller's domain. */
export function colour(scale: Scale, t: number, theme: Theme): Rgb {
  if (scale === 'weight') {
    const points = WEIGHT[theme];
    const at = clamp(t, 0, 1) * (points.length - 1);
    const k = Math.min(points.length - 2, Math.floor(at));
    const from = points[k] as Oklch;
    const to = points[k + 1] as Oklch;
    const mix = (n: 0 | 1 | 2): number => from[n] + (to[n] - from[n]) * (at - k);
    return oklch([mix(0), mix(1), mix(2)]);
  }
  const { middle, below, above } = SIGNED[theme];
  const end = t < 0 ? below : above;
  const u = Math.abs(clamp(t, -1, 1));
  return oklch([middle[0] + (end[0] - middle[0]) * u, middle[1] + (end[1] - middle[1]) * u ** 0.85, end[2]]);
}

function luminance(rgb: Rgb): number {
  const linear = (v: number): number => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
}

/** Contrast of two colours after WCAG 2.2. */
export function contrast(a: Rgb, b: Rgb): number {
  const [high, low] = [luminance(a), luminance(b)].sort((p, q) => q - p) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const hex = (rgb: Rgb): string => '#' + rgb.map((v) => v.toString(16).padStart(2, '0')).join('');
const digits = (ground: Rgb): string => (contrast(ground, [255, 255, 255]) >= contrast(ground, [0, 0, 0]) ? '#fff' : '#000');

/* Steps of a scale, finer than the eye tells apart: made once, so that a redrawn cell costs one look-up. */
const STEPS = 128;
const tables: Partial<Record<Scale, string[]>> = {};

function table(scale: Scale): string[] {
  const known = tables[scale];
  if (known) return known;
  const made = Array.from({ length: STEPS + 1 }, (_, k) => {
    const t = scale === 'weight' ? k / STEPS : (2 * k) / STEPS - 1;
    const light = colour(scale, t, 'light');
    const dark = colour(scale, t, 'dark');
    // Black digits in light and white ones in dark are the rule (figure.css): only exceptions are said.
    const onLight = digits(light) === '#000' ? '' : ';--lf:#fff', onDark = digits(dark) === '#fff' ? '' : ';--df:#000';
    return `--l:${hex(light)};--d:${hex(dark)}${onLight}${onDark}`;
  });
  tables[scale] = made;
  return made;
}

/** The style of a cell that holds t (0..1 for weights, -1..1 for signed numbers). */
export function paint(scale: Scale, t: number): string {
  if (scale === 'plain') return paint('signed', 0);
  const u = Number.isFinite(t) ? (scale === 'weight' ? clamp(t, 0, 1) : (clamp(t, -1, 1) + 1) / 2) : 0;
  return table(scale)[Math.round(u * STEPS)] as string;
}

export interface Palette {
  /** Colours in equal steps from one end of the scale to the other. */
  readonly colours: readonly string[];
  /** Black or white: digits on each. */
  readonly digits: readonly string[];
  /** The colours as bytes of red, green, blue. */
  readonly bytes: readonly Rgb[];
}
const palettes = new Map<string, Palette>();

/** The scale for a canvas, which is of one theme. */
export function palette(scale: Scale, theme: Theme): Palette {
  const known = palettes.get(scale + theme);
  if (known) return known;
  const bytes = Array.from({ length: 2 * STEPS + 1 }, (_, k) => colour(scale, scale === 'weight' ? k / (2 * STEPS) : k / STEPS - 1, theme));
  const made = { bytes, colours: bytes.map(hex), digits: bytes.map(digits) };
  palettes.set(scale + theme, made);
  return made;
}

/** The legend's ramp as a CSS gradient: it stands in style/figure.css, and a test compares. */
export function gradient(scale: Scale, theme: Theme): string {
  const stops = Array.from({ length: 17 }, (_, k) => hex(colour(scale, scale === 'weight' ? k / 16 : k / 8 - 1, theme)));
  return `linear-gradient(90deg,${stops.join(',')})`;
}

/** The largest finite magnitude: the domain of a signed scale; 1 where everything is zero. */
export function magnitude(...arrays: readonly ArrayLike<number>[]): number {
  let largest = 0;
  for (const array of arrays)
    for (let k = 0; k < array.length; k++) {
      const size = Math.abs(array[k] as number);
      if (Number.isFinite(size) && size > largest) largest = size;
    }
  return largest || 1;
}
