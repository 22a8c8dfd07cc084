/* check.ts -- small checks that turn parsed YAML into typed values.
 *
 * A check never throws: it adds a fault that names file and field, and returns
 * what it can, so that one run shows every fault of the content.
 */
import type { Faults } from './faults';

export interface At {
  readonly file: string;
  readonly field: string;
  readonly faults: Faults;
}
export type Check<T> = (value: unknown, at: At) => T;

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  const text = typeof value === 'string' ? `"${value}"` : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function wrong(value: unknown, at: At, expected: string): void {
  at.faults.add(at.file, at.field, `expected ${expected}, found ${shown(value)}`);
}

/** Text that is not empty; outer white space is taken off. */
export const text: Check<string> = (value, at) => {
  if (typeof value !== 'string' || value.trim() === '') {
    wrong(value, at, 'text');
    return '';
  }
  return value.trim();
};

export const integer: Check<number> = (value, at) => {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {
    wrong(value, at, 'a whole number from 0');
    return 0;
  }
  return value;
};

export const yes: Check<boolean> = (value, at) => {
  if (value !== true) wrong(value, at, 'true (leave the field out otherwise)');
  return value === true;
};

/** Text of a pattern. */
export function word(pattern: RegExp, expected: string): Check<string> {
  return (value, at) => {
    if (typeof value !== 'string' || !pattern.test(value)) {
      wrong(value, at, expected);
      return '';
    }
    return value;
  };
}

export function oneOf<T extends string>(...names: readonly T[]): Check<T> {
  return (value, at) => {
    if (!names.includes(value as T)) {
      wrong(value, at, `one of ${names.join(', ')}`);
      return names[0] as T;
    }
    return value as T;
  };
}

export function list<T>(item: Check<T>, least = 0): Check<readonly T[]> {
  return (value, at) => {
    if (!Array.isArray(value)) {
      wrong(value, at, 'a list');
      return [];
    }
    if (value.length < least) wrong(value, at, `a list of at least ${least}`);
    return value.map((entry, i) => item(entry, { ...at, field: `${at.field}[${i}]` }));
  };
}

/** Any mapping of names to values. */
export const mapping: Check<Readonly<Record<string, unknown>>> = (value, at) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    wrong(value, at, 'a mapping');
    return {};
  }
  return value as Record<string, unknown>;
};

interface Optional<T> {
  readonly optional: Check<T>;
}
type Field<T> = Check<T> | Optional<T>;
export function optional<T>(check: Check<T>): Optional<T> {
  return { optional: check };
}
type Fields = Readonly<Record<string, Field<unknown>>>;
type ValueOf<F> = F extends Optional<infer T> ? T | undefined : F extends Check<infer T> ? T : never;
export type RecordOf<F extends Fields> = { readonly [K in keyof F]: ValueOf<F[K]> };

/** A mapping with exactly these fields: what is missing or unknown is a fault. */
export function record<F extends Fields>(fields: F): Check<RecordOf<F>> {
  return (value, at) => {
    const given = mapping(value, at);
    const inner = (name: string): At => ({ ...at, field: at.field === '' ? name : `${at.field}.${name}` });
    for (const name of Object.keys(given)) {
      if (!(name in fields)) at.faults.add(at.file, inner(name).field, `unknown field; known are ${Object.keys(fields).join(', ')}`);
    }
    const result: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(fields)) {
      if (typeof field === 'function') result[name] = field(given[name], inner(name));
      else if (given[name] !== undefined && given[name] !== null) result[name] = field.optional(given[name], inner(name));
    }
    return result as RecordOf<F>;
  };
}
