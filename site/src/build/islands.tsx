/* islands.tsx -- draws islands at build: prepares and loads each one, then renders its first view. */
import type { JSX } from 'preact';
import type { Block } from '../components/content';
import { TypesetContext, texKey, type MathTree, type Typeset } from '../components/Tex';
import type { AnyIsland } from '../components/island';
import type { SiteData } from '../components/site-data';
import type { Engine } from '../engine/types';
import { islands } from '../pages/islands';
import type { Faults } from './faults';
import { typeset } from './mathml';

interface Ready {
  readonly island: AnyIsland;
  readonly name: string;
  readonly props: unknown;
  readonly loaded: unknown;
  readonly tex: readonly string[];
}

/** Islands of one page, ready to be drawn, by the block that asked for them. */
export class PreparedIslands {
  private readonly ready = new Map<Block, Ready>();
  /** LaTeX that the page's islands show, typeset: the dictionary of the page. */
  readonly dictionary: Record<string, MathTree> = {};
  readonly names = new Set<string>();
  /** Those of them that wake: their scripts are loaded. */
  readonly waking = new Set<string>();

  constructor(private readonly engine: Engine | null) {}

  async prepare(block: Block, page: string, site: SiteData, file: string, faults: Faults): Promise<void> {
    const open = islands[block.island];
    if (!open || this.engine === null) return; // said already: references.ts, site.tsx
    try {
      const { island } = await open();
      const props: unknown = island.prepare ? await island.prepare(block.props, site, { page }) : block.props;
      const loaded: unknown = island.load ? await island.load(props, this.engine) : undefined;
      const tex = island.tex ? island.tex(props, loaded) : [];
      this.ready.set(block, { island, name: block.island, props, loaded, tex });
    } catch (error) {
      faults.add(file, `island ${block.island}`, error instanceof Error ? error.message : String(error));
    }
  }

  has(block: Block): boolean {
    return this.ready.has(block);
  }

  private readonly record: Typeset = (tex, display) => {
    const tree = typeset(tex, display);
    this.dictionary[texKey(tex, display)] = tree;
    return tree;
  };

  draw(block: Block): JSX.Element | null {
    const ready = this.ready.get(block);
    if (!ready || this.engine === null) return null;
    this.names.add(ready.name);
    for (const tex of ready.tex) this.record(tex, false);
    const View = ready.island.view;
    const { inert = false } = ready.island;
    if (!inert) this.waking.add(ready.name);
    // What never wakes needs no dictionary either.
    const still: Typeset = (tex, display) => typeset(tex, display);
    return (
      <div data-island={inert ? undefined : ready.name} data-props={inert ? undefined : JSON.stringify(ready.props)}>
        <TypesetContext.Provider value={inert ? still : this.record}>
          <View props={ready.props} loaded={ready.loaded} engine={this.engine} />
        </TypesetContext.Provider>
      </div>
    );
  }
}
