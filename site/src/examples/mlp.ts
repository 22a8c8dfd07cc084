/* mlp.ts -- the two-layer network in double, forward and backward, and its ledgers.
 *
 * The feed-forward example and the block example both run it.  Names are those
 * of gpt.c's header: n in, f, g = gelu(f), p out.
 */
import type { Engine } from '../engine/types';
import type { ExampleTensor } from './types';
import { chain, operand } from './arithmetic';
import { geluBackward, linearBackward, type Definitions } from './definitions';

export interface MlpWeights {
  readonly Wfc: Float64Array;
  readonly bfc: Float64Array;
  readonly Wproj: Float64Array;
  readonly bproj: Float64Array;
}

export function mlpForward(d: Definitions, n: Float64Array, m: MlpWeights, N: number, C: number, FF: number) {
  const f = d.linear(n, m.Wfc, m.bfc, N, C, FF);
  const g = d.gelu(f);
  return { f, g, p: d.linear(g, m.Wproj, m.bproj, N, FF, C) };
}

export function mlpBackward(engine: Engine, dp: Float64Array, kept: { n: Float64Array; f: Float64Array; g: Float64Array },
  m: MlpWeights, N: number, C: number, FF: number) {
  const proj = linearBackward(engine, dp, kept.g, m.Wproj, N, FF, C);
  const df = geluBackward(engine, proj.dx, kept.f);
  const fc = linearBackward(engine, df, kept.n, m.Wfc, N, C, FF);
  return { dg: proj.dx, dWproj: proj.dw, dbproj: proj.db, df, dn: fc.dx, dWfc: fc.dw, dbfc: fc.db };
}

/** sqrt(2/pi) (x + 0.044715 x^3), as gelu.z reads; only to show what stands between x and y. */
const z = (x: number): number => Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x);

/** gelu.y: y = x (1 + tanh z) / 2. */
export function geluLedger(engine: Engine, name: string, from: string, x: Float64Array, y: Float64Array, F: number): ExampleTensor['ledger'] {
  return (n, i) => {
    const v = x[n * F + i]!, t = engine.elementary('tanh', z(v));
    return chain(`${name}[${n},${i}]`, [
      { head: `${from}[${n},${i}]`, operand: v, result: v },
      { head: 'z', operand: null, result: z(v) },
      { head: 'tanh z', operand: null, result: t },
      { head: 'gate: (1 + tanh z) / 2', operand: null, result: (1 + t) / 2 },
      { head: `gate × ${from}[${n},${i}]`, operand: v, result: null },
    ], y[n * F + i]!, `${operand(v)} × (1 + ${operand(t)}) / 2`);
  };
}

/** gelu.dx: dx = dy times the slope; the slope is what gelu_backward returns for dy = 1. */
export function geluDxLedger(engine: Engine, name: string, up: string, from: string, x: Float64Array, dy: Float64Array,
  dx: Float64Array, F: number): ExampleTensor['ledger'] {
  const slope = geluBackward(engine, new Float64Array(x.length).fill(1), x);
  return (n, i) => {
    const at = n * F + i, g = dy[at]!, s = slope[at]!;
    return chain(`${name}[${n},${i}]`, [
      { head: `slope at ${from}[${n},${i}]`, operand: x[at]!, result: s },
      { head: `× ${up}[${n},${i}]`, operand: g, result: null },
    ], dx[at]!, `${operand(s)} × ${operand(g)}`);
  };
}
