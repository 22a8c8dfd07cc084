// @ts-check
/* map-check.mjs -- what must hold of a map, and of the content that uses it. Each
 * fault is one line: file, line, label or function, what was expected.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { LineCounter, isMap, isScalar, isSeq, parseDocument, visit } from 'yaml';

/** @typedef {import('../src/components/site-data').SourceMap} SourceMap */

/**
 * Lines and functions that are not where the map says: a map that is older than
 * the sources, or one that somebody edited.
 * @param {SourceMap} map @param {(file: string) => string | undefined} [now]  the sources; the map's own where left out
 * @returns {string[]}
 */
export function staleLines(map, now = (file) => map.files[file]) {
  /** @type {string[]} */
  const faults = [];
  /** @type {Map<string, string[]>} */
  const read = new Map();
  /** @param {string} file @returns {string[]} */
  const linesOf = (file) => {
    const lines = read.get(file) ?? now(file)?.split('\n') ?? [];
    read.set(file, lines);
    return lines;
  };
  /** @param {string} file @param {number} line @param {RegExp} wanted @param {string} what */
  const expect = (file, line, wanted, what) => {
    const text = linesOf(file)[line - 1];
    if (text === undefined) faults.push(`${file}:${line}: ${what}: there is no such line`);
    else if (!wanted.test(text)) faults.push(`${file}:${line}: ${what}: the line is "${text.trim()}"`);
  };
  for (const [label, { equation, lines, tests }] of Object.entries(map.labels)) {
    const name = label.replace('.', '\\.');
    expect(equation.file, equation.line, new RegExp(`\\(${name}\\)$`), `expected the equation (${label})`);
    if (lines.length === 0) faults.push(`${equation.file}:${equation.line}: ${label}: no line computes it`);
    for (const l of lines)
      expect(l.file, l.line, new RegExp(`/\\*( [a-z]+\\.[a-z0-9]+)*? ${name}( [a-z]+\\.[a-z0-9]+)* \\*/$`), `expected a line that ends with the label ${label}`);
    if (tests.length === 0) faults.push(`${equation.file}:${equation.line}: ${label}: no test proves it`);
    for (const t of tests) expect(t.file, t.line, new RegExp(`\\b${t.name}\\(`), `expected the test ${t.name} of ${label}`);
  }
  for (const [key, f] of Object.entries(map.functions)) {
    const name = key.slice(key.indexOf(':') + 1), text = linesOf(f.file).slice(f.start - 1, f.end).join('\n');
    const parts = name.split('_').map((_, i, all) => all.slice(i).join('_'));       // without a macro's prefix
    if (!parts.some((n) => new RegExp(`\\b${n}\\b`).test(text)) || !text.endsWith('}'))
      faults.push(`${f.file}:${f.start}: expected the function ${name}, lines ${f.start} to ${f.end}`);
  }
  return faults;
}

/**
 * Labels that sit on several lines of one function, and on how many: steps of one
 * equation, or one equation for each of several tensors.  Any other label has one line
 * in a function, so that the line computes what the equation says.
 * @type {Readonly<Record<string, number>>}
 */
const SEVERAL = {
  'attn.split attention_forward': 3,
  'batch.shuffle batches_get': 2,
  'batch.window fill_row': 2,
  'block.dres gpt.c:layer_backward': 2,
  'block.mlp layer_inner': 2,
  'bpe.best before': 3,
  'bpe.merge bpe_add_merge': 2,
  'bpe.split presplit_next': 3,
  'cache.store store_keys': 2,
  'lab.dw lab_backward_slopes': 3,
  'lab.dx lab_backward_slopes': 3,
  'ln.dxhat layernorm_backward': 2,
  'opt.norm optimizer_step': 2,
  'sample.draw filters.c:draw': 2,
  'sample.topp filters.c:keep': 2,
};

/**
 * Labels on lines that compute nothing (a head of a loop, a brace, a comment), and labels
 * on more lines of a function than they are known to need.
 * @param {SourceMap['labels']} labels
 * @param {ReadonlyMap<string, Pick<import('./c-functions.mjs').CFile, 'computing'>>} parsed
 * @param {Readonly<Record<string, string>>} files
 * @returns {string[]}
 */
export function labelFaults(labels, parsed, files) {
  /** @type {string[]} */
  const faults = [];
  for (const [label, { lines }] of Object.entries(labels)) {
    /** @type {Map<string, number>} */
    const count = new Map();
    for (const l of lines) {
      const text = files[l.file]?.split('\n')[l.line - 1]?.trim() ?? '';
      if (!parsed.get(l.file)?.computing.has(l.line))
        faults.push(`${l.file}:${l.line}: ${label}: expected an assignment, an initialisation, a return or a call on this line; it is "${text}"`);
      const within = `${label} ${l.function ?? l.file}`, n = (count.get(within) ?? 0) + 1, most = SEVERAL[within] ?? 1;
      count.set(within, n);
      if (n > most) faults.push(`${l.file}:${l.line}: ${label}: line ${n} of this label in ${l.function ?? l.file}; expected at most ${most}`);
    }
  }
  return faults;
}

/** @param {string} folder @returns {string[]} */
function yamlFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((e) =>
    e.isDirectory() ? yamlFiles(join(folder, e.name)) : /\.ya?ml$/.test(e.name) ? [join(folder, e.name)] : []).sort();
}

const TYPED_LINE = /[\w/-]+\.(?:c|h|def|inc|tsx?|mjs|sh|py|awk):\d+|#L\d+/;

/**
 * Labels and functions that the content names and the map lacks, and line numbers
 * that were typed.
 * @param {SourceMap} map @param {string} folder @param {string} [from]  names of files are relative to it
 * @returns {string[]}
 */
export function contentFaults(map, folder, from = folder) {
  /** @type {string[]} */
  const faults = [];
  const functions = Object.keys(map.functions);
  for (const path of yamlFiles(folder)) {
    const file = relative(from, path), count = new LineCounter();
    const doc = parseDocument(readFileSync(path, 'utf8'), { lineCounter: count });
    /** @param {unknown} node @returns {string} */
    const at = (node) => `${file}:${count.linePos(/** @type {{ range?: number[] }} */ (node).range?.[0] ?? 0).line}`;
    /** @param {unknown} node */
    const label = (node) => {
      if (isScalar(node) && typeof node.value === 'string' && !(node.value in map.labels))
        faults.push(`${at(node)}: ${node.value}: no equation in the sources has this label`);
    };
    /** @param {unknown} node */
    const named = (node) => {
      if (!isScalar(node) || typeof node.value !== 'string' || node.value in map.functions) return;
      const name = node.value, several = functions.filter((f) => f.endsWith(`:${name}`));
      if (/^[a-z]+\.[a-z0-9]+$/.test(name)) label(node);
      else if (several.length > 0) faults.push(`${at(node)}: ${name}: several files define it: write ${several.join(' or ')}`);
      else faults.push(`${at(node)}: ${name}: no function in the sources has this name`);
    };
    for (const error of doc.errors) faults.push(`${file}: ${error.message.split('\n')[0]}`);
    visit(doc, {
      Pair(_, pair) {
        const key = isScalar(pair.key) ? pair.key.value : null;
        if ((key === 'implementation' || key === 'where') && isSeq(pair.value)) pair.value.items.forEach(named);
        if (key === 'equations' && isSeq(pair.value))
          for (const equation of pair.value.items)
            if (isMap(equation)) for (const k of ['label', 'from']) label(equation.get(k, true));
      },
      Scalar(_, node) {
        const typed = typeof node.value === 'string' && TYPED_LINE.exec(node.value);
        if (typed) faults.push(`${at(node)}: ${typed[0]}: a line number typed by hand; name the label or the function`);
      },
    });
  }
  return faults;
}
