/* references.ts -- does everything exist that the content names?  Labels, functions, papers, examples,
 * tensors, islands; and is every text of it well formed: inline signs, LaTeX.
 */
import type { Block, Concept, Content, Page } from '../components/content';
import { shapeIn } from '../components/model-shapes';
import type { SourceMap } from '../components/site-data';
import type { ExampleTensor } from '../examples/types';
import type { Faults } from './faults';
import { typeset } from './mathml';
import { parseInline, type InlinePart } from './prose';

function checkTex(file: string, field: string, tex: string, display: boolean, faults: Faults): void {
  faults.guard(file, field, () => typeset(tex, display));
}

function checkProse(file: string, field: string, text: string | undefined, faults: Faults): void {
  if (text === undefined) return;
  const visit = (parts: readonly InlinePart[]): void => {
    for (const p of parts) {
      if (p.kind === 'tex') checkTex(file, field, p.text, false, faults);
      else if (p.kind === 'em' || p.kind === 'link') visit(p.inner);
    }
  };
  const parts = faults.guard(file, field, () => parseInline(text));
  if (parts) visit(parts);
}

function checkTexts(c: Concept, faults: Faults): void {
  for (const field of ['title', 'what', 'why', 'status'] as const) checkProse(c.file, field, c[field], faults);
  checkProse(c.file, 'example.text', c.example.text, faults);
  c.equations.forEach((e, i) => {
    checkProse(c.file, `equations[${i}].title`, e.title, faults);
    checkTex(c.file, `equations[${i}].tex`, e.tex, true, faults);
  });
  c.symbols.forEach((s, i) => {
    checkTex(c.file, `symbols[${i}].tex`, s.tex, false, faults);
    checkProse(c.file, `symbols[${i}].meaning`, s.meaning, faults);
  });
  c.shapes.forEach((s, i) => checkTex(c.file, `shapes[${i}].tex`, s.tex, false, faults));
  c.sections.forEach((s, i) => checkProse(c.file, `sections[${i}].text`, s.text, faults));
}

function checkSources(c: Concept, map: SourceMap, faults: Faults): void {
  const labels = Object.keys(map.labels).length;
  c.equations.forEach((e, i) => {
    const field = `equations[${i}].${e.derived ? 'from' : 'label'}`;
    const label = e.derived ? e.from : e.label;
    if (label !== null && label !== '' && !(label in map.labels)) faults.add(c.file, field, `no line of C carries the label "${label}" (${labels} labels are known)`);
    if (e.derived && e.id in map.labels) faults.add(c.file, `equations[${i}].id`, `"${e.id}" is a label of the C code: this equation is computed, not derived`);
  });
  c.implementation.forEach((name, i) => {
    const label = name.includes('.') && !name.includes(':');   /* filters.c:nth is a function with its file */
    if (name !== '' && !(name in (label ? map.labels : map.functions))) faults.add(c.file, `implementation[${i}]`, `no ${label ? 'label' : 'function'} "${name}" in the C code`);
  });
  c.where.forEach((name, i) => {
    if (name !== '' && !(name in map.functions)) faults.add(c.file, `where[${i}]`, `no function "${name}" in the C code`);
  });
}

function checkBlocks(file: string, field: string, blocks: readonly Block[], known: ReadonlySet<string>, faults: Faults): void {
  blocks.forEach((b, i) => {
    if (!known.has(b.island)) faults.add(file, `${field}[${i}].island`, `no island "${b.island}" in pages/islands.ts`);
    checkProse(file, `${field}[${i}].text`, b.text, faults);
  });
}

export interface Known {
  readonly map: SourceMap;
  readonly islands: ReadonlySet<string>;
  readonly examples: ReadonlySet<string>;
}

export function checkReferences(content: Content, known: Known, faults: Faults): void {
  content.pages.forEach((p: Page, n) => {
    checkProse('pages.yaml', `pages[${n}].lede`, p.lede, faults);
    checkProse('pages.yaml', `pages[${n}].line`, p.line, faults);
    checkBlocks('pages.yaml', `pages[${n}].head`, p.head, known.islands, faults);
    checkBlocks('pages.yaml', `pages[${n}].foot`, p.foot, known.islands, faults);
    if (p.group !== 'home' && p.concepts.length + p.head.length + p.foot.length === 0) faults.add('pages.yaml', `pages[${n}].id`, `the page "${p.id}" has no concept and no island`);
    for (const c of p.concepts) {
      checkTexts(c, faults);
      checkSources(c, known.map, faults);
      checkBlocks(c.file, 'sections', c.sections, known.islands, faults);
      c.literature.forEach((l, i) => {
        if (l.paper !== '' && !(l.paper in content.papers)) faults.add(c.file, `literature[${i}].paper`, `no paper "${l.paper}" in literature.yaml`);
      });
      if (c.example.use !== '' && !known.examples.has(c.example.use)) faults.add(c.file, 'example.use', `no example "${c.example.use}" in examples/registry.ts`);
    }
  });
}

/** The tensors that a concept names are among those of the example's run, and the cell is inside. */
export function checkTensors(c: Concept, tensors: readonly ExampleTensor[], faults: Faults): void {
  const names = tensors.map((t) => t.id).join(', ');
  const shown = tensors.find((t) => t.id === c.example.tensor);
  if (!shown) faults.add(c.file, 'example.tensor', `no tensor "${c.example.tensor}" in the example "${c.example.use}" (it has ${names})`);
  else {
    const { cell, head } = c.example;
    const plane = [1, ...shown.shape].slice(-cell.length);
    if (cell.length > 2 || cell.some((v, i) => v >= (plane[i] ?? 0))) faults.add(c.file, 'example.cell', `[${cell.join(', ')}] is outside the shape (${shown.shape.join(', ')})`);
    if (shown.shape.length > 2 && (head ?? 0) >= (shown.shape[0] ?? 0)) faults.add(c.file, 'example.head', `${head} is outside the shape (${shown.shape.join(', ')})`);
  }
  c.shapes.forEach((s, i) => {
    if (!tensors.some((t) => t.id === s.tensor)) faults.add(c.file, `shapes[${i}].tensor`, `no tensor "${s.tensor}" in the example "${c.example.use}" (it has ${names})`);
  });
}

/** The trained model's tensors that a concept's flow of shapes names are among those of a window's run, with as many dimensions. */
export function checkModelTensors(c: Concept, window: ReadonlyMap<string, { readonly shape: readonly number[] }>, faults: Faults): void {
  const sizes = new Map([...window].map(([name, t]) => [name, t.shape] as const));
  c.shapes.forEach((s, i) => {
    if (s.model === undefined) return;
    if (!sizes.has(s.model)) faults.add(c.file, `shapes[${i}].model`, `no tensor "${s.model}" in a window (src/model/gpt_window.h has the names)`);
    else if (shapeIn(sizes, s.model, s.letters) === null) faults.add(c.file, `shapes[${i}].letters`, `${s.letters} has another number of dimensions than "${s.model}": (${sizes.get(s.model)?.join(', ')})`);
  });
}
