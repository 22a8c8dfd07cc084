/* Provenance.tsx -- of the lab's model: the panel of provenance, with the exported window run
 * again in this page for its bits. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Engine } from '../engine/types';
import { compareBits, type Bits } from '../provenance/bits';
import { Panel } from '../provenance/Panel';
import type { VerifiedModel } from '../provenance/verify';
import type { Chosen } from './model-run';

/** The window runs after the first view has been drawn. */
const PAUSE = 400;

export function LabProvenance({ verified: v, chosen, engine }: { verified: VerifiedModel; chosen: Chosen; engine: Engine }): JSX.Element {
  const [bits, setBits] = useState<Bits | string | null>(null);
  useEffect(() => {
    let live = true;
    const timer = setTimeout(() => {
      compareBits(v.model, v.manifest).then((b) => { if (live) setBits(b); }, (error: unknown) => { if (live) setBits(error instanceof Error ? error.message : String(error)); });
    }, PAUSE);
    return () => { live = false; clearTimeout(timer); };
  }, [v]);
  const left = chosen.left ? `; ${chosen.left} tokens behind the window are left out` : '';
  const text = (chosen.own ? 'your own, run in this page in float64' : 'the exported window, as the native program computed it in float64') + left;
  return <Panel manifest={v.manifest} moduleHash={engine.sha256} files={v.files} bits={bits} text={text} />;
}
