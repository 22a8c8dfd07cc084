/* content.ts -- reads site/content: pages.yaml, literature.yaml and one file per concept.
 *
 * Every field is checked, unknown fields are refused, and each fault names file
 * and field.  References (labels, functions, papers, examples, islands) are
 * checked in references.ts, when the map is there.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Block, Concept, Content, Equation, Page, Paper } from '../components/content';
import { integer, list, mapping, oneOf, optional, record, text, word, yes, type At, type Check } from './check';
import type { Faults } from './faults';
import { equationNumber, sectionNumber } from './numbering';

const id = word(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/, 'a name in kebab case');
const labelName = word(/^[a-z]+\.[a-z0-9]+$/, 'a label such as attn.softmax');
/** Of a function whose name several files have, its file before it: filters.c:nth. */
const cName = word(/^([a-z0-9_]+\.[ch]:)?[A-Za-z_][A-Za-z0-9_]*$|^[a-z]+\.[a-z0-9]+$/, 'the name of a C function or a label');
const tensorName = word(/^[A-Za-z][A-Za-z0-9_]*$/, 'the name of a tensor');
const source = oneOf('example', 'model', 'codelab', 'measured', 'input');

const block: Check<Block> = (value, at) => {
  const b = record({
    island: word(/^[a-z][a-z0-9-]*$/, 'the name of an island'), title: optional(text), text: optional(text),
    source: optional(source), props: optional(mapping),
  })(value, at);
  return { ...b, props: b.props ?? {} };
};

const equation: Check<Omit<Equation, 'number'>> = (value, at) => {
  const e = record({ title: text, tex: text, label: optional(labelName), id: optional(labelName), from: optional(labelName), derived: optional(yes) })(value, at);
  if (e.derived && e.label) at.faults.add(at.file, `${at.field}.label`, 'a derived equation has an id and a from, not a label');
  if (e.derived && !e.id) at.faults.add(at.file, `${at.field}.id`, 'a derived equation needs an id for its anchor');
  if (e.derived && !e.from) at.faults.add(at.file, `${at.field}.from`, 'a derived equation names the label it follows from');
  if (!e.derived && !e.label) at.faults.add(at.file, `${at.field}.label`, 'expected the label of the line that computes it, or derived: true');
  if (!e.derived && (e.id || e.from)) at.faults.add(at.file, at.field, 'id and from belong to derived equations');
  return { title: e.title, tex: e.tex, label: e.label ?? null, id: e.label ?? e.id ?? '', derived: e.derived ?? false, from: e.from ?? null };
};

const concept = record({
  id, title: text, what: text, why: text,
  equations: list(equation, 1),
  symbols: list(record({ tex: text, meaning: text, code: text, shape: text }), 1),
  example: record({ use: id, tensor: tensorName, cell: list(integer, 1), head: optional(integer), text: optional(text) }),
  shapes: list(record({ tensor: tensorName, model: optional(word(/^[a-z][a-z0-9_.{}]*$/, 'the name of a tensor of the model')), tex: text, letters: text, then: optional(text) }), 1),
  implementation: list(cName, 1),
  where: list(word(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a C function'), 1),
  status: text,
  literature: list(record({ paper: id, where: text }), 1),
  sections: optional(list(block)),
});

const page = record({
  id, title: text, nav: text, lede: text, line: text,
  group: oneOf('home', 'flow', 'block', 'inside', 'tool'),
  source, head: optional(list(block)), foot: optional(list(block)),
});

const paper: Check<Paper> = record({
  authors: text, title: text, year: integer, venue: optional(text), link: optional(word(/^https:\/\/\S+$/, 'a link that starts with https://')),
});

function readYaml(root: string, file: string, faults: Faults): unknown {
  try {
    return parse(readFileSync(join(root, file), 'utf8'), { strict: true, uniqueKeys: true });
  } catch (error) {
    faults.add(file, '', error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
    return undefined;
  }
}

function readConcepts(root: string, pageId: string, chapter: number, faults: Faults): Concept[] {
  const folder = join(root, pageId);
  if (!existsSync(folder)) return [];
  const concepts: Concept[] = [];
  const seen = new Map<string, string>();
  let equations = 0;
  for (const name of readdirSync(folder).sort()) {
    const file = `${pageId}/${name}`;
    if (!/^[0-9]{2}-[a-z0-9-]+\.yaml$/.test(name)) {
      faults.add(file, '', 'expected a file name such as 06-softmax.yaml');
      continue;
    }
    const raw = readYaml(root, file, faults);
    if (raw === undefined) continue;
    const at: At = { file, field: '', faults };
    const c = concept(raw, at);
    const other = seen.get(c.id);
    if (other) faults.add(file, 'id', `"${c.id}" is the id of ${other} already`);
    seen.set(c.id, file);
    const section = concepts.length + 1;
    concepts.push({
      ...c, page: pageId, file, sections: c.sections ?? [], number: sectionNumber(chapter, section),
      equations: c.equations.map((e) => ({ ...e, number: equationNumber(chapter, ++equations) })),
    });
  }
  return concepts;
}

/** An equation's anchor is one for the whole site. */
function checkEquations(pages: readonly Page[], faults: Faults): void {
  const seen = new Map<string, string>();
  for (const p of pages) for (const c of p.concepts) c.equations.forEach((e, i) => {
    const other = seen.get(e.id);
    if (e.id !== '' && other) faults.add(c.file, `equations[${i}].${e.derived ? 'id' : 'label'}`, `"${e.id}" is shown in ${other} already: one equation has one place`);
    seen.set(e.id, c.file);
  });
}

/** Reads the folder of content. `root` is site/content. */
export function readContent(root: string, faults: Faults): Content {
  const entries = list(page, 1)(readYaml(root, 'pages.yaml', faults), { file: 'pages.yaml', field: 'pages', faults });
  const ids = entries.map((e) => e.id);
  ids.forEach((name, i) => {
    if (ids.indexOf(name) !== i) faults.add('pages.yaml', `pages[${i}].id`, `"${name}" is there twice`);
  });
  let chapters = 0;
  const pages = entries.map((e): Page => {
    const concepts = readConcepts(root, e.id, chapters + 1, faults);
    if (concepts.length > 0) chapters += 1;
    return { ...e, head: e.head ?? [], foot: e.foot ?? [], concepts, chapter: concepts.length > 0 ? chapters : null };
  });
  const folders = readdirSync(root, { withFileTypes: true }).filter((d) => d.isDirectory() && d.name !== 'inputs').map((d) => d.name);
  for (const folder of folders) if (!ids.includes(folder)) faults.add(`${folder}/`, '', 'no page of this name in pages.yaml');
  checkEquations(pages, faults);
  const rawPapers = existsSync(join(root, 'literature.yaml')) ? mapping(readYaml(root, 'literature.yaml', faults), { file: 'literature.yaml', field: '', faults }) : {};
  const papers: Record<string, Paper> = {};
  for (const [key, value] of Object.entries(rawPapers)) {
    papers[id(key, { file: 'literature.yaml', field: key, faults })] = paper(value, { file: 'literature.yaml', field: key, faults });
  }
  return { pages, papers };
}
