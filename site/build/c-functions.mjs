// @ts-check
/* c-functions.mjs -- the functions of a C file, and what each of them calls, from
 * its syntax tree.
 *
 * One text is compiled for several scalars here, so names are often made by a
 * macro. Before parsing, each is replaced by a plain name of the same length, so
 * that lines and columns stay:
 *
 *     REF(attention_forward)         the function attention_forward
 *     GPT(forward)                   gpt_forward: the macro's prefix, without the
 *                                    suffix of a scalar or an instruction set
 *     CALL(linear_forward, x, ..)    a call of linear_forward and of its fast kernel
 *     kernels->adamw(..)             a call of the fast kernel, fast_adamw: the table
 *                                    of kernels (ops.h) has their names
 *
 *     ON_EVERY_TABLE(causal)         in a test: a test function, all_causal, that
 *                                    uses the function causal
 *
 * and words that only decorate a definition are blanked. The grammar does not know
 * a list or an enumeration that an #include or a macro fills, and skips a part of
 * it: so that no function is lost with that, the functions it finds must be those
 * that the layout of the lines shows.
 */

/**
 * @typedef {{ name: string, line: number }} Use  A name that is called, or passed as a value, on a line.
 * @typedef {{ name: string, start: number, end: number, isStatic: boolean, test: boolean, uses: Use[] }} CFunction
 * @typedef {{ start: number, end: number, text: string }} Statement  Lines of the file, from 1.
 * @typedef {{ functions: CFunction[], statements: Statement[], computing: Set<number>, lost: { name: string, line: number }[] }} CFile
 *     computing: lines on which an assignment, an initialisation, a return or a call ends.
 *     lost: functions by the layout of the lines that the tree lacks.
 * @typedef {ReadonlyMap<string, string>} NameMacros  Macro -> prefix of the names that it makes.
 */

const SUFFIX = /_(f32|f64|c128|f128|fast|portable|avx2|avx512|neon|wasm)$/;

/**
 * Macros that make names: #define GPT(name) gpt_##name##_f32. REF's prefix is left
 * out: the plain name is the definition.
 * @param {Iterable<string>} texts
 * @returns {NameMacros}
 */
export function nameMacros(texts) {
  /** @type {Map<string, string>} */
  const macros = new Map([['FAST', 'fast_']]);          // pasted in two steps: fast.h
  for (const text of texts)
    for (const m of text.matchAll(/^#define ([A-Z_]{2,})\((\w+)\) +(\w+_)##\2##_\w+$/gm))
      if (m[1] && m[3]) macros.set(m[1], m[3] === 'ref_' ? '' : m[3]);
  return macros;
}

/** @param {string} text @returns {string} */
const blanks = (text) => text.replace(/[^\n]/g, ' ');

/**
 * The text with plain names in the places of macros, and what those names mean.
 * @param {string} text @param {NameMacros} macros
 * @returns {{ text: string, names: Map<number, string[]> }} names: by offset
 */
export function plainNames(text, macros) {
  /** @type {Map<number, string[]>} */
  const names = new Map();
  const made = new RegExp(`\\b(${[...macros.keys()].join('|')})\\((\\w+)\\)`, 'g');
  let plain = text.replace(/^(?=[ \t]*#[ \t]*define\b)(?:.*\\\n)*.*$/gm, blanks);      // no code in them
  plain = plain.replace(made, (whole, macro, name, at) => {
    names.set(at, [`${macros.get(macro)}${name}`]);
    return name + blanks(whole).slice(name.length);
  });
  plain = plain.replace(/^[A-Z_]+\(\w+\)$/gm, blanks);                                 // testsByMacro
  plain = plain.replace(/\bCALL\(\s*(\w+),/g, (whole, name) => `${blanks(whole).slice(name.length + 1)}${name}(`);
  for (const m of text.matchAll(/\bCALL\(\s*(\w+),/g))
    if (m[1]) names.set(m.index + m[0].length - m[1].length - 1, [m[1], `fast_${m[1]}`]);
  plain = plain.replace(/\b(VT_MUST_CHECK|VEC_INLINE|EXPORT|_Complex|_Thread_local|_Noreturn)\b(?!\()/g, blanks);
  plain = plain.replace(/\b(VT_PRINTF|EXPORT|__attribute__|_Pragma)\s*\((?:[^()]|\([^()]*\))*\)/g, blanks);
  plain = plain.replace(/\b_Atomic\(([^()]*)\)/g, (whole, type) => type + blanks(whole).slice(type.length));
  return { text: plain, names };
}

/**
 * Names by which a function may be meant: itself, and without what a macro would
 * have put around it.
 * @param {string} name @returns {string[]}
 */
export function spellings(name) {
  const bare = name.replace(SUFFIX, '');
  return [...new Set([name, bare, bare.replace(/^ref_/, '')])];
}

/** @typedef {import('web-tree-sitter').Node} Node */

/** @param {Node} node @returns {Node | null} The identifier that a declarator declares. */
function declared(node) {
  for (let at = /** @type {Node | null} */ (node); at; at = at.childForFieldName('declarator') ?? at.namedChild(0))
    if (at.type === 'identifier') return at;
  return null;
}

/**
 * All nodes of some types within one, in their order. The parser looks for them itself: to visit
 * each node of a tree from here takes longer than to parse it.
 * @param {Node} node @param {string[]} types @returns {Node[]}
 */
const within = (node, types) => node.descendantsOfType(types).filter((n) => n !== null);

/**
 * What a function calls, and the functions whose names it passes on.
 * @param {Node} body @param {Node} whole @param {Map<number, string[]>} names
 * @returns {Use[]}
 */
function usesOf(body, whole, names) {
  /** @type {Use[]} */
  const uses = [];
  /** @type {Set<string>} */
  const own = new Set();                    // variables and parameters hide functions
  for (const node of within(whole, ['parameter_declaration', 'declaration', 'init_declarator']))
    for (const d of node.childrenForFieldName('declarator')) if (d) own.add(declared(d)?.text ?? '');
  /** @param {Node} node */
  const add = (node) => {
    for (const name of names.get(node.startIndex) ?? [node.text])
      uses.push({ name, line: node.startPosition.row + 1 });
  };
  for (const node of within(body, ['call_expression', 'identifier'])) {
    if (node.type === 'call_expression') {
      const called = node.childForFieldName('function');
      const field = called?.type === 'field_expression' ? called.childForFieldName('field') : null;
      if (called?.type === 'identifier') add(called);
      else if (field)
        uses.push({ name: `fast_${field.text}`, line: field.startPosition.row + 1 });
    } else if (node.type === 'identifier' && !own.has(node.text) && node.parent &&
               ['argument_list', 'initializer_list', 'initializer_pair', 'assignment_expression',
                'conditional_expression', 'init_declarator', 'return_statement'].includes(node.parent.type)) {
      add(node);
    }
  }
  return uses;
}

/**
 * Tests that a macro defines: #define M(name) \ static void all_##name(void **state) ..
 * @param {string} source @returns {CFunction[]}
 */
function testsByMacro(source) {
  /** @type {CFunction[]} */
  const tests = [];
  for (const d of source.matchAll(/^#define ([A-Z_]+)\((\w+)\) \\\n\s*static void (\w+)##\2\(void \*\*\w+\)/gm))
    for (const m of source.matchAll(new RegExp(`^${d[1]}\\((\\w+)\\)$`, 'gm'))) {
      const line = source.slice(0, m.index).split('\n').length;
      tests.push({ name: `${d[3]}${m[1]}`, start: line, end: line, isStatic: true, test: true, uses: [{ name: m[1] ?? '', line }] });
    }
  return tests;
}

/**
 * Functions as the layout shows them: a name and its parameters that begin at the
 * left edge, and a brace that opens there or at the end of their line.
 * @param {string} text  with plain names
 * @returns {{ name: string, line: number }[]}
 */
export function functionsByLayout(text) {
  const bare = text.replace(/\/\*[\s\S]*?\*\/|^[ \t]*#.*$/gm, blanks).replace(/"(?:[^"\\\n]|\\.)*"/g, blanks);
  /** @type {{ name: string, line: number }[]} */
  const found = [];
  for (const m of bare.matchAll(/^(?:[a-zA-Z_][\w *]*[ *])(\w+)\s*\([^;={}]*\)\s*\{/gm))
    if (m[1]) found.push({ name: m[1], line: bare.slice(0, m.index).split('\n').length });
  return found;
}

const STATEMENTS = new Set(['expression_statement', 'declaration', 'return_statement', 'if_statement',
                            'for_statement', 'while_statement', 'break_statement']);

/**
 * Does a statement compute: is it an assignment, an initialisation, a return or a call?
 * What stands in the head of a for, an if or a while is no statement of its own.
 * @param {Node} node
 */
function computes(node) {
  if (node.type === 'return_statement') return true;
  if (node.type === 'declaration')
    return node.parent?.type !== 'for_statement' && node.namedChildren.some((c) => c?.type === 'init_declarator');
  if (node.type !== 'expression_statement') return false;
  return ['assignment_expression', 'update_expression', 'call_expression'].includes(node.namedChild(0)?.type ?? '');
}

/**
 * @param {import('web-tree-sitter').Parser} parser  of C
 * @param {string} source @param {NameMacros} macros
 * @returns {CFile}
 */
export function readC(parser, source, macros) {
  const { text, names } = plainNames(source, macros);
  const tree = parser.parse(text);
  if (!tree) throw new Error('the parser of C gave no tree');
  const lines = source.split('\n');
  /** @type {CFunction[]} */
  const functions = testsByMacro(source);
  /** @type {Statement[]} */
  const statements = [];
  /** @type {Set<number>} */
  const computing = new Set();
  for (const node of within(tree.rootNode, ['function_definition', ...STATEMENTS])) {
    const start = node.startPosition.row + 1, end = node.endPosition.row + 1;
    if (computes(node)) computing.add(end);
    if (STATEMENTS.has(node.type))
      statements.push({ start, end, text: lines.slice(start - 1, end).map((l) => l.trim()).join(' ') });
    if (node.type !== 'function_definition') continue;
    const declarator = node.childForFieldName('declarator'), body = node.childForFieldName('body');
    const id = declarator && declared(declarator);
    if (!id || !body) continue;
    functions.push({
      name: names.get(id.startIndex)?.[0] ?? id.text, start, end,
      isStatic: node.namedChildren.some((c) => c?.type === 'storage_class_specifier' && c.text === 'static'),
      test: /^static void \w+\(void \*\*\w+\)$/m.test(lines[start - 1] ?? ''),
      uses: usesOf(body, node, names),
    });
  }
  tree.delete();
  const found = new Set(functions.map((f) => f.start));
  return { functions, statements, computing, lost: functionsByLayout(text).filter((f) => !found.has(f.line)) };
}
