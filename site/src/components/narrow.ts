/* narrow.ts -- what a view learns only in the browser, after its first render.
 *
 * The first render has no document and says false, at build and in the browser alike;
 * the answer comes right after.
 */
import { useEffect, useState } from 'preact/hooks';

export const NARROW = '(max-width: 560px)';

/** True where the page is as narrow as a phone. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(false);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const listen = (): void => setNarrow(query.matches);
    listen();
    query.addEventListener('change', listen);
    return () => query.removeEventListener('change', listen);
  }, []);
  return narrow;
}

/** True once the view answers: what serves only that stays out of the page's HTML. */
export function useLive(): boolean {
  const [live, setLive] = useState(false);
  useEffect(() => setLive(true), []);
  return live;
}
