/* Playground.tsx -- the visitor's text through a trained model, in the page: every layer and
 * head, the next token and how it is chosen, text as it is drawn.
 *
 * Nothing is loaded before it is asked for: by the button, by the visitor's own files, or by
 * the address.  All numbers come from the module in the worker.
 */
import type { JSX } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Case } from '../components/Case';
import { defineIsland } from '../components/island';
import { useLive } from '../components/narrow';
import { fmt } from '../components/numbers';
import { Tokens } from '../components/Tokens';
import { FilesTable, Panel } from '../provenance/Panel';
import { DrawPanel, NextBars } from './Draw';
import { chosenCell, Maps, useHeads } from './Maps';
import { collect, OwnFiles } from './OwnFiles';
import type { OpenedModel } from './protocol';
import { filtersOf, formatPlay, LIMITS, parsePlay, settlePlay, START, type Play } from './state';
import { howOf, useDoings, type Phase } from './use-play';
import '../style/playground.css';

/** A text for models that came without one. */
const OWN_TEXT = 'It was a truth that she had never doubted, that';
const STARTS = ['It was a truth that she had never doubted, that', 'The letter came on a Tuesday,\nand nobody', 'na\u00efve fa\u00e7ade, 3.14 & 2.71: '];
/** Files that the model does not need to run. */
const LEFT = ['window.safetensors', 'metrics.jsonl'];
/** Typing pauses this long before the model reads. */
const PAUSE = 200;

const megabytes = (bytes: number): string => `${fmt(bytes / 1e6, 1)} MB`;

/** What loading will cost, from the manifest; null while it is not known, a text where there is no model. */
function useSize(): number | string | null {
  const [size, setSize] = useState<number | string | null>(null);
  useEffect(() => {
    let live = true;
    import('../provenance/verify').then(async ({ fetchManifest, MismatchError }) => {
      const found = await fetchManifest('data/playground/').catch((error: unknown) => { if (error instanceof MismatchError) return null; throw error; });
      if (!found) return; // loading will say which file
      const { manifest } = found;
      const needed = Object.entries(manifest.files).filter(([name]) => !LEFT.includes(name));
      if (live) setSize(needed.reduce((n, [, file]) => n + file.bytes, 0));
    }).catch((error: unknown) => { if (live) setSize(error instanceof Error ? error.message : String(error)); });
    return () => { live = false; };
  }, []);
  return size;
}

/** Follows the address, and writes the choice into it. */
function useAddress(state: Play, live: boolean, apply: (state: Play, notes: readonly string[]) => void): void {
  useEffect(() => {
    const readIt = (): void => {
      const parsed = parsePlay(location.hash);
      if (parsed) apply(parsed.state, parsed.notes);
    };
    readIt();
    addEventListener('hashchange', readIt);
    return () => removeEventListener('hashchange', readIt);
  }, []);
  useEffect(() => {
    if (!live) return undefined;
    const before = location.hash;   /* another one, by the time this is written, is the reader's own: it stays */
    const timer = setTimeout(() => {
      const address = formatPlay(state);
      if (location.hash === before && address !== before) history.replaceState(history.state, '', address);
    }, 150);
    return () => clearTimeout(timer);
  }, [state, live]);
}

/** The page's placard names the model that is open. */
function usePlacard(opened: OpenedModel | null): void {
  useEffect(() => {
    const put = (id: string, text: string): void => {
      const place = document.getElementById(id);
      if (place) place.textContent = text;
    };
    if (!opened) return;
    const { L, C, NH, V } = opened.sizes;
    const weights = opened.files.find((f) => f.name.endsWith('.safetensors'));
    put('placard-model', `${opened.manifest ? '' : 'your own: '}${L} layers, width ${C}, ${NH} heads, ${V} tokens`);
    const verdict = opened.manifest === null ? 'your file' : weights?.verdict === 'match' ? 'verified in this page' : 'cannot be verified here';
    put('placard-checkpoint', `sha256 ${weights?.found?.slice(0, 12) ?? 'unknown'}, ${verdict}`);
  }, [opened]);
}

function Start({ phase, size, live, onOpen }: { phase: Phase; size: number | string | null; live: boolean; onOpen: () => void }): JSX.Element {
  if (phase.status === 'opening') return <div class="pstart"><p role="status">{phase.words}</p></div>;
  if (phase.status === 'failed') {
    const { failure } = phase;
    return (
      <div class="pstart">
        <p class="note" role="alert">{failure.mismatch ? 'MISMATCH: no number of this model is shown. ' : 'The model could not be loaded, so nothing of it is shown. '}{failure.message}</p>
        {failure.mismatch && <div class="prov"><FilesTable files={failure.mismatch} /></div>}
        <button type="button" class="btn" onClick={onOpen}>Try again</button>
      </div>
    );
  }
  const missing = typeof size === 'string';
  return (
    <div class="pstart">
      <p>The model is loaded when you ask for it, each of its files is compared with its sha256, and everything then runs in this page: your text is sent nowhere.</p>
      {missing ? <p class="note" role="status">This copy of the site has no model for the playground ({size}). Load your own below.</p>
        : <button type="button" class="btn go" disabled={!live} onClick={onOpen}>Load the model{typeof size === 'number' ? ` (${megabytes(size)})` : ''}</button>}
    </div>
  );
}

function TextIn({ text, onText, children }: { text: string; onText: (text: string) => void; children: JSX.Element }): JSX.Element {
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => { if (box.current && box.current.value !== text) box.current.value = text; }, [text]);
  return (
    <div class="fld">
      <label for="play-text">Your text</label>
      <textarea id="play-text" rows={4} spellcheck={false} autocomplete="off" ref={box} defaultValue={text} onInput={(e) => onText(e.currentTarget.value)} />
      <div class="under">
        {children}
        <select class="btn quiet push" aria-label="Start from" onChange={(e) => { const k = Number(e.currentTarget.value); const start = STARTS[k]; if (start !== undefined && e.currentTarget.value !== '') onText(start); e.currentTarget.value = ''; }}>
          <option value="">Start from{'\u2026'}</option>
          {STARTS.map((t, k) => <option key={k} value={String(k)}>{t}</option>)}
        </select>
      </div>
    </div>
  );
}

function PlaygroundView(): JSX.Element {
  const live = useLive(), size = useSize();
  const d = useDoings();
  const [raw, setRaw] = useState<Play>(START);
  const [notes, setNotes] = useState<readonly string[]>([]);
  const [typed, setTyped] = useState<string | null>(null);
  const [own, setOwn] = useState<readonly File[]>([]);
  /** Draws that the address asks for, once its text is read. */
  const pending = useRef(0);
  const [visit, setVisit] = useState(0);
  const status = useRef(d.phase.status);
  status.current = d.phase.status;
  const opened = d.phase.status === 'ready' ? d.phase.opened : null;
  const { L, NH } = opened?.sizes ?? { L: 1, NH: 1 };
  const T = d.read?.tokens.length ?? 0;
  const s = useMemo(() => (d.read ? settlePlay(raw, L, NH, T) : raw), [raw, d.read, L, NH, T]);
  const heads = useHeads(d.read, L, NH);
  const filters = useMemo(() => filtersOf(s), [s.temperature, s.topK, s.topP]);
  const text = s.text ?? opened?.manifest?.text ?? OWN_TEXT;

  const change = useCallback((c: Partial<Play>) => setRaw((r) => ({ ...r, ...c })), []);
  useAddress(s, opened !== null, (next, problems) => {
    pending.current = next.drawn;
    setRaw({ ...next, drawn: 0 });
    setTyped(null);
    setNotes(problems);
    setVisit((v) => v + 1);
    if (status.current === 'idle') d.openSite();
  });
  usePlacard(opened);

  // The visitor pauses: what is typed is the text.
  useEffect(() => {
    if (typed === null) return undefined;
    const timer = setTimeout(() => { change({ text: typed, token: null, read: null, drawn: 0 }); }, PAUSE);
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => {
    if (!opened) return;
    const count = pending.current;  /* taken at once: a text that another address overtakes draws nothing, and leaves that one its own */
    pending.current = 0;
    void d.readText(text, filters).then((ok) => { if (ok && count > 0) onDraw(count); });
  }, [opened, text, visit]);
  useEffect(() => { if (d.read) d.filter(filters); }, [filters]);

  const onDraw = (count: number): void => {
    void d.draw(count, filters, s.seed).then((made) => setRaw((r) => ({ ...r, drawn: r.drawn + made })));
  };
  const mixed = d.run.draws.length > 0 && d.run.how !== howOf(filters, s.seed);
  useEffect(() => { if (mixed) change({ drawn: 0 }); }, [mixed, s.drawn]);
  const onRestart = (): void => { d.restart(filters); change({ drawn: 0 }); };
  const onFiles = (files: readonly File[], said: number | null): void => {
    const all = collect(own, files);
    setOwn(all);
    void d.openOwn(all, said).then((ok) => { if (ok) { setOwn([]); setTyped(null); setRaw((r) => ({ ...r, layer: 0, head: 0, token: null, read: null, drawn: 0 })); } });
  };

  const read = d.read;
  const cell = read ? chosenCell(s, heads(s.layer, s.head), T) : null;
  const weights = useMemo(() => {
    if (!read || !cell) return undefined;
    const w = heads(s.layer, s.head);
    return read.tokens.map((_, k) => (k <= cell.row ? (w[cell.row * T + k] as number) : null));
  }, [read, heads, s.layer, s.head, cell?.row]);
  // Of a long text the chosen chip is in sight; the page itself does not move.
  const chips = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = chips.current, chip = box?.querySelector<HTMLElement>('.chip.q');
    if (!box || !chip) return;
    const [outer, inner] = [box.getBoundingClientRect(), chip.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
  }, [read, cell?.row]);
  const checkpoint = opened?.files.find((f) => f.name.endsWith('.safetensors'));
  const note = opened ? `${opened.manifest ? 'the site\u2019s model' : 'your own files'}, sha256 ${checkpoint?.found?.slice(0, 12) ?? 'cannot be computed here'}` : 'no model is loaded yet';
  const shownText = `${s.text === null && opened?.manifest ? 'the text of the export' : 'your own'}, run in this page on the fast kernels, in float32`;
  return (
    <Case source="model" note={note} label="Playground">
      <h2 class="vh">Your text through the model</h2>
      <div class="pg">
        {notes.length > 0 && <p class="note" role="status">Not understood in the address, and left out: {notes.join(', ')}.</p>}
        {!opened && <Start phase={d.phase} size={size} live={live} onOpen={d.openSite} />}
        {opened && (
          <div class="pin">
            <TextIn text={typed ?? text} onText={setTyped}>
              <span class="cap">{read ? `${read.count} tokens, ${read.bytes} bytes; read in ${fmt(read.milliseconds, 1)} ms` : ''}</span>
            </TextIn>
            <div class="fld">
              <span class="fl">Tokens. Choose one to see what it reads.</span>
              {read && cell && <div class="pchips" ref={chips}><Tokens label="Token that reads" tokens={read.tokens} chosen={cell.row} weights={weights} onChoose={(k) => change({ token: k, read: null })} /></div>}
              <p class="cap"><span class="ws">{'\u00b7'}</span> stands for a space, <span class="ws">\n</span> for a new line, <span class="ws">\x</span> for a byte that is no character by itself. The bar is how much the chosen token reads each one, in the head shown below.</p>
              {read && read.count > T && <p class="cap pwindow">The text has {read.count} tokens. The model reads the last {T} of them, {opened.windowWords}: only these are shown, and only these count for the next token.</p>}
              {text.length > LIMITS.text && s.text !== null && <p class="cap">So long a text stays out of the address.</p>}
            </div>
          </div>)}
        {opened && d.problem !== null && <p class="note" role="alert">{d.problem}</p>}
        {opened && read && cell && <Maps read={read} heads={heads} L={L} NH={NH} s={s} cell={cell} onChoose={change} />}
        {opened && read && d.next && (
          <div class="pnext">
            <NextBars next={d.next} />
            <DrawPanel s={s} prompt={text.length > 4000 ? `\u2026${text.slice(-4000)}` : text} draws={d.run.draws} running={d.run.running} last={d.run.last} ended={d.run.ended} mixed={mixed}
              onChange={change} onDraw={onDraw} onStop={d.stop} onRestart={onRestart} />
          </div>)}
        {d.refused !== null && <p class="note" role="alert">These files were not taken: {d.refused}</p>}
        <OwnFiles busy={!live || d.phase.status === 'opening'} files={own} onFiles={onFiles} />
        {opened && opened.manifest === null && <div class="under back"><button type="button" class="btn" onClick={() => { setOwn([]); d.openSite(); }}>Back to the site{'\u2019'}s model</button></div>}
        {opened && <Panel manifest={opened.manifest} moduleHash={opened.moduleHash} files={opened.files} bits={d.bits} text={shownText} left={LEFT} />}
      </div>
    </Case>
  );
}

export const island = defineIsland<Readonly<Record<string, unknown>>>({ view: PlaygroundView });
