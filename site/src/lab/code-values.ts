/* code-values.ts -- what a line of C holds at the chosen cell, in the names of the code. */
import type { CodeValue } from '../components/CodePanel';
import { fmt } from '../components/numbers';
import { dot, type AttentionLayer, type LayerTensor } from '../examples/attention-layer';
import { rowGradient, softmaxRow } from '../examples/attention-ledgers';
import type { LabState } from './lab-state';

const LINES: Readonly<Record<string, (l: AttentionLayer, s: LabState) => CodeValue>> = (() => {
  const square = (name: LayerTensor, code: string) => (l: AttentionLayer, s: LabState): CodeValue =>
    ({ name: `${code}[${s.j}]`, value: fmt(l.tensor(name)[(s.head * l.T + s.i) * l.T + s.j] as number) });
  const channel = (name: LayerTensor, code: string, by: 'i' | 'j') => (l: AttentionLayer, s: LabState): CodeValue =>
    ({ name: code, value: fmt(l.tensor(name)[s[by] * l.C + s.head * l.HS + (s.x % l.HS)] as number) });
  const whole = (name: LayerTensor, by: 'i' | 'j') => (l: AttentionLayer, s: LabState): CodeValue =>
    ({ name: `${name}[${s[by]},${s.x}]`, value: fmt(l.tensor(name)[s[by] * l.C + s.x] as number) });
  return {
    'attn.scores': square('scores', 'x'), 'attn.scaled': square('scaled', 'y'), 'attn.masked': square('masked', 'm'), 'attn.softmax': square('A', 'a'),
    'attn.values': channel('O', 'out', 'i'), 'attn.da': square('dA', 'g'), 'attn.ds': square('dS', 's'),
    'attn.dv': channel('dV', 'dv', 'j'), 'attn.dq': channel('dQ', 'dq', 'i'), 'attn.dk': channel('dK', 'dk', 'j'),
    'attn.q': whole('Q', 'i'), 'attn.k': whole('K', 'j'), 'attn.v': whole('V', 'j'), 'attn.out': whole('out', 'i'),
    'attn.do': whole('dO', 'i'), 'attn.dxn': whole('dXn', 'i'),
    'attn.loss': (l) => ({ name: 'loss', value: fmt(dot(l.engine, l.tensor('out'), l.tensor('dOut'))) }),
    n: (_, s) => ({ name: 'n', value: String(s.i + 1) }),
    max: (l, s) => ({ name: 'max', value: fmt(softmaxRow(l, s.head, s.i).max) }),
    sum: (l, s) => ({ name: 'sum', value: fmt(softmaxRow(l, s.head, s.i).sum) }),
    row: (l, s) => ({ name: 'row', value: fmt(rowGradient(l, s.head, s.i)) }),
  };
})();

/** Value by line, for the lines that have one. */
export function codeValues(shows: Readonly<Record<number, string>>, layer: AttentionLayer, state: LabState): Record<number, CodeValue> {
  const values: Record<number, CodeValue> = {};
  for (const [line, what] of Object.entries(shows)) {
    /* The loss of the example is made of out and dOut; a model's is another. */
    if (what === 'attn.loss' && layer.source === 'model') continue;
    const value = LINES[what]?.(layer, state);
    if (value) values[Number(line)] = value;
  }
  return values;
}
