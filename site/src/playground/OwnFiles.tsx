/* OwnFiles.tsx -- a visitor's own checkpoint, by choice of files or by drop: read in this page, sent nowhere. */
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { meant } from '../provenance/checkpoint';

/** Later files stand for earlier ones of the same meaning: so that they can be dropped one by one. */
export function collect(before: readonly File[], more: readonly File[]): File[] {
  const fresh = new Set(more.map((f) => meant(f.name)));
  return [...before.filter((f) => !fresh.has(meant(f.name))), ...more];
}

export function OwnFiles({ busy, files, onFiles }: { busy: boolean; files: readonly File[]; onFiles: (files: readonly File[], heads: number | null) => void }): JSX.Element {
  const heads = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const take = (list: FileList | null | undefined): void => {
    if (!list || list.length === 0) return;
    const said = heads.current?.value.trim() ?? '';
    onFiles([...list], /^\d{1,4}$/.test(said) ? Number(said) : null);
  };
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer?.files);
  };
  return (
    <div class={`own${over ? ' over-it' : ''}`} onDragOver={(e) => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)} onDrop={onDrop}>
      <h3>Your own checkpoint</h3>
      <p class="cap">Choose or drop <code>model.safetensors</code>, <code>tokenizer.json</code> and <code>config.json</code>, as <code>vitrine train</code> writes them. Models of other makers in the form of GPT-2 work too, also with <code>vocab.json</code> and <code>merges.txt</code>, as far as the page{'\u2019'}s 32-bit module reaches: the published GPT-2 is larger than that, and is refused with its size. They are read in this page and sent nowhere.</p>
      <div class="ownrow">
        <label class="fld"><span class="fl">Files</span>
          <input type="file" id="own-files" multiple disabled={busy} accept=".safetensors,.json,.txt" onChange={(e) => { take(e.currentTarget.files); e.currentTarget.value = ''; }} /></label>
        <label class="fld"><span class="fl">Heads, where there is no config.json</span>
          <input type="text" id="own-heads" inputMode="numeric" size={4} maxLength={4} ref={heads} disabled={busy} /></label>
        {files.length > 0 && <p class="cap">So far: {files.map((f) => f.name).join(', ')}</p>}
      </div>
    </div>
  );
}
