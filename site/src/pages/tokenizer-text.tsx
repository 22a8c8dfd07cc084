/* tokenizer-text.tsx -- the visitor's own text: words, bytes, each merge in order, ids, and the text again.
 *
 * Two tokenizers: the one of the example, learned in this page from a few sentences;
 * and that of the trained model of the lab, loaded when it is asked for, its files verified.
 */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { Case } from '../components/Case';
import { defineIsland } from '../components/island';
import { Segment } from '../components/Segment';
import { Tokens } from '../components/Tokens';
import type { Engine, Tokenizer } from '../engine/types';
import { tokenizerText } from '../examples/tokenizer';
import { encodeText, type EncodedText, type EncodedWord } from './tokenizer-words';
import '../style/figure.css';
import '../style/ledger.css';
import '../style/textlab.css';

/** Longest text that is taken apart as it is typed. */
const MOST = 2000;
/** Tokens in view; the rest are counted. */
const SHOWN = 400;

type Source = 'example' | 'model';
type Model = { readonly status: 'idle' | 'loading' } | { readonly status: 'error'; readonly message: string }
  | { readonly status: 'ready'; readonly tokenizer: Tokenizer; readonly hash: string };

async function loadModel(engine: Engine): Promise<Model> {
  try {
    const { loadVerified } = await import('../provenance/verify');
    const verified = await loadVerified('data/lab/', engine);
    const file = verified.files.find((f) => f.name === 'tokenizer.json');
    return { status: 'ready', tokenizer: verified.tokenizer, hash: `${file?.expected.slice(0, 12) ?? ''}\u2026, ${file?.verdict === 'match' ? 'verified here' : 'cannot be verified here'}` };
  } catch (error) {
    return { status: 'error', message: error instanceof Error ? error.message : String(error) };
  }
}

function exampleTokenizer(engine: Engine): Tokenizer {
  return engine.openTokenizer(engine.trainTokenizer(tokenizerText.corpus, tokenizerText.merges).merges, ['<|endoftext|>']);
}

/** Encodes with the example's tokenizer, which is closed again. */
function withExample(engine: Engine, text: string): EncodedText {
  const tokenizer = exampleTokenizer(engine);
  try {
    return encodeText(tokenizer, text);
  } finally {
    tokenizer.close();
  }
}

const hex = (b: number): string => b.toString(16).toUpperCase().padStart(2, '0');

function Steps({ word, names }: { word: EncodedWord; names: ReadonlyMap<number, string> }): JSX.Element {
  const label = (ids: readonly number[]): string => ids.map((id) => names.get(id) ?? String(id)).join('\u2009|\u2009');
  return (
    <div class="box" tabIndex={0} role="region" aria-label={`Merges of the word ${word.text}`}>
      <table class="led" aria-label={`Merges of the word ${word.text}, in order`}>
        <thead><tr><td /><th scope="col">tokens</th><th scope="col">joins</th><th scope="col">rank</th></tr></thead>
        <tbody>
          {word.steps.map((s, k) => (
            <tr key={k}>
              <th class="r" scope="row">step {k}</th>
              <td class="tok">{s.tokens.join('\u2009|\u2009')}</td>
              <td class="tok">{s.tokens[s.at]} {s.tokens[s.at + 1]}</td>
              <td>{s.rank}</td>
            </tr>
          ))}
          <tr class="tot res"><th class="r" scope="row">{word.steps.length === 0 ? 'no merge' : 'the end'}</th><td class="tok">{label(word.ids)}</td><td>ids</td><td>{word.ids.join(' ')}</td></tr>
        </tbody>
      </table>
    </div>
  );
}

function Result({ encoded }: { encoded: EncodedText }): JSX.Element {
  const [chosen, choose] = useState(1);
  const at = Math.min(chosen, encoded.words.length - 1), word = encoded.words[at];
  const names = useMemo(() => new Map(Array.from(encoded.ids, (id, k) => [id, encoded.tokens[k] ?? ''])), [encoded]);
  if (!word) return <p class="facts">Type at least one character.</p>;
  return (
    <>
      <p class="facts" aria-live="polite">
        <b data-t="text" data-i="bytes">{encoded.bytes}</b> bytes, <b data-t="text" data-i="words">{encoded.words.length}</b> words, <b data-t="text" data-i="tokens">{encoded.ids.length}</b> tokens
      </p>
      <h3>Words</h3>
      <Tokens label="Words of the text" tokens={encoded.words.slice(0, SHOWN).map((w) => w.text)} chosen={at} onChoose={choose} />
      <h3>The word <span class="ws">{word.text}</span></h3>
      <p class="facts">Bytes: <code>{Array.from(word.bytes, hex).join(' ')}</code></p>
      <Steps word={word} names={names} />
      <h3>Ids of the whole text</h3>
      <p class="pieces" tabIndex={0} role="region" aria-label="Tokens of the text with their ids">{encoded.tokens.slice(0, SHOWN).map((t, k) => <span key={k}>{t}<sub>{encoded.ids[k]}</sub></span>)}</p>
      {encoded.ids.length > SHOWN && <p class="facts">and <b>{encoded.ids.length - SHOWN}</b> more</p>}
      <h3>And back</h3>
      <p class="pieces back">{encoded.back}</p>
      <p class="facts">{encoded.same ? 'The same text, to the last byte.' : 'It differs from the text that went in.'}</p>
    </>
  );
}

function View({ loaded, engine }: { loaded: EncodedText; engine: Engine }): JSX.Element {
  const [text, setText] = useState(tokenizerText.text);
  const [source, setSource] = useState<Source>('example');
  const [model, setModel] = useState<Model>({ status: 'idle' });
  useEffect(() => {
    if (source !== 'model' || model.status !== 'idle') return;
    setModel({ status: 'loading' });
    void loadModel(engine).then(setModel);
  }, [source, model.status, engine]);
  const encoded = useMemo((): EncodedText | null => {
    if (source === 'model') return model.status === 'ready' ? encodeText(model.tokenizer, text) : null;
    return text === tokenizerText.text ? loaded : withExample(engine, text);
  }, [source, model, text, engine, loaded]);
  return (
    <Case source={source} small label="Your own text" {...(source === 'model' && model.status === 'ready' ? { note: `tokenizer ${model.hash}` } : {})}>
      <div class="textlab">
        <h2 class="vh">Your own text</h2>
        <div class="tool">
          <Segment label="Tokenizer" value={source} onChoose={setSource} choices={[{ value: 'example', text: 'the example\u2019s' }, { value: 'model', text: 'of the trained model' }]} />
        </div>
        <label class="fld"><span class="fl">Your text: it stays in this page</span>
          <textarea rows={3} maxLength={MOST} value={text} spellcheck={false} onInput={(e) => setText(e.currentTarget.value)} />
        </label>
        {source === 'model' && model.status === 'loading' && <p class="facts" role="status">Loading the model's tokenizer and verifying it.</p>}
        {source === 'model' && model.status === 'error' && <p class="problem" role="status">{model.message}</p>}
        {encoded && <Result encoded={encoded} />}
      </div>
    </Case>
  );
}

export const island = defineIsland<Record<string, never>, EncodedText>({
  load: async (_, engine) => withExample(engine, tokenizerText.text),
  view: View,
});
