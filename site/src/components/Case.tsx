/* Case.tsx -- a glass case: a thin frame with the source of its numbers written on it. */
import type { ComponentChildren, JSX } from 'preact';
import { sourceWords, type Source } from './content';

/** The words on the frame. A filled dot: read from a trained model; a ring: computed from inputs made for the purpose. */
export function Tag({ source, note, edited = false }: { source: Source; note?: string; edited?: boolean }): JSX.Element {
  const name = edited ? 'tag is-edit' : source === 'model' || source === 'measured' ? 'tag is-real' : 'tag';
  return <span class={name}>{sourceWords[source]}{edited ? ', edited' : ''}{note === undefined ? null : <small>{note}</small>}</span>;
}

/** `small` for a case inside a concept. */
export function Case({ source, note, edited, small = false, id, label, children }: {
  source: Source; note?: string; edited?: boolean; small?: boolean; id?: string; label?: string; children: ComponentChildren;
}): JSX.Element {
  return (
    <section class={small ? 'case small' : 'case'} data-source={source} id={id} aria-label={label ?? sourceWords[source]}>
      <Tag source={source} note={note} edited={edited} />
      {children}
    </section>
  );
}

/** Turns the tag of the case around a live part to "edited" and back: that tag is the page's, not the part's. */
export function markEdited(inside: Element, edited: boolean): void {
  const tag = inside.closest('.case')?.querySelector(':scope > .tag');
  if (!tag || tag.classList.contains('is-edit') === edited) return;
  tag.classList.toggle('is-edit', edited);
  if (edited) tag.append(', edited');
  else tag.lastChild?.remove();
}
