/* foreign.mjs -- a checkpoint of another maker, small: random weights, and a tokenizer whose one long token is markup. */

/** The token that must stay text. */
export const MARKUP = '<img src=x onerror=alert(1)>';

/** A draw between -1 and 1: no test depends on which. @param {number} seed */
function draws(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

/** The printable stand-ins of bytes in tokenizer.json. */
function characters() {
  const printable = (/** @type {number} */ b) => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  let next = 256;
  return Array.from({ length: 256 }, (_, b) => String.fromCodePoint(printable(b) ? b : next++));
}

/** tokenizer.json: the bytes, merges that build MARKUP, and a special token that is markup, too. `id` is MARKUP's. */
export function tokenizer() {
  const byte = characters();
  /** @type {Record<string, number>} */
  const vocab = Object.fromEntries(byte.map((c, b) => [c, b]));
  /** @type {[string, string][]} */
  const merges = [];
  /** @param {readonly string[]} parts */
  const join = (parts) => parts.reduce((made, part) => {
    if (!(made + part in vocab)) {
      vocab[made + part] = 256 + merges.length;
      merges.push([made, part]);
    }
    return made + part;
  });
  // The pre-splitting cuts a text into these: first each of them, then all together.
  const words = ['<', 'img', ' src', '=', 'x', ' onerror', '=', 'alert', '(', '1', ')>'];
  const whole = join(words.map((word) => join([...Buffer.from(word)].map((b) => /** @type {string} */ (byte[b])))));
  vocab['<script>alert(2)</script>'] = 256 + merges.length;
  return { text: JSON.stringify({ model: { type: 'BPE', vocab, merges } }), size: 257 + merges.length, id: /** @type {number} */ (vocab[whole]), words: words.length };
}

/**
 * model.safetensors of these sizes, whose next token is always `id`: the last LayerNorm gives ones, and so does its row.
 * @param {{ L: number, C: number, T: number, V: number }} sizes @param {number} id
 */
export function weights({ L, C, T, V }, id) {
  const FF = 4 * C;
  /** @type {[string, number[]][]} */
  const list = [['wte.weight', [V, C]], ['wpe.weight', [T, C]]];
  for (let l = 0; l < L; l++) {
    for (const [name, shape] of /** @type {[string, number[]][]} */ ([['ln_1.weight', [C]], ['ln_1.bias', [C]], ['attn.c_attn.weight', [C, 3 * C]], ['attn.c_attn.bias', [3 * C]], ['attn.c_proj.weight', [C, C]], ['attn.c_proj.bias', [C]],
      ['ln_2.weight', [C]], ['ln_2.bias', [C]], ['mlp.c_fc.weight', [C, FF]], ['mlp.c_fc.bias', [FF]], ['mlp.c_proj.weight', [FF, C]], ['mlp.c_proj.bias', [C]]])) list.push([`h.${l}.${name}`, shape]);
  }
  list.push(['ln_f.weight', [C]], ['ln_f.bias', [C]]);
  const draw = draws(1);
  /** @type {Record<string, unknown>} */
  const header = {};
  let at = 0;
  for (const [name, shape] of list) {
    const bytes = 4 * shape.reduce((n, s) => n * s, 1);
    header[name] = { dtype: 'F32', shape, data_offsets: [at, at + bytes] };
    at += bytes;
  }
  const text = Buffer.from(JSON.stringify(header));
  const file = Buffer.alloc(8 + text.length + at);
  file.writeBigUInt64LE(BigInt(text.length), 0);
  text.copy(file, 8);
  const data = 8 + text.length;
  for (let k = data; k < file.length; k += 4) file.writeFloatLE(draw(), k);
  for (let c = 0; c < C; c++) {
    file.writeFloatLE(2, data + 4 * (id * C + c));
    file.writeFloatLE(0, file.length - 8 * C + 4 * c);
    file.writeFloatLE(1, file.length - 4 * C + 4 * c);
  }
  return file;
}

/** config.json. @param {{ L: number, C: number, H: number, T: number, V: number }} sizes */
export function config({ L, C, H, T, V }) {
  return JSON.stringify({ model_type: 'gpt2', activation_function: 'gelu_new', n_layer: L, n_embd: C, n_head: H, n_positions: T, vocab_size: V, layer_norm_epsilon: 1e-5 });
}
