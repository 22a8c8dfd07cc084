/* tokenizer-training.tsx -- a tokenizer trained in the page: its merges with their counts, and the text
 * after each of them. Training and encoding are the C code's. */
import { useMemo, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { defineIsland } from '../components/island';
import { visible } from '../components/Tokens';
import type { Engine } from '../engine/types';
import { tokenizerText } from '../examples/tokenizer';
import '../style/ledger.css';
import '../style/textlab.css';

const SPECIAL = ['<|endoftext|>'];
/** Longest training text, and the most merges. */
const MOST_TEXT = 20000, MOST_MERGES = 200, FIRST_MERGES = 12;
/** Tokens of the text that are drawn. */
const SHOWN = 300;

interface Merge { readonly left: string; readonly right: string; readonly made: string; readonly id: number; readonly count: number }
interface Trained {
  readonly pairs: Int32Array;
  readonly merges: readonly Merge[];
}
interface After {
  readonly tokens: readonly string[];
  readonly ids: Int32Array;
}

function train(engine: Engine, text: string, most: number): Trained {
  const { merges: pairs, counts } = engine.trainTokenizer(text, most);
  const tokenizer = engine.openTokenizer(pairs, SPECIAL);
  try {
    const name = (id: number): string => visible(tokenizer.bytes(id));
    return { pairs, merges: Array.from(counts, (count, r) => ({ left: name(pairs[2 * r]!), right: name(pairs[2 * r + 1]!), made: name(256 + r), id: 256 + r, count })) };
  } finally {
    tokenizer.close();
  }
}

/** The text after the first k merges. */
function after(engine: Engine, pairs: Int32Array, text: string, k: number): After {
  const tokenizer = engine.openTokenizer(pairs.slice(0, 2 * k), SPECIAL);
  try {
    const ids = tokenizer.encode(text);
    return { ids, tokens: Array.from(ids.slice(0, SHOWN), (id) => visible(tokenizer.bytes(id))) };
  } finally {
    tokenizer.close();
  }
}

interface Loaded { readonly trained: Trained; readonly after: After }
const START = 3;

function View({ loaded, engine }: { loaded: Loaded; engine: Engine }): JSX.Element {
  const [text, setText] = useState(tokenizerText.corpus);
  const [most, setMost] = useState(FIRST_MERGES);
  const [watched, watch] = useState(START);
  const first = text === tokenizerText.corpus && most === FIRST_MERGES;
  const trained = useMemo(() => (first ? loaded.trained : train(engine, text, most)), [first, text, most, engine, loaded]);
  const k = Math.min(watched, trained.merges.length);
  const now = useMemo(() => (first && k === START ? loaded.after : after(engine, trained.pairs, text, k)), [first, trained, text, k, engine, loaded]);
  const bytes = useMemo(() => new TextEncoder().encode(text).length, [text]);
  const newest = trained.merges[k - 1];
  return (
    <div class="textlab">
      <label class="fld"><span class="fl">Training text</span>
        <textarea rows={4} maxLength={MOST_TEXT} value={text} spellcheck={false} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      <div class="tool" style="margin-top:16px">
        <label class="fld wide"><span class="fl">At most <b>{most}</b> merges</span>
          <input type="range" min="0" max={MOST_MERGES} step="1" value={most} aria-valuetext={`${most} merges`} onInput={(e) => setMost(Number(e.currentTarget.value))} />
        </label>
        <label class="fld wide"><span class="fl">Watch the text after <b>{k}</b> of them</span>
          <input type="range" min="0" max={trained.merges.length} step="1" value={k} aria-valuetext={`after ${k} merges`} onInput={(e) => watch(Number(e.currentTarget.value))} />
        </label>
      </div>
      <p class="pieces" tabIndex={0} role="region" aria-label="Tokens of the training text">{now.tokens.map((t, i) => <span key={i} class={newest && now.ids[i] === newest.id ? 'new' : undefined}>{t}</span>)}</p>
      <p class="facts" aria-live="polite">
        <b data-t="training" data-i="tokens">{now.ids.length}</b> tokens for <b data-t="training" data-i="bytes">{bytes}</b> bytes
        {newest && <>; the newest merge, marked, made <span class="ws">{newest.made}</span> of <span class="ws">{newest.left}</span> and <span class="ws">{newest.right}</span></>}
        {trained.merges.length < most && <>. No pair occurs twice any more: training stopped after <b>{trained.merges.length}</b> merges</>}
      </p>
      <h4>Merges</h4>
      <div class="box" tabIndex={0} role="region" aria-label="Merges in the order in which they were learned">
        <table class="led" aria-label="Merges in the order in which they were learned">
          <thead><tr><td /><th scope="col">left</th><th scope="col">right</th><th scope="col">makes</th><th scope="col">id</th><th scope="col">count</th></tr></thead>
          <tbody>
            {trained.merges.map((m, r) => (
              <tr key={r} class={r === k - 1 ? 'me' : ''}>
                <th class="r" scope="row">merge {r}</th><td class="tok">{m.left}</td><td class="tok">{m.right}</td><td class="tok">{m.made}</td><td>{m.id}</td><td data-t="training" data-i={`count,${r}`}>{m.count}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

export const island = defineIsland<Record<string, never>, Loaded>({
  load: async (_, engine) => {
    const trained = train(engine, tokenizerText.corpus, FIRST_MERGES);
    return { trained, after: after(engine, trained.pairs, tokenizerText.corpus, START) };
  },
  view: View,
});
