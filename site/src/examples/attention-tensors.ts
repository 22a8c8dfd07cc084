/* attention-tensors.ts -- what each tensor of an attention layer is called and how it
 * is drawn: a table, in the order in which the tensors are computed. */
import type { LayerTensor } from './attention-layer';

export type Form = 'TC' | 'CC' | 'C' | 'HTT';

export interface TensorFacts {
  readonly form: Form;
  readonly title: string;
  readonly tex: string;
  /** Equation that computes it; null for an input. */
  readonly label: string | null;
  /** What a row does: reads (a query), is read (a key), or is a channel. */
  readonly row: 'reads' | 'read' | 'channel';
}

export const LETTERS: Readonly<Record<Form, string>> = { TC: '(T, d)', CC: '(d, d)', C: '(d)', HTT: '(H, T, T)' };

const facts = (form: Form, title: string, tex: string, label: string | null, row: TensorFacts['row'] = 'reads'): TensorFacts =>
  ({ form, title, tex, label, row });

export const TENSORS: Readonly<Record<LayerTensor, TensorFacts>> = {
  Xn: facts('TC', 'layer-normalised input', 'X_n', null),
  Wq: facts('CC', 'weights of the queries', 'W_q', null, 'channel'),
  bq: facts('C', 'bias of the queries', 'b_q', null, 'channel'),
  Wk: facts('CC', 'weights of the keys', 'W_k', null, 'channel'),
  bk: facts('C', 'bias of the keys', 'b_k', null, 'channel'),
  Wv: facts('CC', 'weights of the values', 'W_v', null, 'channel'),
  bv: facts('C', 'bias of the values', 'b_v', null, 'channel'),
  Wo: facts('CC', 'weights of the output projection', 'W_o', null, 'channel'),
  bo: facts('C', 'bias of the output projection', 'b_o', null, 'channel'),
  dOut: facts('TC', 'gradient from above', '\\mathrm{d}\\mathrm{out}', null),
  Q: facts('TC', 'queries', 'Q', 'attn.q'),
  K: facts('TC', 'keys', 'K', 'attn.k', 'read'),
  V: facts('TC', 'values', 'V', 'attn.v', 'read'),
  scores: facts('HTT', 'raw scores', 'QK^{\\top}', 'attn.scores'),
  scaled: facts('HTT', 'scaled scores', 'S', 'attn.scaled'),
  masked: facts('HTT', 'masked scores', 'S', 'attn.masked'),
  A: facts('HTT', 'attention weights', 'A', 'attn.softmax'),
  O: facts('TC', 'heads\u2019 outputs, side by side', 'O', 'attn.values'),
  out: facts('TC', 'output of the layer', '\\mathrm{out}', 'attn.out'),
  dWo: facts('CC', 'gradient on the output weights', '\\mathrm{d}W_o', 'attn.dwo', 'channel'),
  dbo: facts('C', 'gradient on the output bias', '\\mathrm{d}b_o', 'attn.dbo', 'channel'),
  dO: facts('TC', 'gradient on the head outputs', '\\mathrm{d}O', 'attn.do'),
  dV: facts('TC', 'gradient on the values', '\\mathrm{d}V', 'attn.dv', 'read'),
  dA: facts('HTT', 'gradient on the weights', '\\mathrm{d}A', 'attn.da'),
  dS: facts('HTT', 'gradient on the scores', '\\mathrm{d}S', 'attn.ds'),
  dQ: facts('TC', 'gradient on the queries', '\\mathrm{d}Q', 'attn.dq'),
  dK: facts('TC', 'gradient on the keys', '\\mathrm{d}K', 'attn.dk', 'read'),
  dWq: facts('CC', 'gradient on the query weights', '\\mathrm{d}W_q', 'attn.dwq', 'channel'),
  dbq: facts('C', 'gradient on the query bias', '\\mathrm{d}b_q', 'attn.dbq', 'channel'),
  dWk: facts('CC', 'gradient on the key weights', '\\mathrm{d}W_k', 'attn.dwk', 'channel'),
  dbk: facts('C', 'gradient on the key bias', '\\mathrm{d}b_k', 'attn.dbk', 'channel'),
  dWv: facts('CC', 'gradient on the value weights', '\\mathrm{d}W_v', 'attn.dwv', 'channel'),
  dbv: facts('C', 'gradient on the value bias', '\\mathrm{d}b_v', 'attn.dbv', 'channel'),
  dXq: facts('TC', 'gradient on the input, through the queries', '\\mathrm{d}Q\\,W_q^{\\top}', 'attn.dxn'),
  dXk: facts('TC', 'gradient on the input, through the keys', '\\mathrm{d}K\\,W_k^{\\top}', 'attn.dxn'),
  dXv: facts('TC', 'gradient on the input, through the values', '\\mathrm{d}V\\,W_v^{\\top}', 'attn.dxn'),
  dXn: facts('TC', 'gradient on the input', '\\mathrm{d}X_n', 'attn.dxn'),
};

/** Tensors whose cells above the diagonal are masked. */
export const MASKED: ReadonlySet<LayerTensor> = new Set<LayerTensor>(['masked', 'A', 'dS']);
