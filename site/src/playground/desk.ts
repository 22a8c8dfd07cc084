/* desk.ts -- the page's side of the worker: a promise for each request. */
import type { Answers, Draw, Failure, FromWorker, Next, Request, ToWorker } from './protocol';

/** A failure that the worker reported. */
export class DeskError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

interface Waiting {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
  readonly onDraw: ((draw: Draw, next: Next) => void) | undefined;
}

export class Desk {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #number = 0;

  constructor() {
    this.#worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    this.#worker.onmessage = (event: MessageEvent<FromWorker>) => this.#take(event.data);
    this.#worker.onerror = (event) => {
      const error = new DeskError({ message: event.message || 'the worker did not start', mismatch: null });
      for (const w of this.#waiting.values()) w.reject(error);
      this.#waiting.clear();
    };
  }

  #take(data: FromWorker): void {
    const waiting = this.#waiting.get(data.number);
    if (!waiting) return;
    if ('draw' in data) {
      waiting.onDraw?.(data.draw, data.next);
      return;
    }
    this.#waiting.delete(data.number);
    if ('failure' in data) waiting.reject(new DeskError(data.failure));
    else waiting.resolve(data.answer as never);
  }

  ask<K extends Request['kind']>(request: Extract<Request, { kind: K }>, onDraw?: (draw: Draw, next: Next) => void): Promise<Answers[K]> {
    const number = ++this.#number;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject, onDraw });
      this.#worker.postMessage({ number, request } satisfies ToWorker);
    });
  }

  /** Ends a run of draws after the one that is being made. */
  stop(): void {
    this.#worker.postMessage({ stop: true } satisfies ToWorker);
  }

  close(): void {
    this.#worker.terminate();
    this.#waiting.clear();
  }
}
