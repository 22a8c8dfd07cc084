// @ts-check
/* map.mjs -- the map equation -> lines -> tests -> callers, for the site.
 *
 * usage: see HELP. tools/eqmap.sh, which reads labels, is the owner of the map;
 * the syntax tree adds the functions, who calls them and which tests reach them.
 * The file that it writes is described in src/components/site-data.ts, as
 * SourceMap; a line that ends a statement begun earlier has that in `text`, and
 * where it began in `start`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Language, Parser } from 'web-tree-sitter';
import { nameMacros, readC } from './c-functions.mjs';
import { callGraph } from './call-graph.mjs';
import { contentFaults, labelFaults, staleLines } from './map-check.mjs';

const HELP = `usage: tools/map [--draft] [--root DIR] [--content DIR] [--out FILE] [--check FILE]

Writes the map of the C sources to build/site-work/map.json. Fails on an
equation without a line or a test, a line without an equation, a label on a line
that computes nothing or on one more line of a function than it needs, a label or
a function that the content names and the sources lack, a line number typed in
the content, and a function that the grammar of C does not see.

  --draft         faults of the content are listed and do not count
  --root DIR      the tree (this one)
  --content DIR   its content (DIR/site/content, where there is one)
  --out FILE      what it writes (DIR/build/site-work/map.json)
  --check FILE    writes nothing: is FILE the map of the tree as it stands?

Exit status: 0 all well, 1 not, 2 usage.`;

/** @typedef {import('../src/components/site-data').SourceMap} SourceMap */
/** @typedef {import('../src/components/site-data').MapLabel} MapLabel */

/** What is wrong, a line each. */
export class MapError extends Error {
  /** @param {readonly string[]} faults */
  constructor(faults) {
    super(faults.join('\n'));
    this.name = 'MapError';
  }
}

const TEXT = /\.(?:[ch]|def|inc|sh|py|awk|cmake|mjs|tsx?|md)$|^(?:CMakeLists\.txt|[a-z_]+)$/;

/** @param {string} root @param {string} folder @returns {string[]} */
function sources(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((e) => {
    const path = `${folder}/${e.name}`;
    if (e.isDirectory()) return e.name === 'golden' ? [] : sources(root, path);
    return e.isFile() && TEXT.test(e.name) ? [path] : [];
  });
}

/** @param {string} root @returns {Record<string, string>} */
function readFiles(root) {
  const paths = ['src', 'include', 'tests', 'tools', 'exercises'].filter((f) => existsSync(join(root, f))).flatMap((f) => sources(root, f));
  for (const file of ['CMakeLists.txt', 'run', 'test']) if (existsSync(join(root, file))) paths.push(file);
  return Object.fromEntries(paths.sort().map((p) => [p, readFileSync(join(root, p), 'utf8')]));
}

/** @typedef {{ files: Record<string, string>, parsed: Map<string, import('./c-functions.mjs').CFile> }} Tree */

/** The files of a tree, and what is in those of C. @param {string} root @returns {Promise<Tree>} */
export async function readTree(root) {
  const files = readFiles(root);
  const require = createRequire(import.meta.url);
  await Parser.init();
  const parser = new Parser();
  parser.setLanguage(await Language.load(require.resolve('tree-sitter-c/tree-sitter-c.wasm')));
  const paths = Object.keys(files).filter((p) => /^(src|include)\/.*\.[ch]$|^tests\/[^/]*\.[ch]$/.test(p));
  const macros = nameMacros(paths.filter((p) => !p.startsWith('tests/')).map((p) => files[p] ?? ''));
  const parsed = new Map(paths.map((p) => [p, readC(parser, files[p] ?? '', macros)]));
  parser.delete();
  return { files, parsed };
}

/**
 * The labels as the awk tool finds them: LABEL, equation, lines, tests.
 * @param {string} root @returns {{ label: string, equation: string, lines: string[], tests: string[] }[]}
 */
function eqmap(root) {
  const run = spawnSync('sh', ['tools/eqmap.sh'], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (run.error) throw run.error;
  if (run.status !== 0) throw new MapError(run.stderr.trim().split('\n').map((l) => l.replace(/^eqmap: /, '')));
  return run.stdout.split('\n').filter((l) => l.includes('\t')).map((row) => {
    const [label = '', equation = '', lines = '', tests = ''] = row.split('\t');
    return { label, equation, lines: lines.split(' '), tests: tests.split(' ') };
  });
}

/** @param {string} place @returns {[string, string]} */
function cut(place) {
  const at = place.lastIndexOf(':');
  return [place.slice(0, at), place.slice(at + 1)];
}

/** @param {string} line @returns {string} */
const withoutLabels = (line) => line.replace(/\s*\/\*( [a-z]+\.[a-z0-9]+)+ \*\/$/, '');

/**
 * @param {ReturnType<typeof eqmap>} rows @param {Record<string, string>} files
 * @param {ReadonlyMap<string, import('./c-functions.mjs').CFile>} parsed
 * @param {ReturnType<typeof callGraph>} functions
 * @returns {Record<string, MapLabel>}
 */
function labelsOf(rows, files, parsed, functions) {
  /** @param {string} file @param {number} line */
  const textAt = (file, line) => files[file]?.split('\n')[line - 1] ?? '';
  /** @param {string} file @param {number} line */
  const within = (file, line) => Object.keys(functions).find((k) => {
    const f = functions[k];
    return f && f.file === file && f.start <= line && line <= f.end;
  }) ?? null;
  /** The smallest statement that ends on the line. @param {string} file @param {number} line */
  const statement = (file, line) => parsed.get(file)?.statements.filter((s) => s.end === line).sort((a, b) => b.start - a.start)[0];
  return Object.fromEntries(rows.map(({ label, equation, lines, tests }) => {
    const [file, line] = cut(equation);
    return [label, {
      equation: { file, line: Number(line), text: textAt(file, Number(line)).replace(/^ \*\s*/, '').replace(/\s*\([a-z.0-9]+\)$/, '') },
      lines: lines.map((place) => {
        const [path, at] = cut(place), n = Number(at), whole = statement(path, n);
        return { file: path, line: n, start: whole?.start ?? n, text: withoutLabels((whole?.text ?? textAt(path, n)).trim()), function: within(path, n) };
      }),
      tests: tests.map((place) => {
        const [path, name] = cut(place);
        const test = parsed.get(path)?.functions.find((f) => f.name === name);
        return { file: path, line: test?.start ?? 0, name };
      }),
    }];
  }));
}

/** @param {string} root @param {readonly string[]} args @returns {string | null} */
function git(root, ...args) {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return null;                                // no git, or no checkout: a tarball
  }
}

/**
 * Start of links to files at a commit, from the address of a remote; null where
 * that is no web address. A user and password in it are left out.
 * @param {string} remote @param {string} commit @returns {string | null}
 */
export function linkBase(remote, commit) {
  const m = /^(?:https?:\/\/(?:[^/@]*@)?|ssh:\/\/(?:[^/@]*@)?|[\w.-]+@)([\w-]+(?:\.[\w-]+)+)(?::\d+(?=\/))?[/:](.+?)(?:\.git)?\/?$/.exec(remote);
  if (!m || !m[1] || !m[2]) return null;
  return `https://${m[1]}/${m[2]}/${m[1].includes('gitlab') ? '-/' : ''}blob/${commit}/`;
}

/**
 * Lines of a modified tree are not those of the commit, and nobody has a commit that
 * was not pushed: then there is no link, and the site shows the sources itself.
 * @param {string} root @returns {{ commit: string, modified: boolean, link: string | null }}
 */
function revision(root) {
  const top = git(root, 'rev-parse', '--show-toplevel');
  const commit = top && resolve(top) === resolve(root) ? git(root, 'rev-parse', 'HEAD') : null;
  if (!commit) return { commit: 'unknown', modified: true, link: null };
  const modified = git(root, 'status', '--porcelain', '--untracked-files=normal') !== '';
  const pushed = (git(root, 'branch', '-r', '--contains', 'HEAD') ?? '') !== '';
  const remote = git(root, 'config', '--get', 'remote.origin.url');
  return { commit, modified, link: remote && pushed && !modified ? linkBase(remote, commit) : null };
}

/** @param {string} root @param {Tree} [tree] what was read of it @returns {Promise<SourceMap>} */
export async function makeMap(root, tree) {
  const rows = eqmap(root), { files, parsed } = tree ?? await readTree(root);
  const lost = [...parsed].flatMap(([path, f]) => f.lost.map((l) => `${path}:${l.line}: ${l.name}: the grammar of C does not see this function`));
  if (lost.length > 0) throw new MapError(lost);
  const functions = callGraph(parsed);
  const map = { ...revision(root), labels: labelsOf(rows, files, parsed, functions), functions, files };
  const faults = [...staleLines(map), ...labelFaults(map.labels, parsed, files)];
  if (faults.length > 0) throw new MapError(faults);
  return map;
}

/** @param {SourceMap} map @param {string} root @returns {string[]} */
function differences(map, root) {
  const faults = staleLines(map), now = readFiles(root);
  for (const file of new Set([...Object.keys(map.files), ...Object.keys(now)]))
    if (map.files[file] !== now[file]) faults.push(`${file}: is not as the map has it`);
  return [...faults, ...staleLines(map, (file) => now[file])];
}

/** @param {readonly string[]} argv */
async function main(argv) {
  const options = { root: fileURLToPath(new URL('../..', import.meta.url)), content: '', out: '', check: '' };
  const draft = argv.includes('--draft');
  argv = argv.filter((a) => a !== '--draft');
  for (let i = 0; i < argv.length; i += 2) {
    const name = argv[i]?.replace(/^--/, '') ?? '', value = argv[i + 1];
    if (name === 'help') {
      console.log(HELP);
      return 0;
    }
    if (!(name in options) || value === undefined) {
      console.error(`tools/map: ${argv[i]}: ${name in options ? 'expected a value' : 'no such option'}; see tools/map --help`);
      return 2;
    }
    options[/** @type {keyof typeof options} */ (name)] = resolve(value);
  }
  const { root } = options, content = options.content || join(root, 'site/content');
  const map = options.check ? /** @type {SourceMap} */ (JSON.parse(readFileSync(options.check, 'utf8'))) : await makeMap(root);
  const faults = options.check ? differences(map, root) : [];
  const inContent = existsSync(content) ? contentFaults(map, content, root) : [];
  if (draft) for (const fault of inContent) console.error(`map: ${fault}`);
  else faults.push(...inContent);
  if (faults.length > 0) throw new MapError([...new Set(faults)]);
  if (!options.check) {
    const out = options.out || join(root, 'build/site-work/map.json');
    mkdirSync(dirname(out), { recursive: true });
    writeFileSync(out, JSON.stringify(map));
  }
  console.log(`map: ${Object.keys(map.labels).length} equations, ${Object.keys(map.functions).length} functions`);
  return 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  main(process.argv.slice(2)).then((status) => { process.exitCode = status; }, (/** @type {unknown} */ error) => {
    const lines = error instanceof MapError ? error.message.split('\n') : [error instanceof Error ? error.message : String(error)];
    for (const line of lines) console.error(`map: ${line}`);
    process.exitCode = 1;
  });
