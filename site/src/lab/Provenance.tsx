/* Provenance.tsx -- of the lab's model: which files, whose hashes agree, which tree wrote
 * them, and whether this page computes the native program's bits. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { sci } from '../components/numbers';
import { tensorsHash, type VerifiedModel, type Verdict } from '../provenance/verify';
import type { Chosen } from './model-run';

type Bitwise = { readonly verdict: 'match' | 'mismatch' | 'cannot'; readonly page: string | null; readonly native: string };

/** Runs the exported window in this page and compares its bits with the native program's. */
async function compareBits(v: VerifiedModel): Promise<Bitwise> {
  const native = v.manifest.tensors.sha256;
  const here = v.model.run(Int32Array.from(v.manifest.tokens), Int32Array.from(v.manifest.targets));
  const page = await tensorsHash(here, v.manifest.tensors.names);
  return { verdict: page === null ? 'cannot' : page === native ? 'match' : 'mismatch', page, native };
}

const WORDS: Record<Verdict, string> = { match: 'match', mismatch: 'mismatch', cannot: 'cannot verify here (the browser has no digest on plain http)' };

export function LabProvenance({ verified: v, chosen }: { verified: VerifiedModel; chosen: Chosen }): JSX.Element {
  const [bitwise, setBitwise] = useState<Bitwise | null>(null);
  useEffect(() => {
    let live = true;
    const timer = setTimeout(() => {
      compareBits(v).then((b) => { if (live) setBitwise(b); }, () => undefined);
    }, 400);
    return () => { live = false; clearTimeout(timer); };
  }, [v]);
  const m = v.manifest;
  const worst = v.files.some((f) => f.verdict === 'cannot') ? 'cannot' : 'match';
  const checkpoint = m.files['model.safetensors']?.sha256 ?? '';
  return (
    <div class="prov">
      <span class="over">Where these numbers come from</span>
      <dl>
        <dt>Checkpoint</dt><dd><code>{checkpoint}</code> (sha256), step {m.step}</dd>
        <dt>Files</dt><dd class={worst === 'match' ? 'ok' : ''}>{v.files.length} files, sha256 recomputed in this page: {WORDS[worst]}</dd>
        <dt>Written by</dt><dd>vitrine {m.vitrine.version}, commit <code>{m.vitrine.commit.slice(0, 12)}</code>, tree {m.vitrine.tree}</dd>
        <dt>Model</dt><dd>{m.model.layers} layers, width {m.model.channels}, {m.model.heads} heads, {m.model.vocabulary} tokens, {m.model.parameters} parameters</dd>
        <dt>Tokenizer</dt><dd>{m.tokenizer_rebuilt.equal === null ? 'not rebuilt from the corpus' : m.tokenizer_rebuilt.equal ? 'rebuilt from the corpus: equal' : 'rebuilt from the corpus: different'}{m.tokenizer_rebuilt.why ? ` (${m.tokenizer_rebuilt.why})` : ''}</dd>
        <dt>Text</dt><dd>{chosen.own ? 'your own, run in this page in float64' : 'the exported window, computed by the native program in float64'}{chosen.left ? `; ${chosen.left} tokens behind the window are left out` : ''}</dd>
        <dt>Page and native</dt><dd class={bitwise?.verdict === 'match' ? 'ok' : bitwise?.verdict === 'mismatch' ? 'bad' : ''}>
          {bitwise === null ? 'running the exported window here \u2026'
            : bitwise.verdict === 'match' ? `the same bits: sha256 ${bitwise.native.slice(0, 16)}\u2026 over ${m.tensors.count} tensors`
            : bitwise.verdict === 'cannot' ? WORDS.cannot : `different bits: ${bitwise.page?.slice(0, 16)}\u2026 here, ${bitwise.native.slice(0, 16)}\u2026 native`}</dd>
        <dt>Checks of the export</dt><dd>{Object.entries(m.checks).map(([k, x]) => `${k.replace(/_/g, ' ')} ${typeof x === 'number' && !Number.isInteger(x) ? sci(x) : x}`).join(', ')}</dd>
      </dl>
    </div>
  );
}
