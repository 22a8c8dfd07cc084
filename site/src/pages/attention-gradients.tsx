/* attention-gradients.tsx -- where the results of the backward pass go: the gradient of
 * every parameter and of the input, with its numbers, its line and its equation. */
import type { JSX } from 'preact';
import { defineIsland } from '../components/island';
import { fmt } from '../components/numbers';
import { Scroll } from '../components/Scroll';
import { Tex } from '../components/Tex';
import type { Tensor } from '../engine/types';
import { differentiable, need, runAttention, type AttentionRun } from './attention-run';
import '../style/blocks.css';

interface Link {
  readonly equation: string | null;
  /** "attention_example.c:74" and its address. */
  readonly line: string;
  readonly href: string;
}
interface Props {
  /** By label; written at build. */
  readonly links?: Readonly<Record<string, Link>>;
}

function Numbers({ t }: { t: Tensor }): JSX.Element {
  const columns = t.shape[t.shape.length - 1] ?? 1, rows = t.data.length / columns;
  return (
    <table class="numbers" aria-label={`Numbers of ${t.name}`}>
      <tbody>
        {Array.from({ length: rows }, (_, r) => (
          <tr key={r}>
            {Array.from({ length: columns }, (_unused, c) => (
              <td key={c} data-t={t.name} data-i={t.shape.length === 1 ? String(c) : `${r},${c}`}>{fmt(t.data[r * columns + c] as number)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function View({ props, loaded }: { props: Props; loaded: AttentionRun }): JSX.Element {
  return (
    <div data-source="example"><Scroll label="Gradients of the parameters and of the input">
      <table class="data stack">
        <caption class="vh">Gradients of the parameters and of the input</caption>
        <thead><tr><th scope="col">Gradient</th><th scope="col">Goes to</th><th scope="col">Shape</th><th scope="col">Its numbers</th><th scope="col">Computed by</th></tr></thead>
        <tbody>
          {differentiable.map(({ name, tex, label, what }) => {
            const t = need(loaded.tensors, `d${name}`), link = props.links?.[label];
            return (
              <tr key={name}>
                <th scope="row"><Tex tex={`\\mathrm{d}${tex}`} /><span class="vh">d{name}</span></th>
                <td>{name === 'Xn' ? 'LayerNorm, and on to the blocks before' : `the ${what}, at the next step of training`}</td>
                <td class="nw">({t.shape.join(', ')})</td>
                <td><Numbers t={t} /></td>
                <td>
                  {link?.equation ? <a class="lbl" href={link.equation}>{label}</a> : <code>{label}</code>}
                  {link && <><br /><a class="src" href={link.href}>{link.line}</a></>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll></div>
  );
}

export const island = defineIsland<Props, AttentionRun>({
  prepare: (props, site) => {
    const links: Record<string, Link> = {};
    for (const { label } of differentiable) {
      const lines = site.map.labels[label]?.lines ?? [];
      const at = lines.find((l) => l.file.endsWith('attention_example.c')) ?? lines[0];
      if (!at) throw new Error(`attention-gradients: no line of C carries the label ${label}`);
      links[label] = { equation: site.equationHref(label), line: `${at.file.split('/').pop()}:${at.line}`, href: site.lineHref(at.file, at.line) };
    }
    return { ...props, links };
  },
  load: async (_, engine) => runAttention(engine),
  view: View,
  inert: true,
});
