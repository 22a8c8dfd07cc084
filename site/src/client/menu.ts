/* menu.ts -- the contents menu closes on Escape, on a click elsewhere, and when focus leaves it. */

export function startMenu(): void {
  const menu = document.querySelector<HTMLDetailsElement>('details.menu');
  if (!menu) return;
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && menu.open) {
      menu.open = false;
      menu.querySelector('summary')?.focus();
    }
  });
  document.addEventListener('click', (event) => {
    if (!menu.contains(event.target as Node)) menu.open = false;
  });
  menu.addEventListener('focusout', (event) => {
    if (event.relatedTarget !== null && !menu.contains(event.relatedTarget as Node)) menu.open = false;
  });
}
