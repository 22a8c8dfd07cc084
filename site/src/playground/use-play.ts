/* use-play.ts -- the playground's doings: opens a model, reads the text, draws.
 *
 * Answers that a newer question overtook are dropped.
 */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Filters } from '../engine/types';
import type { Bits } from '../provenance/bits';
import type { Desk, DeskError } from './desk';
import type { Draw, Drawn, Failure, Next, OpenedModel, Read } from './protocol';

export type Phase =
  | { readonly status: 'idle' }
  | { readonly status: 'opening'; readonly words: string }
  | { readonly status: 'failed'; readonly failure: Failure }
  | { readonly status: 'ready'; readonly opened: OpenedModel };

export interface Run {
  readonly draws: readonly Draw[];
  readonly running: boolean;
  readonly ended: boolean;
  readonly last: Drawn | null;
  /** Settings with which all draws were made; null where they changed on the way. */
  readonly how: string | null;
}
const NO_RUN: Run = { draws: [], running: false, ended: false, last: null, how: null };

const failureOf = (error: unknown): Failure =>
  error instanceof Error && 'failure' in error ? (error as DeskError).failure : { message: error instanceof Error ? error.message : String(error), mismatch: null };

export interface Doings {
  readonly phase: Phase;
  readonly read: Read | null;
  readonly next: Next | null;
  readonly run: Run;
  readonly bits: Bits | string | null;
  /** Why the text cannot be shown. */
  readonly problem: string | null;
  /** Own files that were refused: what was loaded before stays. */
  readonly refused: string | null;
  readonly openSite: () => void;
  readonly openOwn: (files: readonly File[], heads: number | null) => Promise<boolean>;
  readonly readText: (text: string, filters: Filters) => Promise<boolean>;
  readonly filter: (filters: Filters) => void;
  readonly draw: (count: number, filters: Filters, seed: number) => Promise<number>;
  readonly stop: () => void;
  readonly restart: (filters: Filters) => void;
}

export const howOf = (filters: Filters, seed: number): string => JSON.stringify([filters, seed]);

export function useDoings(): Doings {
  const desk = useRef<Desk | null>(null);
  const [phase, setPhase] = useState<Phase>({ status: 'idle' });
  const [read, setRead] = useState<Read | null>(null);
  const [next, setNext] = useState<Next | null>(null);
  const [run, setRun] = useState<Run>(NO_RUN);
  const [bits, setBits] = useState<Bits | string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const turn = useRef(0), filtering = useRef(false), wanted = useRef<Filters | null>(null), draws = useRef<Draw[]>([]);
  const now = useRef(phase);
  now.current = phase;
  useEffect(() => () => desk.current?.close(), []);

  const deskOf = async (): Promise<Desk> => {
    const { Desk: Made } = await import('./desk');
    desk.current ??= new Made();
    return desk.current;
  };
  const clear = (): void => {
    turn.current++;
    draws.current = [];
    setRead(null);
    setNext(null);
    setRun(NO_RUN);
    setBits(null);
    setProblem(null);
  };

  const compare = (d: Desk): void => {
    const mine = turn.current;
    setTimeout(() => {
      d.ask<'bits'>({ kind: 'bits' }).then(setBits, (error: unknown) => { if (mine <= turn.current) setBits(failureOf(error).message); });
    }, 700);
  };

  const openSite = useCallback((): void => {
    setPhase({ status: 'opening', words: 'Loading the model, and recomputing the sha256 of each of its files\u2026' });
    clear();
    deskOf().then(async (d) => {
      const opened = await d.ask<'open'>({ kind: 'open', base: document.baseURI });
      setPhase({ status: 'ready', opened });
      compare(d);
    }).catch((error: unknown) => setPhase({ status: 'failed', failure: failureOf(error) }));
  }, []);

  const openOwn = useCallback(async (files: readonly File[], heads: number | null): Promise<boolean> => {
    const before = now.current;
    setPhase({ status: 'opening', words: 'Reading your files\u2026' });
    setRefused(null);
    try {
      const opened = await (await deskOf()).ask<'own'>({ kind: 'own', base: document.baseURI, files, heads });
      clear();
      setPhase({ status: 'ready', opened });
      return true;
    } catch (error) {
      setRefused(failureOf(error).message);
      setPhase(before.status === 'opening' ? { status: 'idle' } : before);
      return false;
    }
  }, []);

  const readText = useCallback(async (text: string, filters: Filters): Promise<boolean> => {
    const mine = ++turn.current;
    desk.current?.stop();
    // At once: what is drawn from here on, even before the answer comes, is of the new text.
    draws.current = [];
    setRun(NO_RUN);
    try {
      const found = await (await deskOf()).ask<'read'>({ kind: 'read', text, filters });
      if (mine !== turn.current) return false;
      setRead(found);
      setNext(found.next);
      setProblem(null);
      return true;
    } catch (error) {
      if (mine !== turn.current) return false;
      setRead(null);
      setNext(null);
      setProblem(failureOf(error).message);
      return false;
    }
  }, []);

  /** Sliders move faster than lists are made: only the latest place is asked for. */
  const filter = useCallback((filters: Filters): void => {
    wanted.current = filters;
    if (filtering.current || !desk.current) return;
    filtering.current = true;
    const go = async (): Promise<void> => {
      try {
        while (wanted.current && desk.current) {
          const mine = turn.current, asked = wanted.current;
          wanted.current = null;
          const found = await desk.current.ask<'next'>({ kind: 'next', filters: asked });
          if (mine === turn.current) setNext(found);
        }
      } finally {
        filtering.current = false; // at once: a change that comes before the next picture starts a new round
      }
    };
    go().catch((error: unknown) => setProblem(failureOf(error).message));
  }, []);

  const draw = useCallback(async (count: number, filters: Filters, seed: number): Promise<number> => {
    const d = desk.current;
    if (!d) return 0;
    const mine = turn.current, how = howOf(filters, seed);
    setRun((r) => ({ ...r, running: true, how: r.draws.length === 0 || r.how === how ? how : null }));
    // Tokens may come faster than pictures: each picture shows all that have come.
    let frame = 0, latest: Next | null = null;
    const show = (): void => {
      frame = 0;
      if (mine !== turn.current || !latest) return;
      const all = draws.current.slice();
      setRun((r) => ({ ...r, draws: all }));
      setNext(latest);
    };
    try {
      const last = await d.ask<'draw'>({ kind: 'draw', count, filters, seed }, (made, after) => {
        if (mine !== turn.current) return;
        draws.current.push(made);
        latest = after;
        frame ||= requestAnimationFrame(show);
      });
      cancelAnimationFrame(frame);
      show();
      if (mine === turn.current) setRun((r) => ({ ...r, running: false, last, ended: last.ended }));
      return last.count;
    } catch (error) {
      if (mine === turn.current) { setRun((r) => ({ ...r, running: false })); setProblem(failureOf(error).message); }
      return 0;
    }
  }, []);

  const stop = useCallback((): void => desk.current?.stop(), []);

  const restart = useCallback((filters: Filters): void => {
    const mine = ++turn.current;
    draws.current = [];
    setRun(NO_RUN);
    desk.current?.ask<'restart'>({ kind: 'restart', filters }).then((found) => { if (mine === turn.current) setNext(found); }, () => undefined);
  }, []);

  return { phase, read, next, run, bits, problem, refused, openSite, openOwn, readText, filter, draw, stop, restart };
}
