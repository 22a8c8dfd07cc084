/* shown-theme.ts -- the theme that is shown, for what is painted and not styled. */
import { useEffect, useState } from 'preact/hooks';
import type { Theme } from './colour';

export function themeNow(): Theme {
  const forced = document.documentElement.dataset.theme;
  if (forced === 'dark' || forced === 'light') return forced;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

/** The theme that is shown, also after it changes. */
export function useTheme(): Theme {
  const [theme, setTheme] = useState<Theme>('light');
  useEffect(() => {
    const read = (): void => setTheme(themeNow());
    read();
    const query = matchMedia('(prefers-color-scheme: dark)');
    query.addEventListener('change', read);
    const watch = new MutationObserver(read);
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => { query.removeEventListener('change', read); watch.disconnect(); };
  }, []);
  return theme;
}
