/* Part.tsx -- the frame of a part of the code lab: its heading, its words, then what it shows. */
import type { ComponentChildren, JSX } from 'preact';
import '../style/codelab.css';

export function Part({ title, words, children }: { title: ComponentChildren; words?: ComponentChildren; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="clpart">
      <h2>{title}</h2>
      {words === undefined ? null : <div class="measure">{words}</div>}
      {children}
    </div>
  );
}

/** PASS or FAIL, in words and with a sign: never by colour alone. */
export function Verdict({ pass }: { pass: boolean }): JSX.Element {
  return <b class={pass ? 'verdict pass' : 'verdict fail'}>{pass ? '\u2713 PASS' : '\u2717 FAIL'}</b>;
}
