/* theme.ts -- runs before the page is drawn: the theme that the visitor chose last. No imports: it is a small script of its own. */
try {
  const chosen = localStorage.getItem('vitrine-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen;
} catch {
  // Storage is refused: the theme follows the system.
}
