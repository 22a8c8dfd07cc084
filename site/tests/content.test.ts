/* content.test.ts -- the loader: what is wrong with a content file is said with file, field and what was expected. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readContent } from '../src/build/content';
import { Faults } from '../src/build/faults';
import { checkReferences } from '../src/build/references';
import type { SourceMap } from '../src/components/site-data';

const pages = `
- id: attention
  title: Attention
  nav: Attention
  group: flow
  source: example
  lede: Words with $x$.
  line: one line
`;
const concept = `
id: softmax
title: Softmax
what: It is \`code\`.
why: Since.
equations:
  - {title: Weights, tex: 'A_{ij}', label: attn.softmax}
  - {title: Sum, tex: '\\sum_j A_{ij} = 1', derived: true, id: attn.rowsum, from: attn.softmax}
symbols:
  - {tex: 'A', meaning: the weight, code: 'a[u]', shape: '(T, T)'}
example: {use: attention, tensor: A, cell: [3, 1], head: 0}
shapes:
  - {tensor: A, model: 'h.{l}.att', tex: A, letters: '(T, T)'}
implementation: [attention_forward]
where: [attention_forward]
status: Proven.
literature:
  - {paper: vaswani2017, where: section 3.2.1}
`;
const literature = `
vaswani2017: {authors: Vaswani et al., title: Attention Is All You Need, year: 2017}
`;
const span = { file: 'src/a.c', line: 1, text: '' };
const map: SourceMap = {
  commit: 'c', modified: false, link: null, files: {},
  labels: { 'attn.softmax': { equation: span, lines: [{ ...span, function: 'attention_forward' }], tests: [] } },
  functions: { attention_forward: { file: 'src/a.c', start: 1, end: 2, calledBy: [], calls: [], testedBy: [] } },
};

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'vitrine-content-'));
  mkdirSync(join(root, 'attention'));
});
afterEach(() => rmSync(root, { recursive: true }));

/** The faults of a site with this one concept. */
function faultsOf(text: string, more: { pages?: string; literature?: string; name?: string } = {}): string[] {
  writeFileSync(join(root, 'pages.yaml'), more.pages ?? pages);
  writeFileSync(join(root, 'literature.yaml'), more.literature ?? literature);
  writeFileSync(join(root, 'attention', more.name ?? '06-softmax.yaml'), text);
  const faults = new Faults();
  const content = readContent(root, faults);
  checkReferences(content, { map, islands: new Set(['lab']), examples: new Set(['attention']) }, faults);
  return faults.list;
}

test('a whole concept has no fault and is numbered', () => {
  expect(faultsOf(concept)).toEqual([]);
  const c = readContent(root, new Faults()).pages[0]?.concepts[0];
  expect(c?.number).toBe('1.1');
  expect(c?.equations.map((e) => e.number)).toEqual(['1.1', '1.2']);
  expect(c?.equations.map((e) => e.id)).toEqual(['attn.softmax', 'attn.rowsum']);
});

describe('each fault names file and field', () => {
  const file = 'attention/06-softmax.yaml';
  const cases: readonly (readonly [name: string, from: string | RegExp, to: string, expected: string])[] = [
    ['a missing field', /^why: .*$/m, '', `${file}: why: expected text, found nothing`],
    ['an unknown field', 'status:', 'colour: red\nstatus:', `${file}: colour: unknown field; known are`],
    ['an unknown field inside a list', "code: 'a[u]'", "code: 'a[u]', line: 38", `${file}: symbols[0].line: unknown field`],
    ['no equation', /equations:[\s\S]*?(?=symbols:)/, 'equations: []\n', `${file}: equations: expected a list of at least 1, found []`],
    ['a label that is no label', 'label: attn.softmax}', 'label: Softmax}', `${file}: equations[0].label: expected a label such as attn.softmax, found "Softmax"`],
    ['a label no line carries', 'label: attn.softmax}', 'label: attn.softmux}', `${file}: equations[0].label: no line of C carries the label "attn.softmux"`],
    ['a derived equation from nowhere', 'from: attn.softmax', 'from: attn.nothing', `${file}: equations[1].from: no line of C carries the label "attn.nothing"`],
    ['derived without from', ', from: attn.softmax', '', `${file}: equations[1].from: a derived equation names the label it follows from`],
    ['neither label nor derived', ', label: attn.softmax', '', `${file}: equations[0].label: expected the label of the line that computes it`],
    ['wrong LaTeX', "'A_{ij}'", "'\\frac{a'", `${file}: equations[0].tex: LaTeX "\\frac{a":`],
    ['wrong LaTeX in words', 'meaning: the weight', 'meaning: the $\\foo$', `${file}: symbols[0].meaning: LaTeX "\\foo":`],
    ['an open sign', 'what: It is `code`.', 'what: It is `code.', `${file}: what: "\`" opened at`],
    ['a function that is not there', 'implementation: [attention_forward]', 'implementation: [attention_foreward]', `${file}: implementation[0]: no function "attention_foreward"`],
    ['a function that is not there, where', 'where: [attention_forward]', 'where: [nobody]', `${file}: where[0]: no function "nobody"`],
    ['a paper that is not there', 'paper: vaswani2017', 'paper: nobody2000', `${file}: literature[0].paper: no paper "nobody2000"`],
    ['an example that is not there', 'use: attention', 'use: nothing', `${file}: example.use: no example "nothing"`],
    ['an island that is not there', 'status:', 'sections: [{island: nothing}]\nstatus:', `${file}: sections[0].island: no island "nothing"`],
    ['a cell that is no number', 'cell: [3, 1]', 'cell: [3, x]', `${file}: example.cell[1]: expected a whole number from 0, found "x"`],
    ['broken YAML', 'status: Proven.', 'status: [', file],
  ];
  test.each(cases)('%s', (_name, from, to, expected) => {
    const changed = concept.replace(from, () => to);
    expect(changed).not.toBe(concept);
    const list = faultsOf(changed);
    expect(list.some((f) => f.startsWith(expected)), list.join('\n')).toBe(true);
  });

  test('a file name without its place', () => {
    expect(faultsOf(concept, { name: 'softmax.yaml' })).toContain('attention/softmax.yaml: expected a file name such as 06-softmax.yaml');
  });

  test('an id that is there twice', () => {
    writeFileSync(join(root, 'attention', '07-other.yaml'), concept.replaceAll('attn.rowsum', 'attn.other'));
    const list = faultsOf(concept);
    expect(list).toContain('attention/07-other.yaml: id: "softmax" is the id of attention/06-softmax.yaml already');
    expect(list.some((f) => f.startsWith('attention/07-other.yaml: equations[0].label: "attn.softmax" is shown in attention/06-softmax.yaml already'))).toBe(true);
  });

  test('a page with nothing on it, a folder without a page', () => {
    mkdirSync(join(root, 'nowhere'));
    const list = faultsOf(concept, { pages: `${pages}\n- {id: empty, title: E, nav: E, group: flow, source: example, lede: e, line: e}\n` });
    expect(list).toContain('pages.yaml: pages[1].id: the page "empty" has no concept and no island');
    expect(list).toContain('nowhere/: no page of this name in pages.yaml');
  });

  test('a paper without its year', () => {
    expect(faultsOf(concept, { literature: literature.replace('2017}', 'soon}') })).toContain('literature.yaml: vaswani2017.year: expected a whole number from 0, found "soon"');
  });
});
