/* codelab.test.ts -- the code lab's page: its numbers are those of the command and of the golden
 * file, its ledgers end in the tensors' own numbers, its texts are the tree's. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkLab } from '../src/codelab/Checks';
import { lineCount, readExercises, solutionOf } from '../src/codelab/exercises';
import { parseSeed } from '../src/codelab/options';
import { constant, readPublished } from '../src/codelab/published';
import { readAnswers, scoreOf } from '../src/codelab/Quiz';
import { questions } from '../src/codelab/quiz-questions';
import { commandOf } from '../src/codelab/Run';
import { falls, TEMPERATURES } from '../src/codelab/Temperature';
import { fmt } from '../src/components/numbers';
import { loadEngine } from '../src/engine/index';
import type { Engine, LabOptions } from '../src/engine/types';
import { FIRST, labTensors } from '../src/examples/codelab';
import type { ExampleTensor } from '../src/examples/types';
import { flat, near, type Nested } from './near';

const above = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const site = { text: (file: string): string => readFileSync(above(file), 'utf8') };
const golden = JSON.parse(site.text('tests/golden/lab_seed0.json')) as Record<string, {
  seed: number; heads: number; temperature: number; loss: number; inputs: Record<string, Nested>; P: Nested; O: Nested; logits: Nested; gradients: Record<string, Nested>;
}>;
const command = above('build/vitrine');
let engine: Engine;
beforeAll(async () => { engine = await loadEngine(readFileSync(above('build/wasm/vitrine.wasm'))); });

const optionsOf = (name: string): LabOptions => ({ seed: golden[name]!.seed, heads: golden[name]!.heads, temperature: golden[name]!.temperature, scalar: 'f64' });
const find = (tensors: readonly ExampleTensor[], id: string): ExampleTensor => {
  const t = tensors.find((candidate) => candidate.id === id);
  if (!t) throw new Error(`no tensor ${id}`);
  return t;
};
const CASES = ['one_head', 'two_heads', 'temperature_half', 'temperature_two'];

describe('the numbers of the code lab', () => {
  it('are PyTorch\u2019s, to every digit shown', () => {
    for (const name of CASES) {
      const g = golden[name]!, tensors = labTensors(engine, optionsOf(name));
      const all: [string, Nested][] = [...Object.entries(g.inputs), ...Object.entries(g.gradients), ['P', g.P], ['O', g.O], ['logits', g.logits]];
      expect(all.length).toBe(13);
      for (const [id, value] of all) {
        const ours = find(tensors, id).data, theirs = flat(value);
        near(ours, theirs, 1e-12, `${name} ${id}`);
        theirs.forEach((x, i) => { if (x !== 0) expect(fmt(ours[i]!, 4), `${name} ${id}[${i}]`).toBe(fmt(x, 4)); });
      }
      expect(fmt(find(tensors, 'loss').data[0]!, 6)).toBe(fmt(g.loss, 6));
    }
    expect(fmt(engine.lab(FIRST).loss, 6)).toBe(readPublished(site).loss);
    expect(fmt(engine.elementary('log', 10), 6)).toBe(readPublished(site).uniform);
  });

  it('begin with what the golden file calls one_head', () => {
    expect(FIRST).toEqual(optionsOf('one_head'));
  });

  describe.skipIf(!existsSync(command))('and of vitrine lab', () => {
    interface Printed {
      loss: number; uniform: number; inputs: Record<string, Nested>; P: Nested; O: Nested; logits: Nested; gradients: Record<string, Nested>;
      checks: { worst_relative_error: number; budget_used: number; pass: boolean; compared: number }[];
      float32: { worst_relative_error: number; mean_relative_error: number; within: number; zero: number; loss: number; spacing: number; pass: boolean };
      experiments: {
        scaling: Record<string, { value: number; error: number }>[];
        temperature: { temperature: number; probabilities: number[]; entropy_bits: number }[];
      };
    }
    /* float32 ends with status 1: its first check fails, and is meant to. */
    const print = (options: LabOptions): Printed => {
      const words = [...commandOf(options).split(' ').slice(1), '--json'];
      try {
        return JSON.parse(execFileSync(command, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })) as Printed;
      } catch (error) {
        return JSON.parse((error as { stdout: string }).stdout) as Printed;
      }
    };

    it('bit for bit: tensors, verdicts, both experiments', () => {
      let compared = 0;
      for (const options of [FIRST, { ...FIRST, seed: 7, heads: 2 }, { ...FIRST, temperature: 0.5 }, { ...FIRST, seed: 3, scalar: 'f32' as const }]) {
        const p = print(options), tensors = labTensors(engine, options), what = commandOf(options);
        const all: [string, Nested][] = [...Object.entries(p.inputs), ...Object.entries(p.gradients), ['P', p.P], ['O', p.O], ['logits', p.logits], ['loss', p.loss]];
        for (const [id, value] of all) compared += near(find(tensors, id).data, flat(value), 0, `${what}: ${id}`);

        const v = engine.labVerdict(options), worst = engine.labCheck(options), [central, complex] = p.checks;
        expect([v.central.pass, v.complex.pass], what).toEqual([central!.pass, complex!.pass]);
        near([v.central.share, v.complex.share], [central!.budget_used, complex!.budget_used], 0, `${what}: bounds`);
        near([Math.max(...worst.map((w) => w.central)), Math.max(...worst.map((w) => w.complex))], [central!.worst_relative_error, complex!.worst_relative_error], 0, `${what}: worst`);
        const f = p.float32;                /* its loss is written as a float is, with the digits that one needs */
        near([v.float.worst, v.float.mean, v.float.within, v.float.still, v.float.loss, v.float.spacing],
          [f.worst_relative_error, f.mean_relative_error, f.within, f.zero, Math.fround(f.loss), Math.fround(f.spacing)], 0, `${what}: float32`);
        expect(v.float.pass).toBe(f.pass);

        engine.labScaling(options.seed).forEach((s, k) => {
          const t = p.experiments.scaling[k]!;
          near([s.dHead, s.rows], [Number(t['d_head']), Number(t['rows'])], 0, `${what}: scaling`);
          const pairs = [[s.deviation, t['score_std']], [s.rawMax, t['max_weight_raw']], [s.scaledMax, t['max_weight_scaled']],
            [s.rawGradient, t['softmax_gradient_raw']], [s.scaledGradient, t['softmax_gradient_scaled']]] as const;
          for (const [ours, theirs] of pairs) near([ours.value, ours.error], [theirs!.value, theirs!.error], 0, `${what}: d_head ${s.dHead}`);
        });
        expect(p.experiments.temperature.map((t) => t.temperature)).toEqual([...TEMPERATURES]);
        engine.labSoften(options, TEMPERATURES).forEach((s, k) => {
          const t = p.experiments.temperature[k]!;
          near([...s.probabilities, s.entropy], [...t.probabilities, t.entropy_bits], 0, `${what}: temperature ${s.temperature}`);
        });
      }
      expect(compared).toBe(4 * (184 + 184 + 24 + 60 + 1) + 5 * 36);
    }, 60000);

    it('with the exercises of vitrine grade', () => {
      const listed = JSON.parse(execFileSync(command, ['grade', '--list', '--json'], { encoding: 'utf8' })) as { exercises: { name: string; title: string; file: string; minutes: number; needs: string; hints: number }[] };
      const ours = readExercises(site.text('src/lab/exercise_text.c'));
      expect(ours.map(({ name, title, file, minutes, needs, hints }) => ({ name, title, file, minutes, needs, hints: hints.length })))
        .toEqual(listed.exercises.map(({ name, title, file, minutes, needs, hints }) => ({ name, title, file, minutes, needs, hints })));
      const said = execFileSync(command, ['grade', '--exercise', 'forward', '--hint', '2'], { encoding: 'utf8' }).replace(/\s+/g, ' ');
      expect(said).toContain(ours[0]!.hints[1]!.replace(/\s+/g, ' '));
    });
  });
});

describe('ledgers of the code lab', () => {
  const runs: LabOptions[] = [FIRST, { ...FIRST, heads: 2, temperature: 0.5, seed: 5 }];
  it('end in the number of their cell, everywhere', () => {
    let cells = 0;
    for (const options of runs) for (const t of labTensors(engine, options)) {
      const columns = t.shape[t.shape.length - 1]!;
      t.data.forEach((x, k) => {
        const ledger = t.ledger(Math.floor(k / columns), k % columns);
        const end = ledger.total ?? ledger.rows[ledger.rows.length - 1]!;
        expect(end.cells[end.cells.length - 1], `${t.id}[${k}]`).toBe(x);
        cells += 1;
      });
    }
    expect(cells).toBeGreaterThan(1500);
  });
  it('have operands that make it', () => {
    /* Sums of products, and of paths: what stands above the rule adds up to what stands below. */
    let sums = 0;
    for (const options of runs) for (const t of labTensors(engine, options)) {
      const columns = t.shape[t.shape.length - 1]!;
      t.data.forEach((x, k) => {
        const { rows, total } = t.ledger(Math.floor(k / columns), k % columns);
        if (total?.head !== 'sum' || rows.some((r) => r.head === 'sum')) return;
        const terms = rows.map((r) => Number(r.cells[r.cells.length - 1]));
        near([terms.reduce((a, b) => a + b, 0)], [x], 1e-14, `${options.seed} ${t.id}[${k}]`);
        sums += 1;
      });
    }
    expect(sums).toBeGreaterThan(900);
  });
  it('show a mask where it is, and nothing comes back through it', () => {
    const tensors = labTensors(engine, { ...FIRST, heads: 2 });
    for (const [id, value] of [['masked', -Infinity], ['P', 0], ['dS', 0]] as const) {
      const t = find(tensors, id);
      let behind = 0;
      t.data.forEach((x, k) => { if (t.masked!(Math.floor(k / 6), k % 6)) { expect(Object.is(Math.abs(x), Math.abs(value)), `${id}[${k}]`).toBe(true); behind += 1; } });
      expect(behind).toBe(2 * 15);
    }
  });
});

describe('the checks', () => {
  it('pass in double, and the differences fail in float', () => {
    const { rows, verdict, rightInFloat } = checkLab(engine, { ...FIRST, scalar: 'f32' });
    expect(rows.map((r) => [r.tensor, r.entries])).toEqual([['Wq', 32], ['Wk', 32], ['Wv', 32], ['Wo', 40], ['X', 48]]);
    expect([verdict.central.pass, verdict.complex.pass, verdict.float.pass, rightInFloat]).toEqual([true, true, false, true]);
    expect(Math.max(...rows.map((r) => r.complex))).toBeLessThan(Math.min(...rows.map((r) => r.central)));
  });
});

describe('temperature', () => {
  it('makes the entropy fall', () => {
    const softs = engine.labSoften(FIRST, [1.5, 0.25, 0.7, 1]);
    expect(falls(softs)).toBe(true);
    expect(falls([softs[0]!, { ...softs[1]!, entropy: 4 }])).toBe(false);
    expect(softs.every((s) => Math.abs(s.probabilities.reduce((a, b) => a + b, 0) - 1) < 1e-15 * 8)).toBe(true);
  });
});

describe('published figures', () => {
  it('are within the sampling error of ours, as the page says', () => {
    const p = readPublished(site), ours = engine.labScaling(FIRST.seed);
    expect(p.scaling.map((s) => s.dHead)).toEqual(ours.map((s) => s.dHead));
    /* Both samples have an error; theirs is not given, and taken to be as large as ours, plus its rounding. */
    p.scaling.forEach((s, k) => {
      const o = ours[k]!, room = (error: number, digits: number): number => 3 * Math.SQRT2 * error + 0.5 * 10 ** -digits;
      expect(Math.abs(s.deviation - o.deviation.value)).toBeLessThan(room(o.deviation.error, 1));
      expect(Math.abs(s.rawMax - o.rawMax.value)).toBeLessThan(room(o.rawMax.error, 3));
      expect(Math.abs(s.scaledMax - o.scaledMax.value)).toBeLessThan(room(o.scaledMax.error, 3));
    });
  });
  it('and constants are read from the headers', () => {
    expect(constant(site, 'src/lab/lab.h', 'LAB_EPS')).toBe(1e-6);
    expect(constant(site, 'src/lab/lab.h', 'LAB_STEP')).toBe(1e-30);
    expect(constant(site, 'include/vitrine.h', 'VT_LAB_KEYS')).toBe(16);
    expect(() => constant(site, 'src/lab/lab.h', 'LAB_NONE')).toThrow(/expected a number LAB_NONE/);
  });
});

describe('exercises', () => {
  it('are all of the folder, each with its solution', () => {
    const files = readdirSync(above('exercises')).filter((f) => f.endsWith('.c')).sort();
    const all = readExercises(site.text('src/lab/exercise_text.c'));
    expect(all.map((e) => e.file)).toEqual(files);
    for (const e of all) {
      for (const name of e.functions) {
        expect(site.text(`exercises/${e.file}`)).toContain(`${name}(`);
        expect(site.text(solutionOf(e.file))).toContain(`${name}(`);
      }
    }
    expect(lineCount('a\nb\n')).toBe(2);
  });
  it('that lack a field are refused', () => {
    const one = (fields: string): string => `const vt_exercise x[1] = { { ${fields} } };`;
    const whole = '.name = "a", .title = "t", .file = "f.c", .needs = "n", .minutes = 5, .functions = { "f" }, .hints = { "one " /* , */ "sentence", "\\"two\\"" }';
    expect(readExercises(one(whole))[0]!.hints).toEqual(['one sentence', '"two"']);
    expect(() => readExercises(one(whole.replace('.minutes = 5, ', '')))).toThrow(/exercise 0: expected/);
    expect(() => readExercises('int x;')).toThrow(/expected an array/);
  });
});

describe('choices', () => {
  it('of a seed are whole numbers', () => {
    expect(['0', ' 42 ', '9007199254740991'].map(parseSeed)).toEqual([0, 42, 9007199254740991]);
    expect(['', '-1', '1.5', '1e3', 'x', '9007199254740993'].map(parseSeed)).toEqual([null, null, null, null, null, null]);
  });
  it('are written as the command takes them', () => {
    expect(commandOf(FIRST)).toBe('vitrine lab --seed 0');
    expect(commandOf({ seed: 3, heads: 2, temperature: 0.5, scalar: 'f32' })).toBe('vitrine lab --seed 3 --heads 2 --temperature 0.5 --dtype float32');
  });
});

describe('the quiz', () => {
  it('has four questions, each with one right answer and a reason for every other', () => {
    expect(questions.map((q) => q.id)).toEqual(['mask', 'dx', 'scale', 'float64']);
    for (const q of questions) {
      expect(new Set(q.answers.map((a) => a.text)).size).toBe(4);
      q.answers.forEach((a, k) => expect(a.why === 'Yes.').toBe(k === q.right));
    }
    expect(new Set(questions.map((q) => q.right)).size).toBeGreaterThan(1);
  });
  it('keeps answers that are answers', () => {
    expect(readAnswers('{"mask": 1, "dx": 9, "scale": "0", "other": 1, "float64": 2}')).toEqual({ mask: 1, float64: 2 });
    expect([readAnswers(null), readAnswers('no JSON'), readAnswers('[]'), readAnswers('3')]).toEqual([{}, {}, {}, {}]);
    expect(scoreOf({ mask: 1, dx: 0, float64: 2 })).toBe(2);
  });
});
