/* theme-button.ts -- the button that overrides the system's theme. Its word is the theme it leads to. */

const system = matchMedia('(prefers-color-scheme: dark)');

function isDark(): boolean {
  const chosen = document.documentElement.dataset['theme'];
  return chosen === undefined ? system.matches : chosen === 'dark';
}

export function startThemeButton(): void {
  const button = document.getElementById('theme');
  if (!button) return;
  const show = (): void => {
    button.textContent = isDark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', isDark() ? 'Light theme' : 'Dark theme');
  };
  button.addEventListener('click', () => {
    const next = isDark() ? 'light' : 'dark';
    document.documentElement.dataset['theme'] = next;
    try {
      localStorage.setItem('vitrine-theme', next);
    } catch {
      // Storage is refused: the choice lasts for this page.
    }
    show();
  });
  system.addEventListener('change', show);
  show();
  button.hidden = false;
}
