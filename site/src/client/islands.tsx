/* islands.tsx -- wakes the live parts of the page: each gets its properties, the engine, and the page's mathematics.
 *
 * One that fails leaves its prerendered view in place and says so: the page stays readable.
 */
import { hydrate } from 'preact';
import { texKey, TypesetContext, type MathTree, type Typeset } from '../components/Tex';
import { loadCore } from '../engine/core';
import { whole } from '../engine/later';
import type { Engine } from '../engine/types';
import { islands } from '../pages/islands';

/** Mathematics that was typeset at build, by its text. */
function dictionary(trees: Readonly<Record<string, MathTree>>): Typeset {
  return (tex, display) => (Object.hasOwn(trees, texKey(tex, display)) ? trees[texKey(tex, display)] as MathTree : null);
}

/** The mathematics that the page's islands can show. */
export function readDictionary(): Typeset {
  return dictionary(JSON.parse(document.getElementById('tex')?.textContent ?? '{}') as Record<string, MathTree>);
}

async function openEngine(): Promise<Engine> {
  const answer = await fetch('vitrine.wasm');
  if (!answer.ok) throw new Error(`vitrine.wasm: the server answered ${answer.status}`);
  const { engine } = await loadCore(await answer.arrayBuffer());
  return document.documentElement.dataset['engine'] === 'core' ? engine : whole(engine);
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

async function wake(root: HTMLElement, name: string, props: unknown, engine: Engine, typeset: Typeset): Promise<void> {
  const open = islands[name];
  if (!open) throw new Error(`no island "${name}"`);
  const { island } = await open();
  const loaded: unknown = island.load ? await island.load(props, engine) : undefined;
  const View = island.view;
  hydrate(
    <TypesetContext.Provider value={typeset}><View props={props} loaded={loaded} engine={engine} /></TypesetContext.Provider>,
    root,
  );
  root.dataset['awake'] = 'true';
}

interface Asked {
  readonly props: readonly unknown[];
  readonly tex: Readonly<Record<string, MathTree>>;
}
let asked: Promise<Asked> | null = null;

/** What the parts need that wait. A failure is not kept: the next press tries again. */
function askedParts(): Promise<Asked> {
  const page = /([^/]+?)(\.html)?$/.exec(location.pathname)?.[1] ?? 'index';
  asked ??= fetch(`asked/${page}.json`).then((answer) => {
    if (!answer.ok) throw new Error(`asked/${page}.json: the server answered ${answer.status}`);
    return answer.json() as Promise<Asked>;
  }).catch((error: unknown) => { asked = null; throw error; });
  return asked;
}

/** Parts that wait: a press on a button in one wakes all of its name, then is done. */
function startWaiting(engine: Engine): void {
  const waiting = [...document.querySelectorAll<HTMLElement>('[data-asked]')];
  const wakeAll = async (name: string): Promise<void> => {
    const { props, tex } = await askedParts();
    const typeset = dictionary(tex);
    for (const root of waiting.filter((r) => r.dataset['asked'] === name)) {
      root.removeEventListener('click', listen, true);
      await wake(root, name, props[Number(root.dataset['k'])], engine, typeset);
    }
  };
  const busy = new Set<string>();
  function listen(this: HTMLElement, event: MouseEvent): void {
    const button = event.target instanceof Element ? event.target.closest<HTMLButtonElement>('button:not(:disabled)') : null;
    const name = this.dataset['asked'] ?? '';
    if (!button || busy.has(name)) return;
    event.stopPropagation();
    busy.add(name);
    // The view's effects have run after two frames: they listen for each other.
    wakeAll(name).then(() => requestAnimationFrame(() => requestAnimationFrame(() => button.click())), (error: unknown) => {
      busy.delete(name);
      fail(this, error);
    });
  }
  for (const root of waiting) {
    root.addEventListener('click', listen, true);
    root.dataset['awake'] = 'true';
  }
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
  if (document.querySelector('[data-island], [data-asked]') === null) return;
  let engine: Engine;
  try {
    engine = await openEngine();
  } catch (error) {
    fail(document.querySelector<HTMLElement>('[data-island], [data-asked]') as HTMLElement, error);
    return;
  }
  checkModule(engine);
  const typeset = readDictionary();
  // One after the other in page order, so that the first answers first.
  for (const root of roots) await wake(root, root.dataset['island'] ?? '', JSON.parse(root.dataset['props'] ?? '{}'), engine, typeset).catch((error: unknown) => fail(root, error));
  startWaiting(engine);
  document.documentElement.dataset['awake'] = 'true';
}
