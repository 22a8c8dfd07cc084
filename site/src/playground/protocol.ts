/* protocol.ts -- what the page and the worker say to each other.
 *
 * The model lives in the worker, so that neither a long text nor a large checkpoint
 * freezes the page.  Each request has a number; its answer carries it back.  Draws
 * come as they are made.
 */
import type { Filters, Sizes } from '../engine/types';
import type { Bits } from '../provenance/bits';
import type { Manifest } from '../provenance/manifest';
import type { VerifiedFile } from '../provenance/verify';

export interface OpenedModel {
  readonly sizes: Sizes;
  readonly parameters: number;
  /** Positions that count: those that training used, fewer where all heads' weights would be too many. */
  readonly window: number;
  readonly windowWords: string;
  /** Null for a visitor's own files. */
  readonly manifest: Manifest | null;
  readonly moduleHash: string | null;
  /** For a visitor's own files there is nothing to compare with: expected is the hash itself. */
  readonly files: readonly VerifiedFile[];
}

/** A text, in tokens: those of the window, which are shown, and how many there are. */
export interface Read {
  readonly ids: Int32Array;
  readonly tokens: readonly string[];
  readonly count: number;
  readonly bytes: number;
  /** (L, NH, T, T) */
  readonly att: Float32Array;
  readonly milliseconds: number;
}

export interface Candidate {
  readonly id: number;
  readonly token: string;
  readonly plain: number;
  readonly drawn: number;
  /** 0 kept, 1 cut by top-k, 2 by top-p. */
  readonly cut: number;
}
export interface Next {
  readonly first: readonly Candidate[];
  readonly kept: number;
  readonly of: number;
  /** Probability, unfiltered, of all those that `first` leaves out. */
  readonly rest: number;
}

export interface Draw {
  readonly id: number;
  readonly bytes: Uint8Array;
  readonly token: string;
  readonly probability: number;
}
/** End of a request to draw. */
export interface Drawn {
  readonly count: number;
  readonly milliseconds: number;
  readonly ended: boolean;
}

export type Request =
  | { readonly kind: 'open'; readonly base: string }
  | { readonly kind: 'own'; readonly base: string; readonly files: readonly File[]; readonly heads: number | null }
  | { readonly kind: 'read'; readonly text: string; readonly filters: Filters }
  | { readonly kind: 'next'; readonly filters: Filters }
  | { readonly kind: 'draw'; readonly count: number; readonly filters: Filters; readonly seed: number }
  | { readonly kind: 'restart'; readonly filters: Filters }
  | { readonly kind: 'bits' };

export interface Answers {
  readonly open: OpenedModel;
  readonly own: OpenedModel;
  readonly read: Read & { readonly next: Next };
  readonly next: Next;
  readonly draw: Drawn;
  readonly restart: Next;
  readonly bits: Bits;
}

export interface Failure {
  readonly message: string;
  /** Files whose hash differs, where that is why. */
  readonly mismatch: readonly VerifiedFile[] | null;
}

export type ToWorker = { readonly number: number; readonly request: Request } | { readonly stop: true };
export type FromWorker =
  | { readonly number: number; readonly answer: Answers[keyof Answers] }
  | { readonly number: number; readonly failure: Failure }
  | { readonly number: number; readonly draw: Draw; readonly next: Next };
