/* published.ts -- figures of the published run of Code Lab 01 (its own program, seed 0), as
 * tests/golden/lab_seed0.json holds them.  They are shown as published, never mixed with ours. */
import type { SiteData } from '../components/site-data';

export interface Published {
  readonly loss: string;
  readonly uniform: string;
  /** Worst relative error of its central differences, with the step. */
  readonly differences: string;
  /** Largest difference from PyTorch. */
  readonly torch: number;
  readonly scaling: readonly { readonly dHead: number; readonly deviation: number; readonly rawMax: number; readonly scaledMax: number }[];
}

interface Golden {
  readonly published: {
    readonly loss: string;
    readonly uniform: string;
    readonly worst_relative_error_finite_difference: string;
    readonly torch_max_abs_difference: Readonly<Record<string, number>>;
    readonly scaling: readonly { readonly d_head: number; readonly score_std: number; readonly max_weight_raw: number; readonly max_weight_scaled: number }[];
  };
}

export function readPublished(site: Pick<SiteData, 'text'>): Published {
  const { published: p } = JSON.parse(site.text('tests/golden/lab_seed0.json')) as Golden;
  const result: Published = {
    loss: p.loss, uniform: p.uniform, differences: p.worst_relative_error_finite_difference,
    torch: Math.max(...Object.values(p.torch_max_abs_difference)),
    scaling: p.scaling.map((s) => ({ dHead: s.d_head, deviation: s.score_std, rawMax: s.max_weight_raw, scaledMax: s.max_weight_scaled })),
  };
  const numbers = [result.torch, ...result.scaling.flatMap((s) => [s.dHead, s.deviation, s.rawMax, s.scaledMax])];
  if (result.scaling.length === 0 || !numbers.every((x) => typeof x === 'number' && Number.isFinite(x))) throw new Error('lab_seed0.json: published: a figure is missing');
  return result;
}

/** A number that a C header defines: `#define NAME 1e-6` or `NAME = 16`. */
export function constant(site: Pick<SiteData, 'text'>, file: string, name: string): number {
  const found = new RegExp(`\\b${name}\\s*(?:=\\s*)?([0-9][0-9.e+-]*)`).exec(site.text(file));
  const value = Number(found?.[1] ?? NaN);
  if (!Number.isFinite(value)) throw new Error(`${file}: expected a number ${name}`);
  return value;
}
