/* Model.tsx -- the lab's model in words, and as a picture with the shapes of a run. */
import type { JSX } from 'preact';
import { Case } from '../components/Case';
import { defineIsland, type ViewProps } from '../components/island';
import { Tex } from '../components/Tex';
import { drawn, FIRST } from '../examples/codelab';
import { FlowPicture, type Shapes } from './FlowPicture';
import { Part } from './Part';

function View({ loaded }: ViewProps<Record<string, never>, Shapes>): JSX.Element {
  const [T, C] = loaded['X'] ?? [], D = loaded['Q']?.[1], V = loaded['logits']?.[1];
  return (
    <Part title="The model" words={<>
      <p>
        One causal attention head, small enough to look at every number. Tokens are rows of <Tex tex="X" />: nobody has learned
        them, they are drawn at random, and so are the weights. Three products make queries, keys and values. Each token
        compares its query with the keys of the tokens up to itself, turns the comparisons into weights that sum to one, and takes
        that mixture of values. A last product gives one score for each class, the <em>logits</em>. The loss says how surprised
        they are by the right class: the <a href="loss.html">cross-entropy</a>.
      </p>
      <p>
        There are no biases, so each gradient is one product of matrices. <Tex tex="X" /> has a gradient too. It feeds three
        products, so three paths bring it back, and they add up.
      </p>
    </>}>
      <Case small source="codelab" note={drawn(FIRST)} label="The model as a picture">
        <FlowPicture shapes={loaded} />
        <p class="cap">T = {T} tokens, C = {C} channels of a token, D = {D} columns of the head, V = {V} classes, H heads of <Tex tex="d_h = D / H" /> columns.</p>
      </Case>
    </Part>
  );
}

export const island = defineIsland<Record<string, never>, Shapes>({
  inert: true,
  load: async (_, engine) => Object.fromEntries([...engine.lab(FIRST).tensors].map(([name, t]) => [name, t.shape])),
  view: View,
});
