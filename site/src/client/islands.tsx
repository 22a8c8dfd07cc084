/* islands.tsx -- wakes the live parts of the page: each gets its properties, the engine, and the page's mathematics.
 *
 * One that fails leaves its prerendered view in place and says so: the page stays readable.
 */
import { hydrate } from 'preact';
import { texKey, TypesetContext, type MathTree, type Typeset } from '../components/Tex';
import { loadEngine } from '../engine/index';
import type { Engine } from '../engine/types';
import { islands } from '../pages/islands';

/** The mathematics that the page's islands can show, typeset at build. */
export function readDictionary(): Typeset {
  const text = document.getElementById('tex')?.textContent ?? '{}';
  const known = new Map(Object.entries(JSON.parse(text) as Record<string, MathTree>));
  return (tex, display) => known.get(texKey(tex, display)) ?? null;
}

async function openEngine(): Promise<Engine> {
  const answer = await fetch('vitrine.wasm');
  if (!answer.ok) throw new Error(`vitrine.wasm: the server answered ${answer.status}`);
  return loadEngine(await answer.arrayBuffer());
}

/** Says where the module is not the one that the page was built with. */
function checkModule(engine: Engine): void {
  const place = document.getElementById('placard-module');
  const expected = place?.dataset['sha256'];
  if (!place || expected === undefined) return;
  const verdict = engine.sha256 === null ? 'cannot be verified here' : engine.sha256 === expected ? 'verified in this page' : 'differs from the page\u2019s: reload';
  place.append(', ', verdict);
  if (engine.sha256 !== null && engine.sha256 !== expected) place.classList.add('tba');
}

async function wake(root: HTMLElement, engine: Engine, typeset: Typeset): Promise<void> {
  const name = root.dataset['island'] ?? '';
  const open = islands[name];
  if (!open) throw new Error(`no island "${name}"`);
  const { island } = await open();
  const props: unknown = JSON.parse(root.dataset['props'] ?? '{}');
  const loaded: unknown = island.load ? await island.load(props, engine) : undefined;
  const View = island.view;
  hydrate(
    <TypesetContext.Provider value={typeset}><View props={props} loaded={loaded} engine={engine} /></TypesetContext.Provider>,
    root,
  );
  root.dataset['awake'] = 'true';
}

function fail(root: HTMLElement, error: unknown): void {
  const note = document.createElement('p');
  note.className = 'cap failed';
  note.setAttribute('role', 'status');
  note.textContent = `This part shows what it showed when the page was built; it does not answer: ${error instanceof Error ? error.message : String(error)}`;
  root.before(note);
  console.error(error);
}

export async function startIslands(): Promise<void> {
  const roots = [...document.querySelectorAll<HTMLElement>('[data-island]')];
  if (roots.length === 0) return;
  let engine: Engine;
  try {
    engine = await openEngine();
  } catch (error) {
    fail(roots[0] as HTMLElement, error);
    return;
  }
  checkModule(engine);
  const typeset = readDictionary();
  // One after the other in page order, so that the first answers first.
  for (const root of roots) await wake(root, engine, typeset).catch((error: unknown) => fail(root, error));
  document.documentElement.dataset['awake'] = 'true';
}
