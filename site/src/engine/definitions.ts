/* definitions.ts -- the signatures of src/kernels/definitions.h, and one call of any.
 *
 * A kernel in C trusts its caller with every length.  Here the caller is a page: each
 * array's length is computed from the sizes and compared before the call, and each id
 * that a kernel uses as an index is looked at.
 *
 *     x:N*C      an array of scalars, of as many as the product says
 *     b?:OC      the same, or null
 *     wte:#C     the same, any number of rows of so many
 *     t@N        an array of ints          =eps   one scalar
 *     N          a size, at least 1        0P     one that may be 0
 */
import { EngineError, integer, type Module, type Scope } from './module';
import type { Argument } from './types';

export type ScalarName = 'f32' | 'f64' | 'c128';

const signatures: Readonly<Record<string, string>> = {
  embedding_forward: 'out:B*T*C tokens@B*T wte:#C wpe:#C B T 0P C',
  embedding_backward: 'dwte:#C dwpe:#C dout:B*T*C tokens@B*T B T 0P C',
  linear_forward: 'out:N*OC x:N*C w:C*OC bias?:OC N C OC',
  linear_backward: 'dx:N*C dw:C*OC dbias?:OC dout:N*OC x:N*C w:C*OC N C OC',
  softmax_forward: 'out:N*V x:N*V N V',
  softmax_backward: 'dx:N*V dout:N*V out:N*V N V',
  layernorm_forward: 'out:N*C mean:N rstd:N x:N*C w:C b:C N C',
  layernorm_backward: 'dx:N*C dw:C db:C dout:N*C x:N*C w:C mean:N rstd:N N C',
  gelu_forward: 'out:n x:n n',
  gelu_backward: 'dx:n dout:n x:n n',
  residual_forward: 'out:n a:n b:n n',
  residual_backward: 'da:n db:n dout:n n',
  attention_forward:
    'out:B*T*NH*HS scores:B*NH*T*S scaled:B*NH*T*S masked:B*NH*T*S att:B*NH*T*S ' +
    'q:B*T*NH*HS k:B*S*NH*HS v:B*S*NH*HS B T 0P NH HS',
  attention_backward:
    'dq:B*T*NH*HS dk:B*S*NH*HS dv:B*S*NH*HS da:B*NH*T*S ds:B*NH*T*S dout:B*T*NH*HS ' +
    'att:B*NH*T*S q:B*T*NH*HS k:B*S*NH*HS v:B*S*NH*HS B T 0P NH HS',
  attention_masked_forward:
    'out:B*T*NH*HS scores:B*NH*T*S att:B*NH*T*S q:B*T*NH*HS k:B*S*NH*HS v:B*S*NH*HS ' +
    'mask@T*S B T S NH HS',
  attention_masked_backward:
    'dq:B*T*NH*HS dk:B*S*NH*HS dv:B*S*NH*HS da:B*NH*T*S ds:B*NH*T*S dout:B*T*NH*HS ' +
    'att:B*NH*T*S q:B*T*NH*HS k:B*S*NH*HS v:B*S*NH*HS mask@T*S B T S NH HS',
  crossentropy_forward: 'loss:N lse:N logits:N*V target@N =temperature N V',
  crossentropy_backward: 'dlogits:N*V dloss:N lse:N logits:N*V target@N =temperature N V',
  sum_squares: 'x:n n',
  clip_factor: '+sum_squares +max_norm',
  adamw: 'w:n m:n v:n g:n n =clip =lr =beta1 =beta2 =eps =decay t',
};

/** The names that call() knows. */
export const definitionNames: readonly string[] = Object.keys(signatures);

interface Part {
  readonly kind: 'scalars' | 'rows' | 'ints' | 'scalar' | 'double' | 'size';
  readonly name: string;
  readonly product: readonly string[];
  readonly optional: boolean;
  readonly least: number;
}

function parse(word: string): Part {
  const [name = '', product = ''] = word.split(/[:@]/);
  const part = { name: name.replace(/^[=+0]|\?$/g, ''), product: product.replace('#', '').split('*') };
  const optional = name.endsWith('?');
  if (word.startsWith('=')) return { ...part, kind: 'scalar', optional, least: 0 };
  if (word.startsWith('+')) return { ...part, kind: 'double', optional, least: 0 };
  if (word.includes('@')) return { ...part, kind: 'ints', optional, least: 0 };
  if (word.includes(':')) return { ...part, kind: product.startsWith('#') ? 'rows' : 'scalars', optional, least: 0 };
  return { ...part, kind: 'size', optional, least: word.startsWith('0') || word === 'n' ? 0 : 1 };
}

const parsed = new Map(Object.entries(signatures).map(([name, text]) => [name, text.split(' ').map(parse)]));

function sizesOf(name: string, parts: readonly Part[], args: readonly Argument[]): Map<string, number> {
  const sizes = new Map<string, number>();
  parts.forEach((part, i) => {
    const value = args[i];
    if (part.kind !== 'size') return;
    if (typeof value !== 'number') throw new EngineError(`${name}: ${part.name}: expected a number`);
    sizes.set(part.name, integer(value, `${name}: ${part.name}`, part.least));
  });
  if (!sizes.has('S')) sizes.set('S', (sizes.get('P') ?? 0) + (sizes.get('T') ?? 0));
  return sizes;
}

function product(part: Part, sizes: ReadonlyMap<string, number>): number {
  return part.product.reduce((n, letter) => n * sizes.get(letter)!, 1);
}

function checkLength(name: string, part: Part, have: number, sizes: ReadonlyMap<string, number>): void {
  const want = product(part, sizes);
  const letters = part.product.join('*');
  if (part.kind === 'rows' ? have === 0 || have % want !== 0 : have !== want) {
    const expected = part.kind === 'rows' ? `rows of ${want} (${letters})` : `${want} (${letters})`;
    throw new EngineError(`${name}: ${part.name}: ${have} numbers, expected ${expected}`);
  }
}

/** Ids that a kernel indexes with: tokens below the rows of wte, targets below V or -1. */
function checkIds(
  name: string,
  part: Part,
  ids: Int32Array,
  sizes: ReadonlyMap<string, number>,
  rows: ReadonlyMap<string, number>,
): void {
  if (part.name === 'mask') return;
  const target = part.name === 'target';
  const most = target ? sizes.get('V')! : (rows.get('wte') ?? rows.get('dwte'))!;
  const least = target ? -1 : 0;
  ids.forEach((id, i) => {
    if (id < least || id >= most) {
      throw new EngineError(`${name}: ${part.name}[${i}]: id ${id}, expected ${least} to ${most - 1}`);
    }
  });
}

function checkRows(name: string, sizes: ReadonlyMap<string, number>, rows: ReadonlyMap<string, number>): void {
  const positions = rows.get('wpe') ?? rows.get('dwpe');
  if (positions !== undefined && positions < sizes.get('S')!) {
    throw new EngineError(`${name}: ${positions} positions, expected ${sizes.get('S')!} (P+T) or more`);
  }
}

/** One call: arguments in, the arrays that were given filled with what came out. */
export function callDefinition(module: Module, scalar: ScalarName, name: string, args: readonly Argument[]): number {
  const parts = parsed.get(name);
  const callee = `ref_${name}_${scalar}`;
  if (!parts || !module.has(callee)) throw new EngineError(`vitrine.wasm has no definition ${name} for ${scalar}`);
  if (args.length !== parts.length) {
    throw new EngineError(`${name}: ${args.length} arguments, expected ${parts.map((p) => p.name).join(', ')}`);
  }
  const sizes = sizesOf(name, parts, args);
  const rows = new Map<string, number>();
  return module.within((scope) => {
    const back: (() => void)[] = [];
    const values = parts.map((part, i) => argument(module, scope, scalar, name, part, args[i]!, sizes, rows, back));
    checkRows(name, sizes, rows);
    parts.forEach((part, i) => {
      if (part.kind === 'ints') checkIds(name, part, args[i] as Int32Array, sizes, rows);
    });
    const answer = module.call(callee, ...values) as number | undefined;
    for (const copy of back) copy();
    return answer ?? 0;
  });
}

function argument(
  module: Module,
  scope: Scope,
  scalar: ScalarName,
  name: string,
  part: Part,
  value: Argument,
  sizes: ReadonlyMap<string, number>,
  rows: Map<string, number>,
  back: (() => void)[],
): number {
  const wrong = (expected: string) => new EngineError(`${name}: ${part.name}: expected ${expected}`);
  if (part.kind === 'size' || part.kind === 'double') {
    if (typeof value !== 'number') throw wrong('a number');
    return value;
  }
  if (part.kind === 'scalar') {
    if (typeof value === 'number') return scalar === 'c128' ? scope.put(Float64Array.of(value, 0)) : value;
    if (scalar === 'c128' && value instanceof Float64Array && value.length === 2) return scope.put(value);
    throw wrong(scalar === 'c128' ? 'a number, or a real and an imaginary part' : 'a number');
  }
  if (value === null) {
    if (!part.optional) throw wrong('an array');
    return 0;
  }
  if (part.kind === 'ints') {
    if (!(value instanceof Int32Array)) throw wrong('an Int32Array');
    checkLength(name, part, value.length, sizes);
    return scope.put(value);
  }
  const each = scalar === 'c128' ? 2 : 1;
  if (!(scalar === 'f32' ? value instanceof Float32Array : value instanceof Float64Array)) {
    throw wrong(scalar === 'f32' ? 'a Float32Array' : 'a Float64Array');
  }
  const array = value as Float64Array | Float32Array;
  checkLength(name, part, array.length / each, sizes);
  if (part.kind === 'rows') rows.set(part.name, array.length / each / product(part, sizes));
  const at = scope.put(array);
  back.push(() =>
    array instanceof Float64Array
      ? array.set(module.doubles(at, array.length))
      : array.set(module.floats(at, array.length)),
  );
  return at;
}
