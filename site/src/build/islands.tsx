/* islands.tsx -- draws islands at build: prepares and loads each one, then renders its first view. */
import type { JSX } from 'preact';
import type { Block } from '../components/content';
import { TypesetContext, texKey, type MathTree, type Typeset } from '../components/Tex';
import type { AnyIsland } from '../components/island';
import type { SiteData } from '../components/site-data';
import type { Engine } from '../engine/types';
import { examples } from '../examples/registry';
import { islands } from '../pages/islands';
import type { Faults } from './faults';
import { typeset } from './mathml';

interface Ready {
  readonly island: AnyIsland;
  readonly name: string;
  readonly props: unknown;
  readonly loaded: unknown;
  readonly tex: readonly string[];
  /** Asks no more of the engine than single definitions. */
  readonly core: boolean;
}

/** Whether the example that a block shows, if it shows one, calls single definitions only. */
async function isCore(use: unknown): Promise<boolean> {
  const open = typeof use === 'string' ? examples[use] : undefined;
  return open === undefined || (await open()).example.core === true;
}

/** What travels for parts that wait until a visitor asks: their properties in page order, and the mathematics of their views. */
interface Asked {
  readonly props: unknown[];
  readonly tex: Record<string, MathTree>;
}

/** Islands of one page, ready to be drawn, by the block that asked for them. */
export class PreparedIslands {
  private readonly ready = new Map<Block, Ready>();
  /** LaTeX that the page's islands show, typeset: the dictionary of the page. */
  readonly dictionary: Record<string, MathTree> = {};
  /** Parts whose code a page loads at its start. */
  readonly names = new Set<string>();
  /** All parts that were drawn: they need their style sheets. */
  readonly drawn = new Set<string>();
  /** Parts whose code comes when a visitor asks. */
  readonly waiting = new Set<string>();
  /** True once a part was drawn that asks more of the engine than single definitions. */
  whole = false;
  readonly asked: Asked = { props: [], tex: {} };

  constructor(private readonly engine: Engine | null) {}

  async prepare(block: Block, page: string, site: SiteData, file: string, faults: Faults): Promise<void> {
    const open = islands[block.island];
    if (!open || this.engine === null) return; // said already: references.ts, site.tsx
    try {
      const { island } = await open();
      const props: unknown = island.prepare ? await island.prepare(block.props, site, { page }) : block.props;
      const loaded: unknown = island.load ? await island.load(props, this.engine) : undefined;
      const tex = island.tex ? island.tex(props, loaded) : [];
      this.ready.set(block, { island, name: block.island, props, loaded, tex, core: island.core === true && await isCore(block.props['use']) });
    } catch (error) {
      faults.add(file, `island ${block.island}`, error instanceof Error ? error.message : String(error));
    }
  }

  has(block: Block): boolean {
    return this.ready.has(block);
  }

  /** Typesets, and keeps what was asked for where its part will look for it. */
  private recorder({ inert, waits }: AnyIsland): Typeset {
    return (tex, display) => {
      const tree = typeset(tex, display);
      if (!inert) (waits ? this.asked.tex : this.dictionary)[texKey(tex, display)] = tree;
      return tree;
    };
  }

  /** How the browser knows the part: by its name and its properties, or by its place among those that wait. */
  private marks(ready: Ready): Record<string, string | number> {
    const { inert, waits } = ready.island;
    if (inert) return {};
    if (waits) this.waiting.add(ready.name);
    if (waits) return { 'data-asked': ready.name, 'data-k': this.asked.props.push(ready.props) - 1 };
    this.names.add(ready.name);
    if (!ready.core) this.whole = true;
    return { 'data-island': ready.name, 'data-props': JSON.stringify(ready.props) };
  }

  draw(block: Block): JSX.Element | null {
    const ready = this.ready.get(block);
    if (!ready || this.engine === null) return null;
    this.drawn.add(ready.name);
    const record = this.recorder(ready.island);
    for (const tex of ready.tex) record(tex, false);
    const View = ready.island.view;
    return (
      <div {...this.marks(ready)}>
        <TypesetContext.Provider value={record}>
          <View props={ready.props} loaded={ready.loaded} engine={this.engine} />
        </TypesetContext.Provider>
      </div>
    );
  }
}
