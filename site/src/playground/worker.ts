/* worker.ts -- the model, in a thread of its own: opens it, reads texts, draws tokens. */
import { visible } from '../components/Tokens';
import { loadEngine } from '../engine/index';
import type { Engine, Filters, Generation, Model, NextToken, Sizes, Tokenizer } from '../engine/types';
import { compareBits } from '../provenance/bits';
import { LARGEST_FILE, meant, readCheckpoint } from '../provenance/checkpoint';
import type { Manifest } from '../provenance/manifest';
import { FormatError } from '../provenance/safetensors';
import { loadModel, MismatchError, sha256, type VerifiedFile } from '../provenance/verify';
import type { Answers, Candidate, FromWorker, Next, OpenedModel, Request, ToWorker } from './protocol';

const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
};

/** Weights of all heads that are kept at once: 32 MB. */
const MOST_CELLS = 8e6;
const SHOWN = 12;

interface Open {
  readonly model: Model;
  readonly tokenizer: Tokenizer;
  readonly manifest: Manifest | null;
  readonly window: number;
  /** The text, in tokens, and what was drawn behind it. */
  prompt: Int32Array;
  drawn: number[];
  logits: Float64Array;
  generation: { readonly g: Generation; readonly how: string } | null;
}

let engine: Engine | null = null;
let open: Open | null = null;
let stopped = false;

async function engineOf(base: string): Promise<Engine> {
  if (engine) return engine;
  const answer = await fetch(new URL('vitrine.wasm', base));
  if (!answer.ok) throw new FormatError(`vitrine.wasm: the server answered ${answer.status}`);
  engine = await loadEngine(await answer.arrayBuffer());
  return engine;
}

function current(): Open {
  if (!open) throw new FormatError('no model is open');
  return open;
}

function forget(): void {
  open?.generation?.g.close();
  open?.model.close();
  open?.tokenizer.close();
  open = null;
}

function windowOf(sizes: Sizes, seq: unknown): { readonly window: number; readonly windowWords: string } {
  const trained = typeof seq === 'number' && Number.isInteger(seq) && seq >= 1 && seq < sizes.T ? seq : sizes.T;
  const room = Math.max(1, Math.floor(Math.sqrt(MOST_CELLS / (sizes.L * sizes.NH))));
  if (room < trained) return { window: room, windowWords: 'as many as this page can draw for all heads at once' };
  return { window: trained, windowWords: trained < sizes.T ? 'the positions that the model was trained on' : 'all positions that the model has' };
}

function start(model: Model, tokenizer: Tokenizer, manifest: Manifest | null, window: number): void {
  forget();
  open = { model, tokenizer, manifest, window, prompt: new Int32Array(0), drawn: [], logits: new Float64Array(model.sizes.V), generation: null };
}

async function openSite(base: string): Promise<OpenedModel> {
  const e = await engineOf(base);
  const found = await loadModel(new URL('data/playground/', base).href, e);
  const kept = windowOf(found.sizes, found.manifest.settings?.seq);
  // The module that runs here is the one that the manifest names, not only the file beside it.
  const named = found.manifest.files['../../vitrine.wasm']?.sha256;
  if (e.sha256 !== null && named !== undefined && e.sha256 !== named) {
    throw new MismatchError([{ name: '../../vitrine.wasm', expected: named, found: e.sha256, verdict: 'mismatch', bytes: 0 }]);
  }
  start(found.model, found.tokenizer, found.manifest, kept.window);
  return { ...kept, sizes: found.sizes, parameters: found.manifest.model.parameters, manifest: found.manifest, moduleHash: e.sha256, files: found.files };
}

async function openOwn(base: string, files: readonly File[], heads: number | null): Promise<OpenedModel> {
  const e = await engineOf(base);
  const known = files.filter((f) => meant(f.name) !== null);
  if (known.length === 0) throw new FormatError(`${files.map((f) => f.name).slice(0, 3).join(', ')}: expected model.safetensors, tokenizer.json and config.json`);
  const large = known.find((f) => f.size > LARGEST_FILE);
  if (large) throw new FormatError(`${large.name}: ${large.size} bytes; expected at most ${LARGEST_FILE}, what a page can hold`);
  const contents = await Promise.all(known.map(async (f) => ({ name: f.name, bytes: new Uint8Array(await f.arrayBuffer()) })));
  const checkpoint = readCheckpoint(contents, heads);
  const hashes: VerifiedFile[] = [];
  for (const f of contents.filter((c) => checkpoint.used.includes(c.name))) {
    const hash = await sha256(f.bytes);
    hashes.push({ name: f.name, expected: hash ?? '', found: hash, verdict: 'cannot', bytes: f.bytes.length });
  }
  forget(); // before the new one: two large ones would not fit
  const { merges, special, order } = checkpoint.tokenizer;
  const tokenizer = e.openTokenizer(merges, special, order);
  const kept = windowOf(checkpoint.sizes, undefined);
  start(e.openModel(checkpoint.sizes, checkpoint.tensor), tokenizer, null, kept.window);
  return { ...kept, sizes: checkpoint.sizes, parameters: checkpoint.parameters, manifest: null, moduleHash: e.sha256, files: hashes };
}

function shorten(o: Open, next: NextToken): Next {
  const first: Candidate[] = [];
  let rest = 1, kept = 0;
  for (const id of next.order.subarray(0, SHOWN)) {
    const plain = next.plain[id] as number;
    rest -= plain;
    first.push({ id, token: visible(o.tokenizer.bytes(id)), plain, drawn: next.drawn[id] as number, cut: next.cut[id] as number });
  }
  for (const c of next.cut) if (c === 0) kept++;
  return { first, kept, of: next.cut.length, rest: Math.max(0, rest) };
}

const nextOf = (o: Open, filters: Filters): Next => shorten(o, o.model.next(o.logits, filters));

function begin(o: Open): void {
  o.generation?.g.close();
  o.generation = null;
  o.drawn = [];
}

function read(text: string, filters: Filters): Answers['read'] {
  const o = current();
  const ids = o.tokenizer.encode(text);
  if (ids.length === 0) throw new FormatError('the text has no tokens: type at least one character');
  begin(o);
  o.prompt = ids;
  const shown = ids.slice(-o.window);
  const before = performance.now();
  const { att, logits } = o.model.glance(shown);
  const milliseconds = performance.now() - before;
  o.logits = logits;
  return {
    ids: shown, tokens: Array.from(shown, (id) => visible(o.tokenizer.bytes(id))), count: ids.length,
    bytes: new TextEncoder().encode(text).length, att, milliseconds, next: nextOf(o, filters),
  };
}

/** The generation with these filters; where they changed, a new one from the text so far. */
function generationOf(o: Open, filters: Filters, seed: number): Generation {
  const how = JSON.stringify([filters, seed]);
  if (o.generation?.how === how) return o.generation.g;
  o.generation?.g.close();
  o.generation = null;
  const g = o.model.generate(Int32Array.of(...o.prompt.slice(-o.window), ...o.drawn), filters, seed, o.window);
  o.generation = { g, how };
  return g;
}

/** Lets a message in: `stop`, above all. A timer would wait four milliseconds; a channel does not. */
const breath = new MessageChannel();
const breathe = (): Promise<void> => new Promise((resolve) => {
  breath.port1.onmessage = () => resolve();
  breath.port2.postMessage(null);
});

async function draw(number: number, count: number, filters: Filters, seed: number): Promise<Answers['draw']> {
  const o = current();
  const g = generationOf(o, filters, seed);
  const before = performance.now();
  let made = 0, ended = false;
  stopped = false;
  while (made < count && !stopped && open === o) {
    const step = g.step();
    if (step === null) { ended = true; break; }
    made++;
    o.drawn.push(step.id);
    o.logits = g.logits();
    const bytes = o.tokenizer.bytes(step.id);
    scope.postMessage({ number, draw: { id: step.id, bytes, token: visible(bytes), probability: step.probability }, next: nextOf(o, filters) });
    await breathe();
  }
  return { count: made, milliseconds: performance.now() - before, ended };
}

async function answer(number: number, r: Request): Promise<Answers[keyof Answers]> {
  switch (r.kind) {
    case 'open': return openSite(r.base);
    case 'own': return openOwn(r.base, r.files, r.heads);
    case 'read': return read(r.text, r.filters);
    case 'next': return nextOf(current(), r.filters);
    case 'draw': return draw(number, r.count, r.filters, r.seed);
    case 'restart': {
      const o = current();
      begin(o);
      o.logits = o.model.glance(o.prompt.slice(-o.window)).logits;
      return nextOf(o, r.filters);
    }
    case 'bits': {
      const o = current();
      if (!o.manifest) throw new FormatError('there is no native program\u2019s run to compare with');
      return compareBits(o.model, o.manifest);
    }
  }
}

/** One after the other: a request waits for the one before, draws give way when stopped. */
let queue: Promise<void> = Promise.resolve();

scope.onmessage = ({ data }) => {
  if ('stop' in data) {
    stopped = true;
    return;
  }
  const { number, request } = data;
  if (request.kind !== 'draw' && request.kind !== 'bits') stopped = true; // what it would draw on is asked anew
  queue = queue.then(async () => {
    try {
      const found = await answer(number, request);
      scope.postMessage({ number, answer: found }, 'att' in found ? [found.att.buffer] : []);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      scope.postMessage({ number, failure: { message, mismatch: error instanceof MismatchError ? error.files : null } });
    }
  });
};
