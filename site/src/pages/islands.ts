/* islands.ts -- every live part of the site by its name.
 *
 * Each import is lazy: a page loads the chunks of its own islands only.
 * A module exports `island` (components/island.ts).
 */
import type { AnyIsland } from '../components/island';

export const islands: Readonly<Record<string, () => Promise<{ readonly island: AnyIsland }>>> = {
  lab: () => import('../lab/Lab'),
  'codelab-plan': () => import('../codelab/Plan'),
  'codelab-model': () => import('../codelab/Model'),
  'codelab-run': () => import('../codelab/Run'),
  'codelab-checks': () => import('../codelab/Checks'),
  'codelab-scaling': () => import('../codelab/Scaling'),
  'codelab-temperature': () => import('../codelab/Temperature'),
  'codelab-exercises': () => import('../codelab/Exercises'),
  'codelab-quiz': () => import('../codelab/Quiz'),
  'codelab-next': () => import('../codelab/Next'),
  example: () => import('../components/ExampleView'),
  overview: () => import('./overview/Overview'),
  shapes: () => import('../components/Shapes'),
  'attention-gradients': () => import('./attention-gradients'),
  'attention-masked-cell': () => import('./attention-masked-cell'),
  'attention-dbk': () => import('./attention-dbk'),
  'attention-checks': () => import('./attention-checks'),
  'attention-parameters': () => import('./attention-parameters'),
  'verification-ucurve': () => import('./verification-ucurve'),
  'verification-steps': () => import('./verification-steps'),
  'verification-self-test': () => import('./verification-self-test'),
  'verification-chain': () => import('./verification-chain'),
  'feedforward-gelu': () => import('./feedforward-gelu'),
  'loss-surprise': () => import('./loss-surprise'),
  playground: () => import('../playground/Playground'),
  'training-run': () => import('../training/ShippedRun'),
  'training-live': () => import('../training/LiveRun'),
  'tokenizer-text': () => import('./tokenizer-text'),
  'tokenizer-training': () => import('./tokenizer-training'),
  'training-schedule': () => import('./training-schedule'),
  'generation-sampling': () => import('./generation-sampling'),
};
