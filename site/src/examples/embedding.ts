/* embedding.ts -- the six words as tokens: rows of two tables, added.
 *
 * The sentence is in lower case here, so that "the" is one token which occurs
 * twice and the gradient of its row has two terms.
 */
import type { Engine } from '../engine/types';
import type { Example, ExampleTensor } from './types';
import inputs from '../../content/inputs/embedding.json';
import { chain, computed, input, operand, sum, wholeInput } from './arithmetic';
import { definitions, flat } from './definitions';
import { gapTensor, type Loss } from './gap';

/** The vocabulary of this example. Token 0 occurs twice. */
export const VOCABULARY = ['the', 'cat', 'sat', 'on', 'mat'] as const;

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const tokens = Int32Array.from(given.tokens as readonly number[]);
  const wte = flat(given.wte, 'wte'), wpe = flat(given.wpe, 'wpe'), dx = flat(given.dx, 'dx');
  const T = tokens.length, C = dx.length / T, V = wte.length / C, P = wpe.length / C;
  const x = definitions(engine, 'f64').embedding(tokens, wte, wpe, T, C);
  const dwte = new Float64Array(wte.length), dwpe = new Float64Array(wpe.length);
  engine.call('f64', 'embedding_backward', dwte, dwpe, dx, tokens, 1, T, 0, C);

  const words = Array.from(tokens, (k) => VOCABULARY[k] ?? `token ${k}`);
  const positions = words.map((w, t) => `${t} ${w}`);
  const rows = Array.from({ length: V }, (_, k) => `${k} ${VOCABULARY[k] ?? ''}`);
  const table = { rows, rowAxis: 'token', columnAxis: 'channel' };
  const places = { rows: positions, rowAxis: 'position', columnAxis: 'channel' };
  const loss: Loss = (d, a) => d.dot(d.embedding(tokens, a.wte!, a.wpe!, T, C), a.dx!);

  return [
    wholeInput({ id: 'tokens', tex: '\\mathrm{tokens}', title: 'The sentence, as tokens', shape: [T], letters: '(T)', data: Float64Array.from(tokens), columns: positions, columnAxis: 'position',
      whole: { least: 0, most: V - 1, what: 'id of a token' } }),
    input({ id: 'wte', tex: '\\mathrm{wte}', title: 'Table of tokens', shape: [V, C], letters: '(V, C)', data: wte, ...table }),
    input({ id: 'wpe', tex: '\\mathrm{wpe}', title: 'Table of positions', shape: [P, C], letters: '(positions, C)', data: wpe, ...places }),
    computed({ id: 'x', tex: 'x', title: 'Embedding: what enters the first block', shape: [T, C], letters: '(T, C)', data: x, ...places },
      'embed.x', (t, i) => {
        const k = tokens[t]!, a = wte[k * C + i]!, b = wpe[t * C + i]!;
        return chain(`x[${t},${i}]`, [
          { head: `wte[${k},${i}], the token "${words[t]}"`, operand: a, result: a },
          { head: `+ wpe[${t},${i}], position ${t}`, operand: b, result: null },
        ], x[t * C + i]!, `${operand(a)} + ${operand(b)}`);
      }),
    input({ id: 'dx', tex: '\\mathrm{d}x', title: 'Gradient that comes back from the first block', shape: [T, C], letters: '(T, C)', data: dx, ...places }),
    computed({ id: 'dwte', tex: '\\mathrm{dwte}', title: 'Gradient of the table of tokens', shape: [V, C], letters: '(V, C)', data: dwte, ...table },
      'embed.dwte', (k, i) => sum(`dwte[${k},${i}]`, `dx[t,${i}]`,
        words.flatMap((w, t) => (tokens[t] === k ? [{ head: `position ${t}, "${w}"`, value: dx[t * C + i]! }] : [])),
        dwte[k * C + i]!)),
    computed({ id: 'dwpe', tex: '\\mathrm{dwpe}', title: 'Gradient of the table of positions', shape: [P, C], letters: '(positions, C)', data: dwpe, ...places },
      'embed.dwpe', (t, i) => sum(`dwpe[${t},${i}]`, `dx[${t},${i}]`,
        t < T ? [{ head: 'the one batch row', value: dx[t * C + i]! }] : [], dwpe[t * C + i]!)),
    gapTensor(engine, { wte, wpe, dx }, [
      { name: 'wte', of: [{ hand: dwte, by: 'wte' }], loss },
      { name: 'wpe', of: [{ hand: dwpe, by: 'wpe' }], loss },
    ]),
  ];
}

export const example: Example = { id: 'embedding', inputs, run, core: true };
