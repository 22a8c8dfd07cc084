/* Digits.tsx -- a number in full beside the one that it should be: digits from the first
 * that differs on are marked. */
import type { JSX } from 'preact';
import { full } from './numbers';

/** How many leading signs two texts share. */
export function sharedLength(a: string, b: string): number {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
}

/** `value` in full; with `like`, what differs from it is marked. */
export function Digits({ value, like }: { value: number; like?: number }): JSX.Element {
  const text = full(value);
  if (like === undefined) return <span class="v">{text}</span>;
  const shared = sharedLength(text, full(like));
  return (
    <span class="v">
      {text.slice(0, shared)}
      {shared < text.length && <u>{text.slice(shared)}</u>}
    </span>
  );
}
