/* feedforward.ts -- four rows through the two-layer network and back.
 *
 * The hidden layer is smaller here than in a model, so that its matrices can be
 * seen whole.
 */
import type { Engine } from '../engine/types';
import type { Example, ExampleTensor } from './types';
import inputs from '../../content/inputs/feedforward.json';
import { computed, input, linearDbLedger, linearDwLedger, linearDxLedger, linearLedger } from './arithmetic';
import { attentionTokens } from './attention-inputs';
import { definitions, flat } from './definitions';
import { gapTensor, type Loss } from './gap';
import { geluDxLedger, geluLedger, mlpBackward, mlpForward } from './mlp';

function run(engine: Engine, given: Example['inputs']): readonly ExampleTensor[] {
  const n = flat(given.n, 'n'), dp = flat(given.dp, 'dp');
  const w = {
    Wfc: flat(given.Wfc, 'Wfc'), bfc: flat(given.bfc, 'bfc'),
    Wproj: flat(given.Wproj, 'Wproj'), bproj: flat(given.bproj, 'bproj'),
  };
  const C = w.bproj.length, FF = w.bfc.length, N = n.length / C, words = attentionTokens.slice(0, N);
  const { f, g, p } = mlpForward(definitions(engine, 'f64'), n, w, N, C, FF);
  const b = mlpBackward(engine, dp, { n, f, g }, w, N, C, FF);
  const loss: Loss = (d, a) => d.dot(
    mlpForward(d, a.n!, { Wfc: a.Wfc!, bfc: a.bfc!, Wproj: a.Wproj!, bproj: a.bproj! }, N, C, FF).p, a.dp!);

  const narrow = { shape: [N, C], letters: '(N, C)', rows: words, rowAxis: 'row', columnAxis: 'channel' };
  const wide = { shape: [N, FF], letters: '(N, FF)', rows: words, rowAxis: 'row', columnAxis: 'hidden unit' };
  const fc = { shape: [C, FF], letters: '(C, FF)', rowAxis: 'channel in', columnAxis: 'hidden unit' };
  const proj = { shape: [FF, C], letters: '(FF, C)', rowAxis: 'hidden unit', columnAxis: 'channel out' };
  const hidden = { shape: [FF], letters: '(FF)', columnAxis: 'hidden unit' };
  const channel = { shape: [C], letters: '(C)', columnAxis: 'channel' };

  return [
    input({ id: 'n', tex: 'n', title: 'Input: the normalised rows', data: n, ...narrow }),
    input({ id: 'Wfc', tex: 'W_{\\mathrm{fc}}', title: 'Weights of the first layer', data: w.Wfc, ...fc }),
    input({ id: 'bfc', tex: 'b_{\\mathrm{fc}}', title: 'Bias of the first layer', data: w.bfc, ...hidden }),
    computed({ id: 'f', tex: 'f', title: 'First layer', data: f, ...wide },
      'linear.y', linearLedger('f', 'n', 'Wfc', 'bfc', n, w.Wfc, w.bfc, f, C, FF)),
    computed({ id: 'g', tex: 'g', title: 'GELU of every number', data: g, ...wide },
      'gelu.y', geluLedger(engine, 'g', 'f', f, g, FF)),
    input({ id: 'Wproj', tex: 'W_{\\mathrm{proj}}', title: 'Weights of the second layer', data: w.Wproj, ...proj }),
    input({ id: 'bproj', tex: 'b_{\\mathrm{proj}}', title: 'Bias of the second layer', data: w.bproj, ...channel }),
    computed({ id: 'p', tex: 'p', title: 'Second layer: the output', data: p, ...narrow },
      'mlp.proj', linearLedger('p', 'g', 'Wproj', 'bproj', g, w.Wproj, w.bproj, p, FF, C)),
    input({ id: 'dp', tex: '\\mathrm{d}p', title: 'Gradient that comes back', data: dp, ...narrow }),
    computed({ id: 'dg', tex: '\\mathrm{d}g', title: 'Gradient before the second layer', data: b.dg, ...wide },
      'linear.dx', linearDxLedger('dg', 'dp', 'Wproj', dp, w.Wproj, b.dg, FF, C)),
    computed({ id: 'dWproj', tex: '\\mathrm{d}W_{\\mathrm{proj}}', title: 'Gradient of the second weights', data: b.dWproj, ...proj },
      'linear.dw', linearDwLedger('dWproj', 'g', 'dp', g, dp, b.dWproj, words, FF, C)),
    computed({ id: 'dbproj', tex: '\\mathrm{d}b_{\\mathrm{proj}}', title: 'Gradient of the second bias', data: b.dbproj, ...channel },
      'linear.db', linearDbLedger('dbproj', 'dp', dp, b.dbproj, words, C)),
    computed({ id: 'df', tex: '\\mathrm{d}f', title: 'Gradient before the GELU', data: b.df, ...wide },
      'gelu.dx', geluDxLedger(engine, 'df', 'dg', 'f', f, b.dg, b.df, FF)),
    computed({ id: 'dn', tex: '\\mathrm{d}n', title: 'Gradient of the input', data: b.dn, ...narrow },
      'linear.dx', linearDxLedger('dn', 'df', 'Wfc', b.df, w.Wfc, b.dn, C, FF)),
    computed({ id: 'dWfc', tex: '\\mathrm{d}W_{\\mathrm{fc}}', title: 'Gradient of the first weights', data: b.dWfc, ...fc },
      'linear.dw', linearDwLedger('dWfc', 'n', 'df', n, b.df, b.dWfc, words, C, FF)),
    computed({ id: 'dbfc', tex: '\\mathrm{d}b_{\\mathrm{fc}}', title: 'Gradient of the first bias', data: b.dbfc, ...hidden },
      'linear.db', linearDbLedger('dbfc', 'df', b.df, b.dbfc, words, FF)),
    gapTensor(engine, { n, ...w, dp }, [
      { name: 'n', of: [{ hand: b.dn, by: 'n' }], loss },
      { name: 'Wfc', of: [{ hand: b.dWfc, by: 'Wfc' }], loss },
      { name: 'bfc', of: [{ hand: b.dbfc, by: 'bfc' }], loss },
      { name: 'Wproj', of: [{ hand: b.dWproj, by: 'Wproj' }], loss },
      { name: 'bproj', of: [{ hand: b.dbproj, by: 'bproj' }], loss },
    ]),
  ];
}

export const example: Example = { id: 'feedforward', inputs, run, core: true };
