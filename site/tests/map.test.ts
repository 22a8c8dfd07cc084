/* map.test.ts -- the map equation -> lines -> tests -> callers: right of this tree,
 * and refused where something in it, or in the content, is out of place.
 *
 * Expected lines are looked up in the sources here, by their text; callers are
 * facts that a reader of the C can check; counts of functions come from grep.
 */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Language, Parser } from 'web-tree-sitter';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nameMacros, plainNames, readC } from '../build/c-functions.mjs';
import { contentFaults, labelFaults, staleLines } from '../build/map-check.mjs';
import { linkBase, makeMap, readTree } from '../build/map.mjs';
import type { SourceMap } from '../src/components/site-data';

const root = fileURLToPath(new URL('../..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'vitrine-map-'));
let map: SourceMap, parsed: Awaited<ReturnType<typeof readTree>>['parsed'];

beforeAll(async () => {
  const tree = await readTree(root);
  ({ parsed } = tree);
  map = await makeMap(root, tree);
}, 600_000);
afterAll(() => rmSync(scratch, { recursive: true }));

/** Line of the only place of `part` in a file of the tree, from 1. */
function lineOf(file: string, part: string, tree = root): number {
  const lines = readFileSync(join(tree, file), 'utf8').split('\n');
  const at = lines.flatMap((l, i) => (l.includes(part) ? [i + 1] : []));
  if (at.length !== 1 || at[0] === undefined) throw new Error(`${file} has "${part}" ${at.length} times`);
  return at[0];
}

describe('labels', () => {
  it('give the line, its function, its equation and its tests', () => {
    const file = 'src/kernels/attention.c', label = map.labels['attn.scores'];
    expect(label?.equation).toEqual({
      file, line: lineOf(file, '(attn.scores)'), text: 'scores[t,u] = sum_i q[t,i] k[u,i]',
    });
    const line = lineOf(file, '/* attn.scores */');
    expect(label?.lines).toEqual([{ file, line, start: line, function: 'attention_forward',
      text: 'x[u] += q[b][t][h][i] * k[b][u][h][i];' }]);
    const tests = 'tests/test_attention.c';
    expect(label?.tests).toContainEqual({ file: tests, line: lineOf(tests, 'static void golden_forward('), name: 'golden_forward' });
  });

  it('of a statement over two lines give all of it', () => {
    const file = 'src/model/gpt.c', line = lineOf(file, '/* attn.do attn.dwo attn.dbo */');
    expect(map.labels['attn.dwo']?.lines).toContainEqual({ file, line, start: line - 1, function: 'gpt.c:layer_backward',
      text: 'CALL(linear_backward, g->dvalues, d->attprojw, d->attprojb, g->dbranch, h->values, w->attprojw, N, C, C);' });
  });

  it('are on lines of the model and of the example, stated once', () => {
    expect(map.labels['attn.dxn']?.lines.map((l) => l.file)).toEqual(['src/lab/attention_example.c', 'src/model/gpt.c']);
  });
});

describe('callers', () => {
  const callers = (name: string): string[] => (map.functions[name]?.calledBy ?? []).map((c) => `${c.file} ${c.function}`);

  it('of attention_forward are the wirings of the model, the lab and the example', () => {
    expect(callers('attention_forward')).toEqual(expect.arrayContaining([
      'src/model/gpt.c attend_forward', 'src/lab/lab_pass.c lab_forward', 'src/lab/attention_example.c attention_example_forward']));
    const call = map.functions['attention_forward']?.calledBy.find((c) => c.function === 'attend_forward');
    expect(call?.line).toBe(lineOf('src/model/gpt.c', 'REF(attention_forward)(a->values'));
  });

  it('see through CALL: the definition and the fast kernel', () => {
    expect(callers('linear_backward')).toContain('src/model/gpt.c gpt.c:layer_backward');
    expect(callers('fast_linear_backward')).toContain('src/model/gpt.c gpt.c:layer_backward');
    expect(callers('fast_adamw_spans')).toContain('src/train/optimizer.c optimizer_step');
    expect(callers('fast_adamw_spans').every((c) => /^src\/(train|bench)\//.test(c))).toBe(true);
  });

  it('see names with the suffix of a scalar, and functions that are passed on', () => {
    expect(callers('lab_forward')).toContain('src/lab/lab_check.c lab_complex_step');
    expect(callers('step_probe')).toEqual(['src/verify/model/gradcheck_probes.c probes_run']);
  });

  it('of a helper whose name several files have are those in its own file', () => {
    expect(callers('bpe_train.c:merge')).toEqual(['src/tokenizer/bpe_train.c bpe_train']);
    expect(map.functions['merge']).toBeUndefined();
  });

  it('are no variables of the same name', () => {
    // "before" is a variable of step_probe and a function of bpe_train.c
    expect(map.functions['before']?.file).toBe('src/tokenizer/bpe_train.c');
    expect(map.functions['step_probe']?.calls).not.toContain('before');
  });
});

describe('tests of a function', () => {
  it('reach it through helpers of the tests', () => {
    expect(map.functions['attention_forward']?.testedBy.map((t) => t.name)).toEqual(expect.arrayContaining(['golden_forward', 'naive_stages']));
  });

  it('are those of its nearest callers where it is out of their sight', () => {
    const tests = map.functions['layer_forward']?.testedBy ?? [];
    expect(tests).toContainEqual(expect.objectContaining({ name: 'every_stage_is_its_equation', through: 'gpt_forward' }));
    expect(tests.every((t) => 'through' in t)).toBe(true);
  });

  it('may be made by a macro', () => {
    expect(map.functions['fast_attention_forward']?.testedBy.map((t) => t.name)).toContain('all_causal');
  });
});

describe('the syntax tree', () => {
  const macros = (): ReturnType<typeof nameMacros> => nameMacros(Object.values(map.files));

  it('knows the macros that make names', () => {
    const found = macros();
    for (const [macro, prefix] of [['REF', ''], ['GPT', 'gpt_'], ['LAB', 'lab_'], ['ATT', 'attention_example_'],
      ['CHECK', 'check_'], ['GRAPH', 'graph_'], ['FAST', 'fast_']] as const) expect([macro, found.get(macro)]).toEqual([macro, prefix]);
  });

  it('leaves every line and column where it was', { timeout: 600_000 }, () => {
    const made = macros();
    for (const [file, text] of Object.entries(map.files)) {
      if (!/\.[ch]$/.test(file)) continue;
      const plain = plainNames(text, made).text;
      expect([file, plain.length, plain.split('\n').length]).toEqual([file, text.length, text.split('\n').length]);
    }
  });

  it('finds as many functions as grep finds bodies at the left edge', () => {
    const files = Object.keys(map.files).filter((f) => /^src\/.*\.c$/.test(f));
    // A body begins with a brace of its own, or stands behind its parameters in one line.
    const grep = spawnSync('grep', ['-cE', '^\\{|^(EXPORT\\([a-z_]+\\) +)?[a-z][^=;]*\\) *\\{.*\\}( *\\\\)?$', ...files], { cwd: root, encoding: 'utf8' });
    const found = files.map((file) => `${file}:${parsed.get(file)?.functions.length}`);
    expect(found).toEqual(grep.stdout.trim().split('\n'));
    expect(files.length).toBeGreaterThan(150);
    expect(found.reduce((n, f) => n + Number(f.split(':')[1]), 0)).toBeGreaterThan(1500);
  });
});

describe('a label', () => {
  const file = 'src/a.c';
  /** Faults of labels in a function with these lines; each line that ends with a label has it. */
  const faultsOf = async (name: string, lines: readonly string[]): Promise<readonly string[]> => {
    await Parser.init();
    const parser = new Parser();
    parser.setLanguage(await Language.load(createRequire(import.meta.url).resolve('tree-sitter-c/tree-sitter-c.wasm')));
    const text = [`int ${name}(int n)`, '{', ...lines, '}', ''].join('\n');
    const parsed = new Map([[file, readC(parser, text, nameMacros(Object.values(map.files)))]]);
    parser.delete();
    const labels: Record<string, SourceMap['labels'][string]> = {};
    text.split('\n').forEach((t, i) => {
      const label = / \/\* ([a-z]+\.[a-z0-9]+) \*\/$/.exec(t)?.[1];
      if (label) labels[label] = { equation: { file, line: 1, text: '' }, tests: [], lines: [...(labels[label]?.lines ?? []), { file, line: i + 1, text: t, function: name }] };
    });
    expect(Object.keys(labels).length).toBeGreaterThan(0);
    return labelFaults(labels, parsed, { [file]: text });
  };

  it('stands on a line with an assignment, an initialisation, a return or a call', async () => {
    for (const line of ['x = y + 1;', 'x += y;', 'n++;', 'const int y = f(n);', 'return n;', 'if (n) return n;', 'if (n) x = n;', 'f(n);', 'REF(f)(n);', 'CALL(f, n);',
      'for (int i = 0; i < n; i++) x += i;', 'x = f(n,\n n);'])
      expect(await faultsOf('f', [`${line} /* a.b */`]), line).toEqual([]);
  });

  it('is refused on any other line', async () => {
    for (const [lines, at] of [
      [['for (int i = 0; i < n; i++) /* a.b */', 'x += i;'], 3], [['for (x = 0; x < n; x++) { /* a.b */', 'y += x;', '}'], 3], [['if (f(n)) /* a.b */', 'x = 1;'], 3],
      [['while ((x = f(n))) { /* a.b */', 'y = x;', '}'], 3], [['{', 'x = 1;', '} /* a.b */'], 5], [['x = 1;', '/* the sum */ /* a.b */'], 4], [['x = 1;', '/* a.b */'.padStart(12)], 4],
      [['int x; /* a.b */'], 3], [['if (n) break; /* a.b */'], 3], [['x = f(n, /* a.b */', 'n);'], 3], [['n; /* a.b */'], 3], [['else_here: /* a.b */', 'x = 1;'], 3]] as const)
      expect(await faultsOf('f', lines), lines.join(' ')).toEqual([
        `${file}:${at}: a.b: expected an assignment, an initialisation, a return or a call on this line; it is "${(lines[at - 3] as string).trim()}"`]);
  });

  it('has one line in a function, but where several are known', async () => {
    const split = (n: number): string[] => Array.from({ length: n }, (_, k) => `x = ${k}; /* attn.split */`);
    expect(await faultsOf('attention_forward', split(3))).toEqual([]);
    expect(await faultsOf('attention_forward', split(4))).toEqual([`${file}:6: attn.split: line 4 of this label in attention_forward; expected at most 3`]);
    expect(await faultsOf('f', split(2))).toEqual([`${file}:4: attn.split: line 2 of this label in f; expected at most 1`]);
  });
});

describe('links', () => {
  it('are web addresses without a password, or none', () => {
    const c = '0123abc';
    expect(linkBase('https://example.org/o/vitrine.git', c)).toBe('https://example.org/o/vitrine/blob/0123abc/');
    expect(linkBase('https://user:secret@example.org/o/vitrine', c)).toBe('https://example.org/o/vitrine/blob/0123abc/');
    expect(linkBase('git@example.org:o/vitrine.git', c)).toBe('https://example.org/o/vitrine/blob/0123abc/');
    expect(linkBase('ssh://git@example.org:2222/o/vitrine.git', c)).toBe('https://example.org/o/vitrine/blob/0123abc/');
    expect(linkBase('git@gitlab.example.org:o/vitrine.git', c)).toBe('https://gitlab.example.org/o/vitrine/-/blob/0123abc/');
    for (const none of ['/srv/git/vitrine.git', '../vitrine', 'file:///srv/vitrine', 'C:\\vitrine', '']) expect(linkBase(none, c)).toBeNull();
  });
});

describe('content', () => {
  const folder = join(scratch, 'content');
  const faultsOf = (yaml: string): string[] => {
    mkdirSync(join(folder, 'page'), { recursive: true });
    writeFileSync(join(folder, 'page/01-x.yaml'), yaml);
    return contentFaults(map, folder);
  };

  it('that names what there is has no fault', () => {
    expect(faultsOf('equations:\n  - {label: attn.softmax}\n  - {id: attn.rowsum, from: attn.softmax}\n' +
      'implementation: [attention_forward, attn.merge]\nwhere: [bpe_train.c:merge]\nliterature:\n  - {paper: p, where: section 3}\n')).toEqual([]);
    expect(contentFaults(map, join(root, 'site/content'))).toEqual([]);
  });

  it('is refused with the place and the name', () => {
    expect(faultsOf('equations:\n  - {title: a}\n  - {label: attn.sofmax}\n')).toEqual(['page/01-x.yaml:3: attn.sofmax: no equation in the sources has this label']);
    expect(faultsOf('equations:\n  - {from: attn.nothing}\n')).toEqual(['page/01-x.yaml:2: attn.nothing: no equation in the sources has this label']);
    expect(faultsOf('where:\n  - attention_forwards\n')).toEqual(['page/01-x.yaml:2: attention_forwards: no function in the sources has this name']);
    expect(faultsOf('implementation: [no.label]\n')).toEqual(['page/01-x.yaml:1: no.label: no equation in the sources has this label']);
    expect(faultsOf('implementation: [merge]\n')[0]).toMatch(/^page\/01-x\.yaml:1: merge: several files define it: write .*bpe_train\.c:merge/);
    expect(faultsOf('what: |\n  as in `attention.c:49`\n')).toEqual(['page/01-x.yaml:1: attention.c:49: a line number typed by hand; name the label or the function']);
    expect(faultsOf('why: "[here](source/x.html#L38)"\n')[0]).toContain('#L38: a line number typed by hand');
  });
});

describe('a map', () => {
  /** A deep copy that may be changed. */
  const copy = (): { labels: Record<string, { lines: { line: number; file: string }[]; tests: { line: number }[]; equation: { line: number } }>;
    functions: Record<string, { start: number; file: string }> } & SourceMap => JSON.parse(JSON.stringify(map));

  it('as made has no stale line', () => {
    expect(staleLines(map)).toEqual([]);
  });

  it('with a wrong line is refused, and the label named', () => {
    const place = map.labels['attn.ds']?.lines[0];
    for (const by of [-1, 1, 100_000]) {
      const wrong = copy(), line = wrong.labels['attn.ds']?.lines[0];
      if (line) line.line += by;
      expect(staleLines(wrong)).toEqual([expect.stringContaining(`${place?.file}:${(place?.line ?? 0) + by}: expected a line that ends with the label attn.ds:`)]);
    }
  });

  it('with a wrong equation, test or function is refused', () => {
    const equation = copy(), test = copy(), moved = copy();
    equation.labels['attn.ds']!.equation.line++;
    test.labels['attn.ds']!.tests[0]!.line++;
    moved.functions['attention_forward']!.start += 200;
    expect(staleLines(equation)).toEqual([expect.stringContaining('expected the equation (attn.ds)')]);
    expect(staleLines(test)).toEqual([expect.stringContaining('of attn.ds')]);
    expect(staleLines(moved)).toEqual([expect.stringContaining('expected the function attention_forward')]);
  });

  it('is not fooled by a longer label', () => {
    const wrong = copy();
    const other = map.labels['attn.dq']?.lines[0];
    wrong.labels['attn.d'] = { ...wrong.labels['attn.dq']!, lines: [{ ...other! }] };
    expect(staleLines(wrong)).toContainEqual(expect.stringContaining('ends with the label attn.d:'));
  });
});

describe('the tool', { timeout: 600_000 }, () => {
  const tree = join(scratch, 'tree');
  const git = (...args: string[]): string => execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd: tree, encoding: 'utf8' }).trim();
  /** Not spawnSync: the runner of the tests waits for signs of life. */
  const run = (...args: string[]): Promise<{ status: unknown; out: string; err: string }> =>
    new Promise((done) => execFile('sh', [join(root, 'tools/map'), '--root', tree, ...args], { encoding: 'utf8' },
      (error, out, err) => done({ status: error ? error.code : 0, out, err })));
  /** Runs with a file changed, which must fail, and puts it back. */
  const withChange = async (file: string, from: string, to: string): Promise<string> => {
    const path = join(tree, file), before = readFileSync(path, 'utf8');
    expect(before).toContain(from);
    writeFileSync(path, before.replace(from, to));
    const r = await run();
    writeFileSync(path, before);
    expect([r.status, r.out]).toEqual([1, '']);
    return r.err;
  };

  beforeAll(() => {
    for (const part of ['src', 'include', 'tests', 'tools', 'exercises', 'CMakeLists.txt', 'run', 'test', '.gitignore'])
      cpSync(join(root, part), join(tree, part), { recursive: true });
  });

  const out = join(tree, 'build/site-work/map.json');
  const read = (): SourceMap => JSON.parse(readFileSync(out, 'utf8')) as SourceMap;
  const commitAll = (): string => {
    git('add', '-A');
    git('commit', '-qm', 'all');
    return git('rev-parse', 'HEAD');
  };

  it('writes the map of a clean tree with its commit', async () => {
    git('init', '-q');
    const commit = commitAll();
    expect(await run()).toEqual({ status: 0, out: `map: ${Object.keys(map.labels).length} equations, ${Object.keys(map.functions).length} functions\n`, err: '' });
    expect(read()).toEqual({ ...map, commit, modified: false, link: null });
  });

  it('gives the same labels where the sources without one are gone: what follows looks at those that have', async () => {
    const told = /\([a-z]+\.[a-z0-9]+\)$|\/\*( [a-z]+\.[a-z0-9]+)+ \*\/$|^\/\* proves |^#define [A-Z_]{2,}\(\w+\) +\w+_##/m;
    // And those that share a function's name with one of them: names of their own are told apart by the file.
    const shared = new Set(Object.values(map.labels).flatMap((l) => l.lines.map((at) => at.function?.split(':')[1])));
    const rivals = new Set(Object.entries(map.functions).filter(([key]) => shared.has(key.split(':').pop())).map(([, f]) => f.file));
    for (const [file, text] of Object.entries(map.files)) if (/\.[ch]$/.test(file) && !told.test(text) && !rivals.has(file)) rmSync(join(tree, file));
    commitAll();
    expect((await run()).status).toBe(0);
    expect(Object.keys(read().labels)).toEqual(Object.keys(map.labels));
    expect(Object.keys(read().files).length).toBeLessThan(Object.keys(map.files).length / 2);
  });

  it('links once it is pushed', async () => {
    const commit = git('rev-parse', 'HEAD');
    git('remote', 'add', 'origin', 'https://user:secret@example.org/o/vitrine.git');
    git('update-ref', 'refs/remotes/origin/main', commit);
    expect((await run()).status).toBe(0);
    expect(read().link).toBe(`https://example.org/o/vitrine/blob/${commit}/`);
    expect(await run('--check', out)).toMatchObject({ status: 0, err: '' });
    writeFileSync(join(tree, 'src/kernels/residual.c'), `\n${readFileSync(join(tree, 'src/kernels/residual.c'), 'utf8')}`);
    const stale = await run('--check', out);
    expect(stale.status).toBe(1);
    expect(stale.err).toContain('src/kernels/residual.c: is not as the map has it');
    expect(stale.err).toContain('expected a line that ends with the label res.y');
    expect((await run()).status).toBe(0);
    expect(read()).toMatchObject({ commit, modified: true, link: null });
    git('checkout', '-q', 'src/kernels/residual.c');
  });

  it('fails on a mutated label, and says which', async () => {
    const file = 'src/kernels/attention.c', line = lineOf(file, '/* attn.dq */', tree), stated = lineOf(file, '(attn.dq)', tree);
    const err = await withChange(file, '/* attn.dq */', '/* attn.dqq */');
    expect(err).toContain(`map: attn.dqq: no equation; ${file}:${line}\n`);
    expect(err).toContain(`map: attn.dq: no line computes it; stated at ${file}:${stated}\n`);
  });

  it('fails on a deleted computing line, and says which', async () => {
    const file = 'src/model/gpt.c', stated = lineOf(file, '(head.dwte)', tree);
    const err = await withChange(file, "d->wte[v * (size_t)C + i] += g->dhead[i * (size_t)z->V + v]; /* head.dwte */", '{ }');
    expect(err).toContain(`map: head.dwte: no line computes it; stated at ${file}:${stated}\n`);
  });

  it('fails on an equation that is gone, or stated twice', async () => {
    const file = 'src/train/schedule.c';
    expect(await withChange(file, '(lr.warmup)', '')).toContain(`map: lr.warmup: no equation; ${file}:${lineOf(file, '/* lr.warmup */', tree)}`);
    expect(await withChange(file, '(lr.end)', '(lr.warmup)')).toContain('map: lr.warmup: stated twice');
  });

  it('fails on a label that no test proves', async () => {
    const file = 'src/data/dataset.c';
    expect(await withChange('tests/test_dataset.c', '/* proves batch.split */', '')).toContain(`map: batch.split: no test proves it; ${file}:${lineOf(file, '/* batch.split */', tree)}`);
  });

  it('fails on a claim that stands before no test', async () => {
    expect(await withChange('tests/test_dataset.c', '/* proves batch.split */\n', '/* proves batch.split */\nint x;\n')).toContain('no test function behind this comment');
  });

  it('fails on content that names a label the sources lack', async () => {
    mkdirSync(join(tree, 'site/content/p'), { recursive: true });
    writeFileSync(join(tree, 'site/content/p/01-a.yaml'), 'equations:\n  - {label: attn.gone}\n');
    expect(await run()).toMatchObject({ status: 1, out: '', err: 'map: site/content/p/01-a.yaml:2: attn.gone: no equation in the sources has this label\n' });
    const draft = await run('--draft');
    expect([draft.status, draft.err]).toEqual([0, 'map: site/content/p/01-a.yaml:2: attn.gone: no equation in the sources has this label\n']);
    rmSync(join(tree, 'site'), { recursive: true });
  });

  it('fails on a function that the grammar would lose', async () => {
    expect(await withChange('src/kernels/residual.c', 'void REF(residual_forward)(', 'static const int list[] = {\nvoid REF(residual_forward)('))
      .toMatch(/^map: src\/kernels\/residual\.c:\d+: residual_forward: the grammar of C does not see this function$/m);
  });

  it('fails on a label whose line computes nothing, and on a second line of it, and says where', async () => {
    const file = 'src/kernels/residual.c', label = '/* res.y */', sum = 'out[i] = a[i] + b[i];', line = lineOf(file, label, tree);
    const old = readFileSync(join(tree, file), 'utf8').split('\n')[line - 1] as string;
    expect(await withChange(file, old, `for (int k = 0; k < 1; k++) ${label}\n${sum}`))
      .toBe(`map: ${file}:${line}: res.y: expected an assignment, an initialisation, a return or a call on this line; it is "for (int k = 0; k < 1; k++) ${label}"\n`);
    expect(await withChange(file, old, `${sum} ${label}\n${sum} ${label}`))
      .toBe(`map: ${file}:${line + 1}: res.y: line 2 of this label in residual_forward; expected at most 1\n`);
  });

  it('says how it is used', async () => {
    expect((await run('--help')).out).toContain('usage: tools/map');
    expect(await run('--nothing', 'x')).toMatchObject({ status: 2, err: 'tools/map: --nothing: no such option; see tools/map --help\n' });
    expect(await run('--out')).toMatchObject({ status: 2, err: 'tools/map: --out: expected a value; see tools/map --help\n' });
  });
});
