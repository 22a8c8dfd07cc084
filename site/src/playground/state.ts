/* state.ts -- what the visitor chose in the playground, and its address.
 *
 *   #play?text=...&layer=1&head=0&token=5&cell=5,2&t=0.8&k=40&p=0.95&seed=7&drawn=20
 *
 * `#play` alone asks for the model at once.  Only what differs from the start is
 * written.  What is not understood is left out, with a note: never an error.
 */
import type { Filters } from '../engine/types';

export interface Play {
  /** Null: the text that the model was exported with. */
  readonly text: string | null;
  readonly layer: number;
  readonly head: number;
  /** The token that reads, and the one that is read; null: the last one, and the one that it reads most. */
  readonly token: number | null;
  readonly read: number | null;
  readonly temperature: number;
  /** 0: off. */
  readonly topK: number;
  readonly topP: number;
  readonly seed: number;
  /** Tokens that were drawn with these settings from this text. */
  readonly drawn: number;
}

export const START: Play = { text: null, layer: 0, head: 0, token: null, read: null, temperature: 0.8, topK: 40, topP: 0.95, seed: 0, drawn: 0 };
export const LIMITS = { temperature: 2, topK: 100, seed: 2 ** 31 - 1, drawn: 1000, text: 2000 } as const;

export const filtersOf = (s: Play): Filters => ({ temperature: s.temperature, topK: s.topK, topP: s.topP });

const PREFIX = '#play';
type Key = 'text' | 'layer' | 'head' | 'token' | 'cell' | 't' | 'k' | 'p' | 'seed' | 'drawn';

/** A long text stays out of the address; the page says so. */
export function formatPlay(s: Play): string {
  const parts: string[] = [];
  const put = (key: Key, value: string, plain = false): void => { parts.push(`${key}=${plain ? value : encodeURIComponent(value)}`); };
  const number = (key: Key, value: number, start: number): void => { if (value !== start) put(key, String(value)); };
  if (s.text !== null && s.text.length <= LIMITS.text) put('text', s.text);
  number('layer', s.layer, START.layer);
  number('head', s.head, START.head);
  if (s.token !== null) put('token', String(s.token));
  if (s.token !== null && s.read !== null) put('cell', `${s.token},${s.read}`, true);
  number('t', s.temperature, START.temperature);
  number('k', s.topK, START.topK);
  number('p', s.topP, START.topP);
  number('seed', s.seed, START.seed);
  number('drawn', s.drawn, START.drawn);
  return parts.length ? `${PREFIX}?${parts.join('&')}` : PREFIX;
}

const integer = (text: string, most: number): number | null => (/^\d{1,10}$/.test(text) && Number(text) <= most ? Number(text) : null);
const real = (text: string, least: number, most: number): number | null => {
  const x = /^\d(\.\d{1,4})?$/.test(text) ? Number(text) : NaN;
  return x >= least && x <= most ? x : null;
};
const change = <K extends keyof Play>(key: K, value: Play[K] | null): Partial<Play> | null => (value === null ? null : { [key]: value });
const INDEX = 99_999;

const READERS: Readonly<Record<Key, (value: string) => Partial<Play> | null>> = {
  text: (v) => (v.length <= LIMITS.text ? { text: v } : null),
  layer: (v) => change('layer', integer(v, INDEX)),
  head: (v) => change('head', integer(v, INDEX)),
  token: (v) => change('token', integer(v, INDEX)),
  cell: (v) => {
    const [row, column] = v.split(',').map((n) => integer(n, INDEX));
    return row === undefined || column === undefined || row === null || column === null || v.split(',').length !== 2 ? null : { token: row, read: column };
  },
  t: (v) => change('temperature', real(v, 0, LIMITS.temperature)),
  k: (v) => change('topK', integer(v, LIMITS.topK)),
  p: (v) => change('topP', real(v, 0, 1)),
  seed: (v) => change('seed', integer(v, LIMITS.seed)),
  drawn: (v) => change('drawn', integer(v, LIMITS.drawn)),
};

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replace(/\+/g, ' '));
  } catch {
    return null;
  }
}

export interface ParsedPlay {
  readonly state: Play;
  readonly notes: readonly string[];
}

/** Null where the fragment is not the playground's. */
export function parsePlay(fragment: string): ParsedPlay | null {
  if (fragment !== PREFIX && !fragment.startsWith(`${PREFIX}?`)) return null;
  const notes: string[] = [];
  let state = START;
  for (const part of fragment.slice(PREFIX.length + 1).split('&').filter((p) => p !== '')) {
    const cut = part.indexOf('=');
    const key = cut < 0 ? part : part.slice(0, cut);
    const reader = Object.hasOwn(READERS, key) ? READERS[key as Key] : undefined;
    const value = cut < 0 ? null : decode(part.slice(cut + 1));
    const found = reader && value !== null ? reader(value) : null;
    if (found) state = { ...state, ...found };
    else notes.push(part.slice(0, 40));
  }
  return { state, notes };
}

/** The choice within a model's sizes and a text's tokens. */
export function settlePlay(s: Play, L: number, NH: number, T: number): Play {
  const token = s.token === null || s.token >= T ? null : s.token;
  return { ...s, layer: Math.min(s.layer, L - 1), head: Math.min(s.head, NH - 1), token, read: token === null || s.read === null || s.read >= T ? null : s.read };
}
