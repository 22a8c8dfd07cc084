/* Panel.tsx -- where a model's numbers come from, in full: each file with its sha256 as this
 * page recomputed it, the native program's bits against this page's, the checks of the
 * export beside the same checks computed here, and every field of manifest.json.
 */
import type { JSX } from 'preact';
import { full, sci } from '../components/numbers';
import type { Bits } from './bits';
import type { Manifest } from './manifest';
import type { VerifiedFile, Verdict } from './verify';
import '../style/provenance.css';

export interface PanelProps {
  /** Null for a visitor's own files, which nothing vouches for. */
  readonly manifest: Manifest | null;
  /** sha256 of the module that runs. */
  readonly moduleHash: string | null;
  readonly files: readonly VerifiedFile[];
  /** Null while the window runs; a text where it failed. */
  readonly bits: Bits | string | null;
  /** Files that were not loaded, because nothing here needs them. */
  readonly left?: readonly string[];
  /** Which text is shown, and what ran it. */
  readonly text: string;
}

export const VERDICTS: Readonly<Record<Verdict, string>> = { match: 'match', mismatch: 'MISMATCH', cannot: 'cannot verify here' };
const CANNOT = 'This page came over plain http, where browsers have no digest function: nothing can be verified here.';
const MARK: Readonly<Record<Verdict, string>> = { match: 'ok', mismatch: 'bad', cannot: '' };

/** A file's name without the way to it. */
const short = (name: string): string => name.split('/').pop() ?? name;

/** Files, what the manifest says their sha256 is, what this page found. */
export function FilesTable({ files, own = false }: { files: readonly VerifiedFile[]; own?: boolean }): JSX.Element {
  return (
    <div class="provscroll" role="region" aria-label="Files and their sha256" tabIndex={0}>
      <table class="provfiles">
        <thead><tr><th scope="col">file</th><th scope="col">bytes</th><th scope="col">{own ? 'sha256, computed in this page' : 'sha256 as written down, and what this page found if it differs'}</th>{!own && <th scope="col">verdict</th>}</tr></thead>
        <tbody>
          {files.map((f) => (
            <tr key={f.name} class={f.verdict === 'mismatch' ? 'bad' : undefined}>
              <th scope="row">{short(f.name)}</th>
              <td class="num">{f.bytes > 0 ? f.bytes : ''}</td>
              <td><code>{own ? (f.found ?? 'cannot be computed on plain http') : f.expected}</code>{!own && f.found !== f.expected && <code>{f.found ?? 'not computed'}</code>}</td>
              {!own && <td class={MARK[f.verdict]}>{VERDICTS[f.verdict]}</td>}
            </tr>))}
        </tbody>
      </table>
    </div>
  );
}

const figure = (x: number | string | null): string => (x === null ? '' : typeof x === 'string' ? x : Number.isInteger(x) ? String(x) : sci(x, 3));

function BitsRows({ bits }: { bits: Bits }): JSX.Element {
  return (
    <>
      <dl>
        <dt>Native program</dt><dd><code>{bits.native}</code></dd>
        <dt>This page</dt><dd><code>{bits.page ?? CANNOT}</code></dd>
        <dt>Verdict</dt><dd class={MARK[bits.verdict]}>{bits.verdict === 'match' ? `the same bits in all ${bits.count} tensors` : bits.verdict === 'mismatch' ? 'MISMATCH: this page computes other bits' : VERDICTS.cannot}</dd>
      </dl>
      <table class="provchecks">
        <caption>Checks of the window, by the native program and computed again here</caption>
        <thead><tr><th scope="col">check</th><th scope="col">native</th><th scope="col">this page</th></tr></thead>
        <tbody>
          <tr><th scope="row">mean loss, nats per token</th><td>{full(bits.loss.native)}</td><td class={bits.loss.native === bits.loss.page ? 'ok' : 'bad'}>{full(bits.loss.page)}</td></tr>
          {bits.checks.map((c) => (
            <tr key={c.name}><th scope="row">{c.words}</th><td>{figure(c.native)}</td><td class={c.native === c.page ? 'ok' : 'bad'}>{figure(c.page)}</td></tr>))}
        </tbody>
      </table>
    </>
  );
}

type Row = readonly [path: string, value: string];

/** Every field, by its path; lists of plain values on one line. */
function fields(value: unknown, path: string, rows: Row[]): Row[] {
  const plain = (v: unknown): boolean => typeof v !== 'object' || v === null;
  if (plain(value)) rows.push([path, typeof value === 'string' ? value : JSON.stringify(value)]);
  else if (Array.isArray(value) && value.every(plain)) rows.push([path, value.map((v) => (typeof v === 'string' ? v : JSON.stringify(v))).join(' ')]);
  else for (const [key, v] of Object.entries(value as object)) fields(v, path === '' ? key : `${path} \u203a ${key}`, rows);
  return rows;
}

function AllFields({ manifest }: { manifest: Manifest }): JSX.Element {
  return (
    <details class="provall">
      <summary>Every field of manifest.json</summary>
      <div class="provscroll tall" role="region" aria-label="manifest.json" tabIndex={0}>
        <table>
          <tbody>
            {fields(manifest, '', []).map(([path, value]) => <tr key={path}><th scope="row">{path}</th><td><code>{value}</code></td></tr>)}
          </tbody>
        </table>
      </div>
    </details>
  );
}

function About({ m, moduleHash, text }: { m: Manifest; moduleHash: string | null; text: string }): JSX.Element {
  const seed = m.settings?.seed;
  const rebuilt = m.tokenizer_rebuilt;
  return (
    <dl>
      <dt>Checkpoint</dt><dd><code>{m.files['model.safetensors']?.sha256}</code> (sha256){typeof m.step === 'number' ? `, step ${m.step}` : ''}{seed !== undefined ? `, seed ${String(seed)}` : ''}</dd>
      <dt>Written by</dt><dd>vitrine {m.vitrine.version}, commit <code>{m.vitrine.commit.slice(0, 12)}</code>, tree {m.vitrine.tree}, {m.vitrine.build}</dd>
      <dt>Model</dt><dd>{m.model.layers} layers, width {m.model.channels}, {m.model.heads} heads, {m.model.context} positions, {m.model.vocabulary} tokens, {m.model.parameters} parameters</dd>
      {typeof m.corpus?.sha256 === 'string' && <><dt>Corpus</dt><dd><code>{m.corpus.sha256}</code> (sha256)</dd></>}
      <dt>Tokenizer</dt><dd>{rebuilt.equal === null ? 'not rebuilt from the corpus' : rebuilt.equal ? 'rebuilt from the corpus: equal' : 'rebuilt from the corpus: different'}{rebuilt.why ? ` (${rebuilt.why})` : ''}</dd>
      <dt>Module</dt><dd>vitrine.wasm <code>{moduleHash ?? VERDICTS.cannot}</code></dd>
      <dt>Text</dt><dd>{text}</dd>
    </dl>
  );
}

export function Panel(p: PanelProps): JSX.Element {
  const cannot = p.manifest !== null && p.files.some((f) => f.verdict === 'cannot');
  const matched = p.files.filter((f) => f.verdict === 'match').length;
  return (
    <div class="prov">
      <h3 class="over">Where these numbers come from</h3>
      {p.manifest ? <About m={p.manifest} moduleHash={p.moduleHash} text={p.text} /> : (
        <dl><dt>Source</dt><dd>your own files, read in this page and sent nowhere</dd><dt>Module</dt><dd>vitrine.wasm <code>{p.moduleHash ?? VERDICTS.cannot}</code></dd><dt>Text</dt><dd>{p.text}</dd></dl>)}
      {p.manifest && <p class={`provline ${cannot ? '' : 'ok'}`}>{cannot ? `Cannot verify here. ${CANNOT}` : `${matched} files, sha256 recomputed in this page: match`}</p>}
      <FilesTable files={p.files} own={p.manifest === null} />
      {p.manifest && p.left && <p class="provline">Not loaded here, so not compared: {Object.entries(p.manifest.files).filter(([name]) => p.left?.includes(name)).map(([name, f]) => `${name}, ${f.bytes} bytes`).join('; ')}.</p>}
      {p.manifest && <h4 class="over">WebAssembly against native: sha256 over every number of the exported window, forward and backward</h4>}
      {p.manifest && (p.bits === null ? <p class="provline">Running the exported window in this page{'\u2026'}</p>
        : typeof p.bits === 'string' ? <p class="provline bad">{p.bits}</p> : <BitsRows bits={p.bits} />)}
      {p.manifest && <AllFields manifest={p.manifest} />}
    </div>
  );
}
