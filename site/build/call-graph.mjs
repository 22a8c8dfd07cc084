// @ts-check
/* call-graph.mjs -- who calls whom in the tree, and which tests reach what.
 *
 * A function's key is its name. Where several files have one of that name, it is
 * that of the one that other files can see; the others, static helpers, are
 * FILE:NAME, as in bpe_train.c:merge. The specimens of the self-test, which are
 * wrong on purpose, never have a plain name. A name in a text is looked for in its
 * own file first, then among the functions that other files can see.
 *
 * A test tests what it calls itself or through helpers in tests/. What no test
 * reaches so has the tests of its nearest callers, marked `through` them.
 */
import { spellings } from './c-functions.mjs';

/**
 * @typedef {import('./c-functions.mjs').CFile} CFile
 * @typedef {{ file: string, line: number, name: string, through?: string }} TestRef
 * @typedef {{ file: string, line: number, function: string }} CallRef
 * @typedef {{ file: string, start: number, end: number, calledBy: CallRef[], calls: string[], testedBy: TestRef[] }} MapFunction
 * @typedef {{ key: string, name: string, file: string, isStatic: boolean, test: boolean, start: number, end: number,
 *             uses: import('./c-functions.mjs').Use[] }} Known
 */

/** @param {string} path @returns {string} */
const base = (path) => path.slice(path.lastIndexOf('/') + 1);
/** @param {string} path */
const inTests = (path) => path.startsWith('tests/');

/**
 * One entry for each function; what #if compiles otherwise is one with the first.
 * @param {ReadonlyMap<string, CFile>} files
 * @returns {Known[]}
 */
function collect(files) {
  /** @type {Map<string, Known>} */
  const found = new Map();
  for (const [file, { functions }] of files)
    for (const f of functions) {
      const before = found.get(`${file}:${f.name}`);
      if (before) before.uses.push(...f.uses);
      else found.set(`${file}:${f.name}`, { ...f, key: f.name, file, uses: [...f.uses] });
    }
  const all = [...found.values()];
  /** @type {Map<string, Known[]>} */
  const rivals = new Map();
  for (const f of all)
    if (!inTests(f.file) && !f.file.includes('/specimens/')) rivals.set(f.name, [...(rivals.get(f.name) ?? []), f]);
  for (const f of all) {
    const same = rivals.get(f.name) ?? [], seen = same.filter((g) => !g.isStatic);
    const owner = same.length === 1 ? same[0] : seen.length === 1 ? seen[0] : undefined;
    if (owner !== f) f.key = `${base(f.file)}:${f.name}`;
  }
  return all;
}

/**
 * @param {readonly Known[]} all
 * @returns {(from: Known, name: string) => Known | undefined}
 */
function resolver(all) {
  /** @type {Map<string, Known>} */
  const local = new Map();
  /** @type {Map<string, Known>} */
  const shared = new Map();
  for (const f of all) {
    local.set(`${f.file}:${f.name}`, f);
    if (!f.isStatic || f.file.endsWith('.h')) shared.set(f.name, f);
  }
  return (from, name) => {
    for (const n of spellings(name)) {
      const f = local.get(`${from.file}:${n}`) ?? shared.get(n);
      if (f) return f;
    }
    return undefined;
  };
}

/**
 * The tests that reach each library function through tests/ alone.
 * @param {readonly Known[]} all @param {ReturnType<typeof resolver>} find
 * @returns {Map<Known, TestRef[]>}
 */
function directTests(all, find) {
  /** @type {Map<Known, TestRef[]>} */
  const tested = new Map();
  for (const test of all.filter((f) => f.test && inTests(f.file))) {
    const seen = new Set([test]), waiting = [test];
    for (let f = waiting.pop(); f; f = waiting.pop())
      for (const use of f.uses) {
        const to = find(f, use.name);
        if (!to || seen.has(to)) continue;
        seen.add(to);
        if (inTests(to.file)) waiting.push(to);
        else tested.set(to, [...(tested.get(to) ?? []), { file: test.file, line: test.start, name: test.name }]);
      }
  }
  return tested;
}

/**
 * @param {ReadonlyMap<string, CFile>} files  by path from the root; tests are below tests/
 * @returns {Record<string, MapFunction>}
 */
export function callGraph(files) {
  const all = collect(files), find = resolver(all), tested = directTests(all, find);
  /** @type {Map<Known, MapFunction>} */
  const out = new Map();
  for (const f of all)
    if (!inTests(f.file))
      out.set(f, { file: f.file, start: f.start, end: f.end, calledBy: [], calls: [], testedBy: tested.get(f) ?? [] });
  /** @type {Map<Known, Known[]>} */
  const callers = new Map();
  for (const [f, entry] of out)
    for (const use of f.uses) {
      const to = find(f, use.name), callee = to && out.get(to);
      if (!to || !callee || to === f) continue;
      if (!entry.calls.includes(to.key)) entry.calls.push(to.key);
      if (!callee.calledBy.some((c) => c.file === f.file && c.line === use.line))
        callee.calledBy.push({ file: f.file, line: use.line, function: f.key });
      const known = callers.get(to) ?? [];
      if (!known.includes(f)) callers.set(to, [...known, f]);
    }
  for (const [f, entry] of out) if (entry.testedBy.length === 0) entry.testedBy = testsOfCallers(f, callers, tested);
  /** @type {Record<string, MapFunction>} */
  const byKey = {};
  for (const f of [...out.keys()].sort((a, b) => (a.key < b.key ? -1 : 1))) byKey[f.key] = /** @type {MapFunction} */ (out.get(f));
  return byKey;
}

/**
 * @param {Known} f @param {Map<Known, Known[]>} callers @param {Map<Known, TestRef[]>} tested
 * @returns {TestRef[]}
 */
function testsOfCallers(f, callers, tested) {
  const seen = new Set([f]);
  for (let level = [f]; level.length > 0;) {
    const above = [...new Set(level.flatMap((g) => callers.get(g) ?? []))].filter((g) => !seen.has(g));
    for (const g of above) seen.add(g);
    const tests = above.flatMap((g) => (tested.get(g) ?? []).map((t) => ({ ...t, through: g.key })));
    if (tests.length > 0) return tests.filter((t, i) => tests.findIndex((u) => u.file === t.file && u.name === t.name) === i);
    level = above;
  }
  return [];
}
