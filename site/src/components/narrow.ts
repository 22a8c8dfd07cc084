/* narrow.ts -- true where the page is as narrow as a phone.
 *
 * The first render has no document and says false, at build and in the browser alike;
 * the answer comes right after, and again when the window changes.
 */
import { useEffect, useState } from 'preact/hooks';

export const NARROW = '(max-width: 560px)';

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
