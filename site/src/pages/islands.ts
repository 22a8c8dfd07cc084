/* islands.ts -- every live part of the site by its name.
 *
 * Each import is lazy: a page loads the chunks of its own islands only.
 * A module exports `island` (components/island.ts).
 */
import type { AnyIsland } from '../components/island';

export const islands: Readonly<Record<string, () => Promise<{ readonly island: AnyIsland }>>> = {
  example: () => import('../components/ExampleView'),
  shapes: () => import('../components/Shapes'),
};
