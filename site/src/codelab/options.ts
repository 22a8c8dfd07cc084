/* options.ts -- what the visitor has drawn: one choice for every part of the page, so
 * that no two parts show numbers of different draws. */
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { LabOptions } from '../engine/types';
import { FIRST } from '../examples/codelab';

type Listener = (options: LabOptions) => void;
const listeners = new Set<Listener>();
let current: LabOptions = FIRST;

/** The first view is always that of the HTML; what was chosen before this part woke comes right after. */
export function useOptions(): readonly [LabOptions, (next: LabOptions) => void] {
  const [options, setOptions] = useState(FIRST);
  useEffect(() => {
    setOptions(current);
    listeners.add(setOptions);
    return () => { listeners.delete(setOptions); };
  }, []);
  const choose = useCallback((next: LabOptions): void => {
    current = next;
    for (const listener of listeners) listener(next);
  }, []);
  return [options, choose];
}

/** Reads a seed: null where it is none. */
export function parseSeed(text: string): number | null {
  const plain = text.trim();
  const seed = Number(plain);
  return /^[0-9]+$/.test(plain) && Number.isSafeInteger(seed) ? seed : null;
}
