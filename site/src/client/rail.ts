/* rail.ts -- marks in "on this page" the section that is being read. */

export function startRail(): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.rail a')];
  const sections = links.map((a) => document.getElementById(decodeURIComponent(a.hash.slice(1))));
  if (links.length === 0) return;
  let waiting = false;
  const mark = (): void => {
    waiting = false;
    let current = 0;
    sections.forEach((s, i) => {
      if (s && s.getBoundingClientRect().top <= innerHeight / 3) current = i;
    });
    links.forEach((a, i) => (i === current ? a.setAttribute('aria-current', 'true') : a.removeAttribute('aria-current')));
  };
  addEventListener('scroll', () => {
    if (!waiting) requestAnimationFrame(mark);
    waiting = true;
  }, { passive: true });
  mark();
}
