/* exercises.ts -- the exercises as the grader's own source names them: src/lab/exercise_text.c,
 * read when the site is built.  Nothing of it is copied into the content. */

export interface Exercise {
  readonly name: string;
  readonly title: string;
  readonly file: string;
  readonly needs: string;
  readonly minutes: number;
  readonly functions: readonly string[];
  readonly hints: readonly string[];
}

/** A C initializer: numbers, strings, lists, and records of named fields. */
type Value = number | string | readonly Value[] | { readonly [field: string]: Value };

/** Strings, names, numbers and signs; comments and white space are left out. */
function words(text: string): string[] {
  const found = text.replace(/\/\*[\s\S]*?\*\//g, ' ').match(/"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|[0-9]+|[{}[\].,=;]/g);
  return found ?? [];
}

function reader(tokens: readonly string[], start: number): Value {
  let k = start;
  const expect = (sign: string): void => {
    if (tokens[k] !== sign) throw new Error(`exercise_text.c: expected "${sign}", found "${tokens[k] ?? 'the end'}"`);
    k += 1;
  };
  const value = (): Value => {
    const token = tokens[k] ?? '';
    if (token === '{') return braces();
    if (token.startsWith('"')) {
      let text = '';
      for (; tokens[k]?.startsWith('"'); k++) text += JSON.parse(tokens[k] as string) as string;    /* C joins neighbours */
      return text;
    }
    if (!/^[0-9]+$/.test(token)) throw new Error(`exercise_text.c: expected a value, found "${token}"`);
    k += 1;
    return Number(token);
  };
  const braces = (): Value => {
    const list: Value[] = [], fields: Record<string, Value> = {};
    expect('{');
    while (tokens[k] !== '}') {
      if (tokens[k] === '.') {
        const name = tokens[k + 1] ?? '';
        k += 2;
        expect('=');
        fields[name] = value();
      } else list.push(value());
      if (tokens[k] === ',') k += 1;
    }
    expect('}');
    return list.length > 0 ? list : fields;
  };
  return value();
}

function toExercise(value: Value, n: number): Exercise {
  const e = value as Partial<Exercise>;
  const texts = (x: unknown): x is readonly string[] => Array.isArray(x) && x.length > 0 && x.every((t) => typeof t === 'string');
  if (typeof e.name !== 'string' || typeof e.title !== 'string' || typeof e.file !== 'string' || typeof e.needs !== 'string'
    || typeof e.minutes !== 'number' || !texts(e.functions) || !texts(e.hints)) {
    throw new Error(`exercise_text.c: exercise ${n}: expected name, title, file, needs, minutes, functions and hints`);
  }
  return e as Exercise;
}

/** All exercises, in the order in which they are learnt. */
export function readExercises(text: string): readonly Exercise[] {
  const tokens = words(text);
  const start = tokens.findIndex((t, k) => t === '{' && tokens[k - 1] === '=' && tokens[k - 2] === ']');
  if (start < 0) throw new Error('exercise_text.c: expected an array of exercises');
  const all = reader(tokens, start);
  if (!Array.isArray(all)) throw new Error('exercise_text.c: expected an array of exercises');
  return (all as readonly Value[]).map(toExercise);
}

/** The worked solution of an exercise: 1_forward.c is solved by 1_forward_solved.c. */
export function solutionOf(file: string): string {
  return `exercises/solutions/${file.replace(/\.c$/, '_solved.c')}`;
}

/** Number of lines of a text. */
export function lineCount(text: string): number {
  return text.replace(/\n$/, '').split('\n').length;
}
