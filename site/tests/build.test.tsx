/* build.test.tsx -- mathematics, inline text, source lines, links, excerpts, the census's counting. */
import { renderToString } from 'preact-render-to-string';
import { expect, test } from 'vitest';
import { Assets, registryPaths, type Chunk } from '../src/build/assets';
import { relativeLinks } from '../src/build/book';
import { conceptsIn, countConcept } from '../src/build/census';
import { cutLabels, highlight } from '../src/build/code';
import { jsonText, lighterProps, renderDocument } from '../src/build/document';
import { excerptsOf } from '../src/build/excerpts';
import { Faults } from '../src/build/faults';
import { checkLinks, scan } from '../src/build/links';
import { parseMathML, simplify, typeset } from '../src/build/mathml';
import { rangeOfNumbers } from '../src/build/numbering';
import { linksOf, parseInline } from '../src/build/prose';
import { checkModelTensors } from '../src/build/references';
import { shapeIn } from '../src/components/model-shapes';
import { drawTree } from '../src/components/Tex';
import { NotFound } from '../src/build/views/NotFound';
import type { Concept } from '../src/components/content';
import type { SourceMap } from '../src/components/site-data';

test('LaTeX becomes the MathML elements that it means', () => {
  const html = renderToString(<>{drawTree(typeset('A_{ij} = \\frac{1}{2}', true))}</>);
  expect(html).toContain('<msub><mi>A</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub>');
  expect(html).toContain('<mfrac><mn>1</mn><mn>2</mn></mfrac>');
  expect(html).toMatch(/^<math display="block"/);
});

test('signs of markup inside LaTeX stay text', () => {
  expect(renderToString(<>{drawTree(typeset('a < b', false))}</>)).toContain('&lt;');
  expect(typeset('\\text{a\\&b}', false)).toEqual(['math', 0, ['mtext', 0, 'a&b']]);
});

test('groups of one are taken off, groups of several stay', () => {
  expect(simplify(['math', { class: 'c', display: 'block' }, ['mrow', 0, ['mrow', 0, ['mi', 0, 'a']]], ['mrow', 0, ['mi', 0, 'b'], ['mo', { fence: 'true', stretchy: 'false' }, '(']]]))
    .toEqual(['math', { display: 'block' }, ['mi', 0, 'a'], ['mrow', 0, ['mi', 0, 'b'], ['mo', { stretchy: 'false' }, '(']]]);
});

test('an error of LaTeX is one line with the text', () => {
  expect(() => typeset('\\nosuch', false)).toThrow(/^LaTeX "\\nosuch": .*nosuch.*$/);
});

test('MathML that is not well formed is refused', () => {
  expect(() => parseMathML('<math><mi>a</math>')).toThrow('closes nothing');
  expect(() => parseMathML('<math></math><math></math>')).toThrow('not one well-formed element');
  expect(() => parseMathML('<math>&unknown;</math>')).toThrow('unknown entity');
});

test('inline signs', () => {
  expect(parseInline('a `b*c` $d_e$ *f $g$* [h](i.html#j) \\$5')).toEqual([
    { kind: 'text', text: 'a ' }, { kind: 'code', text: 'b*c' }, { kind: 'text', text: ' ' }, { kind: 'tex', text: 'd_e' }, { kind: 'text', text: ' ' },
    { kind: 'em', inner: [{ kind: 'text', text: 'f ' }, { kind: 'tex', text: 'g' }] }, { kind: 'text', text: ' ' },
    { kind: 'link', href: 'i.html#j', inner: [{ kind: 'text', text: 'h' }] }, { kind: 'text', text: ' $5' },
  ]);
  expect(linksOf(parseInline('*[a](b)* [c](d)'))).toEqual(['b', 'd']);
  expect(() => parseInline('a $b')).toThrow('"$" opened at "$b" is not closed');
  expect(parseInline('a[3] is a cell')).toEqual([{ kind: 'text', text: 'a[3] is a cell' }]);
});

test('trailing labels are cut off a line, other comments stay', () => {
  expect(cutLabels('x = 1;   /* attn.softmax */')).toEqual({ text: 'x = 1;', labels: ['attn.softmax'] });
  expect(cutLabels('x = 1;   /* attn.q attn.k */').labels).toEqual(['attn.q', 'attn.k']);
  expect(cutLabels('x = 1;   /* one word */').labels).toEqual([]);
});

test('highlighting changes no character of the source', () => {
  const text = '/* a\n * b */\nstatic int f(int x)\n{\n    return x < 1 ? "s" : 0;   /* attn.softmax */\n}\n';
  const lines = highlight('src/t.c', text, () => true);
  expect(lines.map((l) => l.pieces.map((p) => p[1]).join(''))).toEqual(['/* a', ' * b */', 'static int f(int x)', '{', '    return x < 1 ? "s" : 0;', '}']);
  expect(lines[4]?.labels).toEqual(['attn.softmax']);
  expect(lines[1]?.pieces).toEqual([['c', ' * b */']]);
  expect(lines[2]?.pieces).toContainEqual(['k', 'static']);
  expect(lines[4]?.pieces.some(([kind, t]) => kind === 'k' && t.includes('return'))).toBe(true);
});

test('a link to nowhere is a fault that names page and link', () => {
  const faults = new Faults();
  checkLinks(new Map([
    ['a.html', '<p id="x"><a href="b.html#y">1</a><a href="#x">2</a><a href="b.html#z">3</a><a class="k" href="c.html">4</a><a href="https://example.org/q#r">5</a></p>'],
    ['b.html', '<p id="y"><a href="source/s.html#L3">6</a></p>'],
    ['source/s.html', '<li id="L3"><a href="../a.html#x">7</a><a href="../a.html#nothing">8</a></li>'],
  ]), faults);
  expect(faults.list).toEqual([
    'a.html: link "b.html#z": b.html has no anchor "z"', 'a.html: link "c.html": there is no c.html', 'source/s.html: link "../a.html#nothing": a.html has no anchor "nothing"',
  ]);
});

test('numbers of equations as a range', () => {
  expect(rangeOfNumbers(['5.1', '5.2', '5.3'])).toBe('5.1 to 5.3');
  expect(rangeOfNumbers(['5.1'])).toBe('5.1');
});

const at = (line: number, fn: string): { file: string; line: number; text: string; function: string } => ({ file: 'a.c', line, text: '', function: fn });
const map: SourceMap = {
  commit: '', modified: false, link: null, files: {},
  labels: { 'a.x': { equation: at(1, ''), lines: [at(20, 'f')], tests: [] }, 'a.y': { equation: at(1, ''), lines: [at(24, 'f')], tests: [] } },
  functions: { f: { file: 'a.c', start: 10, end: 25, calledBy: [], calls: [], testedBy: [] } },
};
const concept = (implementation: string[]): Concept => ({ equations: [{ label: 'a.x' }], implementation } as unknown as Concept);

test('an excerpt of a label stays inside its function; neighbours join', () => {
  expect(excerptsOf(concept(['a.x']), map)).toEqual([{ file: 'a.c', start: 16, end: 21, now: [20] }]);
  expect(excerptsOf(concept(['a.x', 'a.y']), map)).toEqual([{ file: 'a.c', start: 16, end: 25, now: [20] }]);
  expect(excerptsOf(concept(['f']), map)).toEqual([{ file: 'a.c', start: 10, end: 25, now: [20] }]);
});

test('links of the PDF become relative and keep every offset', () => {
  const pdf = Buffer.from('1 0 obj\n<</URI (http://127.0.0.1:80/source/a.html#L3)>>\n<</URI (https://doi.org/1)>>\nendobj\n', 'latin1');
  const made = relativeLinks(pdf, 'http://127.0.0.1:80/');
  expect(made.links).toBe(2);
  expect(made.pdf.length).toBe(pdf.length);
  expect(made.pdf.toString('latin1')).toContain('/URI (source/a.html#L3) ');
  expect(made.pdf.toString('latin1')).toContain('/URI (https://doi.org/1)');
});

test('the census sees a part that is empty or absent', () => {
  const part = (name: string, body: string): string => `<section class="part" data-part="${name}"><h3 id="t">Title</h3>${body}</section>`;
  const html = `<article class="concept" id="s" data-concept="p/s"><div data-part="what-why"><p>w</p></div>${part('mathematics', '<ol><li id="eq-a.x">e</li></ol>')}${part('symbols', '')}${part('example', '<td data-t="A" data-i="0,1">1</td>')}</article>`;
  const found = conceptsIn(`<main>${html}</main>`).get('p/s') ?? '';
  expect(countConcept(found)).toEqual({ filled: ['what-why', 'mathematics', 'example'], equations: 1, symbols: 0, cells: 1, codeLines: 0 });
});

test('registries are read by name', () => {
  const text = "export const islands = {\n  example: () => import('../components/ExampleView'),\n  'attention-lab': () => import('../lab/island'),\n};\n";
  expect([...registryPaths(text, 'src/pages')]).toEqual([['example', 'src/components/ExampleView'], ['attention-lab', 'src/lab/island']]);
});

test('properties in single quotes are the same properties', () => {
  const html = renderToString(<div data-props={JSON.stringify({ a: "it's", b: '<&">' })} />);
  expect(lighterProps(html)).toBe(`<div data-props='{"a":"it&#39;s","b":"&lt;&amp;\\">"}'></div>`);
});

test('JSON in a page cannot end its element', () => {
  expect(jsonText({ a: '</script><img>' })).not.toContain('<');
  expect(JSON.parse(jsonText({ a: '</script>' }))).toEqual({ a: '</script>' });
});

test('a page is given the chunks of its islands and what they import, and no others', () => {
  const chunk = (file: string, modules: string[], imports: string[] = [], css: string[] = []): Chunk => ({ file, modules, imports, css });
  const assets = new Assets([
    chunk('main.js', ['src/client/main.ts'], [], ['main.css']), chunk('theme.js', ['src/client/theme.ts']), chunk('whole.js', ['src/engine/whole.ts']),
    chunk('a.js', ['src/pages/a.tsx', 'src/components/HeatMap.tsx'], ['shared.js'], ['a.css']), chunk('shared.js', ['src/components/numbers.ts'], [], ['shared.css']),
    chunk('b.js', ['src/pages/b.tsx'], [], ['b.css']), chunk('x.js', ['src/examples/x.ts']),
  ], new Map([['a', 'src/pages/a'], ['b', 'src/pages/b'], ['lost', 'src/pages/lost']]), new Map([['x', 'src/examples/x']]));
  expect(assets.scripts(['a'], ['x'], false)).toEqual(['main.js', 'a.js', 'shared.js', 'x.js', 'theme.js']);
  expect(assets.scripts(['a'], [], true)).toEqual(['main.js', 'a.js', 'shared.js', 'whole.js', 'theme.js']);
  expect(assets.askedFor(['a'], [], false, ['b'])).toEqual(['b.js']);
  expect(assets.styles(['a'])).toEqual(['main.css', 'a.css', 'shared.css']);
  expect(assets.scripts([], [], false)).toEqual(['main.js', 'theme.js']);
  expect(() => assets.scripts(['lost'], [], false)).toThrow('no chunk has the module src/pages/lost');
  expect(() => assets.scripts(['unknown'], [], false)).toThrow('"unknown" is in no registry line');
});

test('a flow of shapes names tensors that a window has, in forms that they have', () => {
  const window = new Map([['h.0.att', { shape: [2, 6, 6] }], ['h.0.q', { shape: [6, 4] }]]);
  const faults = new Faults();
  const step = (model: string, letters: string) => ({ tensor: 'Q', tex: 'Q', letters, model });
  const check = (...shapes: ReturnType<typeof step>[]) => checkModelTensors({ file: 'f.yaml', shapes } as unknown as Concept, window, faults);
  check(step('h.0.q', '(T, d)'), step('h.0.q', '(T, H, d_h)'), step('h.0.att', '(H, T, T)'), step('h.0.q', '(n)'));
  expect(faults.list).toEqual([]);
  expect([shapeIn(new Map([['q', [6, 4]], ['h.0.att', [2, 6, 6]]]), 'q', '(T, H, d_h)'), shapeIn(new Map([['q', [6, 4]]]), 'q', '(n)')]).toEqual([[6, 2, 2], [24]]);
  check(step('h.0.scored', '(H, T, T)'), step('h.0.q', '(H, T, T)'), step('h.0.att', '(T, T)'));
  expect(faults.list.map((f) => f.split(': ')[1])).toEqual(['shapes[0].model', 'shapes[1].letters', 'shapes[2].letters']);
});

test('the page for what is not there asks for no other file: it is shown at any depth', () => {
  const html = renderDocument({ title: 'Not found', description: '', base: '', assets: new Assets([]), islands: [], dictionary: {}, scripts: false, whole: () => false, style: 'h1{color:red}', body: <NotFound /> });
  expect(html).toContain('<style>h1{color:red}</style>');
  expect(html).not.toMatch(/<script|\ssrc=|<link(?! rel="icon" href="data:,")/);
  for (const href of scan(html).hrefs) expect(href).toMatch(/^(\.\.\/)*index\.html$/);
});
