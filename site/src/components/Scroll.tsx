/* Scroll.tsx -- a box for a wide table: it scrolls by itself, and the keyboard reaches it. */
import type { ComponentChildren, JSX } from 'preact';

/** `label` names the box; it is unlike any other on the page. */
export function Scroll({ label, live = false, children }: { label: string; live?: boolean; children: ComponentChildren }): JSX.Element {
  return <div class="tbl" tabIndex={0} role="region" aria-label={label} aria-live={live ? 'polite' : undefined}>{children}</div>;
}
