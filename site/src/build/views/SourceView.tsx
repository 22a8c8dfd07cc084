/* SourceView.tsx -- a file of the tree as a page, for a site without a remote to link to. */
import type { JSX } from 'preact';
import type { CodeLine } from '../../components/site-data';
import { useBuild } from '../context';
import { CodeLines } from './Code';

export function SourceView({ file, lines }: { file: string; lines: readonly CodeLine[] }): JSX.Element {
  const { map } = useBuild().sources;
  return (
    <>
      <a class="skip" href="#main">Skip to the source</a>
      <header class="top"><a class="brand" href="../index.html">Vitrine</a><span class="where">{file}</span></header>
      <main class="page source" id="main" tabIndex={-1}>
        <h1>{file}</h1>
        <p class="cap">{lines.length} lines, at commit <code>{map.commit}</code>{map.modified ? ', with local changes' : ''}. A label at the end of a line leads to the equation that the line computes.</p>
        <div class="codebox"><div class="code" tabIndex={0} role="region" aria-label={`Source of ${file}`}><CodeLines lines={lines} anchor /></div></div>
      </main>
    </>
  );
}
