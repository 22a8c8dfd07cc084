/* types.ts -- what the pages may ask of the C code.
 *
 * Everything here is computed by vitrine.wasm, which is the library's own
 * sources compiled for WebAssembly: the definitions in double and in double
 * complex, the wiring of the model, the fast float kernels, the tokenizer.
 * Nothing on the TypeScript side does arithmetic of the model: it names
 * arrays, and copies them in and out.
 *
 * All arrays are row-major.  What a method returns is a copy: it stays valid.
 */

/** A named tensor as it came out of the module. */
export interface Tensor {
  /** The name in files and in the map, for example "h.0.scores". */
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

export type Tensors = ReadonlyMap<string, Tensor>;

/** An argument of a definition: arrays are copied in before and out after the call; null is NULL. */
export type Argument = Float64Array | Float32Array | Int32Array | number | null;

/** The sizes and numbers of one attention layer (the illustrative example has T 6, C 4, H 2). */
export interface AttentionInputs {
  readonly T: number;
  readonly C: number;
  readonly H: number;
  /** (T, C) */ readonly Xn: Float64Array;
  /** (C, C) */ readonly Wq: Float64Array;
  readonly Wk: Float64Array;
  readonly Wv: Float64Array;
  readonly Wo: Float64Array;
  /** (C) */ readonly bq: Float64Array;
  readonly bk: Float64Array;
  readonly bv: Float64Array;
  readonly bo: Float64Array;
  /** (T, C) */ readonly dOut: Float64Array;
}
export type AttentionParameter = 'Xn' | 'Wq' | 'bq' | 'Wk' | 'bk' | 'Wv' | 'bv' | 'Wo' | 'bo';

/** One derivative found three ways, on the loss <out, dOut> (attention) or the mean loss (model). */
export interface Derivative {
  /** By the backward pass written by hand. */
  readonly hand: number;
  /** By central difference, one for each step asked for. */
  readonly central: Float64Array;
  /** By complex step, one for each step asked for. */
  readonly complex: Float64Array;
}

/** Sizes of a GPT, the letters of the C code. */
export interface Sizes {
  readonly L: number;
  readonly C: number;
  readonly NH: number;
  readonly FF: number;
  /** Positions the model was made for (its context). */
  readonly T: number;
  readonly V: number;
  readonly tied: boolean;
}

/** The distribution of the next token, filtered. */
export interface NextToken {
  /** Probabilities at temperature 1, unfiltered, of all V ids. */
  readonly plain: Float64Array;
  /** Probabilities that are drawn from: at the temperature, cut, renormalised; 0 where cut. */
  readonly drawn: Float64Array;
  /** Ids by (plain probability descending, id ascending). */
  readonly order: Int32Array;
  /** Per id: 0 kept, 1 cut by top-k, 2 cut by top-p. */
  readonly cut: Uint8Array;
}
export interface Filters {
  /** 0 means the most probable token. */ readonly temperature: number;
  /** 0: off. */ readonly topK: number;
  /** 1: off. */ readonly topP: number;
}

/** Which windows of a row of tokens a step is trained on. */
export interface BatchOptions {
  /** Tokens of a window. */ readonly seq: number;
  /** From one window's beginning to the next; 0: seq. */ readonly stride: number;
  /** Windows of a batch. */ readonly batch: number;
  readonly seed: number;
}
export interface Batch {
  /** (batch, seq) inputs and targets, y[r][t] the token behind x[r][t]; rows not used are 0 and -1. */
  readonly x: Int32Array;
  readonly y: Int32Array;
  /** Rows in use. */
  readonly rows: number;
  readonly windows: number;
  /** Batches of an epoch. */
  readonly perEpoch: number;
}

/** A checkpoint in the module's memory. */
export interface Model {
  readonly sizes: Sizes;
  readonly parameters: readonly { name: string; file: string; shape: readonly number[]; count: number; decay: boolean; start: string }[];
  /**
   * Runs the window (at most sizes.T ids) in double on the definitions: forward, and
   * backward of the mean next-token loss (targets: -1 is ignored, one must count).  Returns
   * every stage and every gradient, by the names and in the order of src/model/gpt_window.h.
   */
  run(ids: Int32Array, targets: Int32Array): Tensors;
  /** The mean loss of the window over the targets that count. */
  loss(ids: Int32Array, targets: Int32Array): number;
  /** Gradient of the mean loss for one parameter's entry, three ways. */
  derivative(ids: Int32Array, targets: Int32Array, parameter: string, entry: number, steps: Float64Array): Derivative;
  /** Attention weights of all layers and heads and the last row of logits, on the fast float kernels: (L, NH, T, T) and (V). */
  glance(ids: Int32Array): { att: Float32Array; logits: Float64Array };
  /**
   * Starts a generation on the fast float kernels. The cache serves while it fits.  The last `window` ids count
   * (default: sizes.T); `vitrine generate` uses as many as training did, the setting seq.
   */
  generate(prompt: Int32Array, filters: Filters, seed: number, window?: number): Generation;
  next(logits: Float64Array, filters: Filters): NextToken;
  close(): void;
}
export interface Generation {
  /** Draws one id; null when the end-of-text id was drawn. `probability` is that of the drawn id among those kept. */
  step(): { id: number; probability: number; next: NextToken } | null;
  /** What the next step draws from: (V). */
  logits(): Float64Array;
  close(): void;
}

/** Ids of the 256 bytes, of what each merge makes, and of the special token. */
export interface IdOrder {
  readonly bytes: Int32Array;
  readonly made: Int32Array;
  readonly end: number;
}
export interface Tokenizer {
  readonly size: number;
  encode(text: string): Int32Array;
  /** The bytes of a token. */
  bytes(id: number): Uint8Array;
  decode(ids: Int32Array): string;
  /** The pieces that the pre-splitting makes: byte ranges. */
  split(text: string): readonly { start: number; end: number }[];
  /** How one piece became tokens: the ids before each merge, and the merge that was done (its rank). */
  merges(piece: string): readonly { ids: readonly number[]; at: number; rank: number }[];
  close(): void;
}

export interface LabOptions {
  readonly seed: number;
  readonly heads: number;
  readonly temperature: number;
  readonly scalar: 'f64' | 'f32';
}
/** One check of all gradients: passed, and the largest share of its bound that an error takes. */
export interface LabCheck {
  readonly pass: boolean;
  readonly share: number;
}
export interface LabVerdict {
  readonly central: LabCheck;
  readonly complex: LabCheck;
  /** Central differences all in float. */
  readonly float: {
    readonly pass: boolean;
    readonly worst: number;
    readonly mean: number;
    /** Entries within the bounds of the check in double, and entries where the loss did not move. */
    readonly within: number;
    readonly still: number;
    readonly loss: number;
    /** From that loss to the next float. */
    readonly spacing: number;
  };
}
export interface LabMeasure {
  readonly value: number;
  readonly error: number;
}
export interface LabScaling {
  readonly dHead: number;
  /** Queries drawn. */
  readonly rows: number;
  readonly deviation: LabMeasure;
  readonly rawMax: LabMeasure;
  readonly scaledMax: LabMeasure;
  /** Frobenius norm of the softmax's Jacobian. */
  readonly rawGradient: LabMeasure;
  readonly scaledGradient: LabMeasure;
}
export interface LabRun {
  readonly tensors: Tensors;
  readonly loss: number;
}

export interface Engine {
  /** sha256 of the module, hexadecimal; null where the browser has no digest (plain http). */
  readonly sha256: string | null;
  /**
   * Calls a definition: name as in C without prefix and suffix ("linear_forward"), scalar 'f64', 'c128' (interleaved)
   * or 'f32'.  The embedding, the masked attention, clipping and AdamW are there in 'f64' alone.  Returns what C
   * returns (sum_squares, clip_factor), else 0.
   */
  call(scalar: 'f64' | 'c128' | 'f32', name: string, ...args: Argument[]): number;
  /** exp, log, tanh of the library, one number. */
  elementary(name: 'exp' | 'log' | 'tanh', x: number): number;
  /** All tensors of one attention layer, inputs too, by the names of src/lab/attention_example.def. */
  attention(inputs: AttentionInputs): Tensors;
  attentionDerivative(inputs: AttentionInputs, parameter: AttentionParameter, entry: number, steps: Float64Array): Derivative;
  /** Parameters in the order and layout of model.safetensors' names: `tensor(file name)` gives each. */
  openModel(sizes: Sizes, tensor: (file: string) => Float32Array): Model;
  /** The parameters that a model of these sizes has, without opening one. */
  parameters(sizes: Sizes): Model['parameters'];
  /**
   * Merges in the order of training as pairs of ids; `special` names the last id.  Ids are a byte's value, then
   * 256 + rank, then the special one; a tokenizer that orders them otherwise (GPT-2's) says how.
   */
  openTokenizer(merges: Int32Array, special: readonly string[], order?: IdOrder): Tokenizer;
  /** Trains a tokenizer on a text: the merges, with the count that each pair had. */
  trainTokenizer(text: string, merges: number): { merges: Int32Array; counts: Int32Array };
  /** The distribution of the next token from a row of logits, and the id that the number u in [0, 1) draws. */
  draw(logits: Float64Array, filters: Filters, u: number): { next: NextToken; id: number };
  /** Batch number `step` of a training run, counted from 0. */
  batch(tokens: Int32Array, step: number, options: BatchOptions): Batch;
  /** Of ten or more documents, 1 for those set apart for validation. */
  splitDocuments(documents: number, seed: number): Uint8Array;
  /** AdamW, learning-rate schedule, clipping: definitions of the trainer. */
  learningRate(step: number, steps: number, warmup: number, max: number, min: number): number;
  /** The code lab: draws of the seed, forward and backward. */
  lab(options: LabOptions): LabRun;
  /** Of each gradient by hand, the largest relative error |a - b| / (|a| + |b|) against the two checks. */
  labCheck(options: LabOptions): readonly { tensor: string; central: number; complex: number }[];
/** What `vitrine lab` says of these gradients: PASS where every error is within what rounding and truncation can explain. */
  labVerdict(options: LabOptions): LabVerdict;
  /** softmax(logits / temperature) of the last position of a run, and its entropy in bits. */
  labSoften(options: LabOptions, temperatures: readonly number[]): readonly { temperature: number; probabilities: Float64Array; entropy: number }[];
  /** Of queries and keys with entries of variance 1: each number with one standard error of sampling. */
  labScaling(seed: number): readonly LabScaling[];
  /** NumPy's default_rng(seed): standard normals. */
  normals(seed: readonly number[], count: number): Float64Array;
  /** uniform doubles, default_rng(seed).random(count) */
  uniforms(seed: readonly number[], count: number): Float64Array;
}

/** Makes the engine from the module's bytes; the same function in Node and in the browser. */
export type LoadEngine = (bytes: BufferSource) => Promise<Engine>;
