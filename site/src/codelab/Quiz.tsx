/* Quiz.tsx -- four questions with explained answers.  The score is kept in this browser. */
import { useEffect, useState } from 'preact/hooks';
import type { ComponentChild, JSX } from 'preact';
import { defineIsland } from '../components/island';
import { useLive } from '../components/narrow';
import { Tex } from '../components/Tex';
import { Part } from './Part';
import { questions, type Question } from './quiz-questions';

export const KEY = 'vitrine-quiz-codelab';

/** Chosen answers by question, as kept; what is not one of them is left out. */
export function readAnswers(text: string | null): Readonly<Record<string, number>> {
  const kept: Record<string, number> = {};
  let read: unknown = null;
  try {
    read = JSON.parse(text ?? 'null');
  } catch {
    return kept;
  }
  if (typeof read !== 'object' || read === null) return kept;
  for (const q of questions) {
    const answer = (read as Record<string, unknown>)[q.id];
    if (typeof answer === 'number' && Number.isInteger(answer) && answer >= 0 && answer < q.answers.length) kept[q.id] = answer;
  }
  return kept;
}

export function scoreOf(answers: Readonly<Record<string, number>>): number {
  return questions.filter((q) => answers[q.id] === q.right).length;
}

/* A browser may refuse to keep anything: then the score lasts as long as the page. */
function keep(answers: Readonly<Record<string, number>>): void {
  try {
    if (Object.keys(answers).length === 0) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify(answers));
  } catch { /* as said */ }
}
function kept(): Readonly<Record<string, number>> {
  try {
    return readAnswers(localStorage.getItem(KEY));
  } catch {
    return {};
  }
}

/** Text with $LaTeX$ in it. */
function withTex(text: string): ComponentChild[] {
  return text.split('$').map((part, k) => (k % 2 === 1 ? <Tex key={k} tex={part} /> : part));
}
const texOf = (text: string): string[] => text.split('$').filter((_, k) => k % 2 === 1);

interface OneProps {
  readonly question: Question;
  readonly n: number;
  readonly answer: number | undefined;
  readonly onAnswer: (answer: number) => void;
}

function Outcome({ question: q, answer }: { question: Question; answer: number }): JSX.Element {
  const right = answer === q.right;
  return (
    <div class={right ? 'outcome right' : 'outcome'}>
      <p><b>{right ? '\u2713 Right.' : '\u2717 Not quite.'}</b> {right ? '' : `${q.answers[answer]!.why} The answer is: ${q.answers[q.right]!.text}`}</p>
      <p>{withTex(q.explained)}</p>
    </div>
  );
}

function One({ question: q, n, answer, onAnswer }: OneProps): JSX.Element {
  const [chosen, setChosen] = useState<number | null>(null);
  const live = useLive();
  const done = answer !== undefined;
  useEffect(() => setChosen(answer ?? null), [answer]);
  return (
    <form class="question" onSubmit={(e) => { e.preventDefault(); if (chosen !== null && !done) onAnswer(chosen); }}>
      <fieldset>
        <legend><span>{n} of {questions.length}</span> {withTex(q.text)}</legend>
        {q.answers.map((a, k) => (
          <label key={k} class={done && k === q.right ? 'is-right' : undefined}>
            <input type="radio" name={`quiz-${q.id}`} value={k} checked={chosen === k} disabled={done} onChange={() => setChosen(k)} /> <span>{withTex(a.text)}</span>
          </label>
        ))}
      </fieldset>
      {live && !done && <button type="submit" class="btn" disabled={chosen === null}>Answer</button>}
      <div role="status">{done && <Outcome question={q} answer={answer} />}</div>
      {!live && <details class="hint"><summary>The answer</summary><p>{q.answers[q.right]!.text}</p><p>{withTex(q.explained)}</p></details>}
    </form>
  );
}

function View(): JSX.Element {
  const [answers, setAnswers] = useState<Readonly<Record<string, number>>>({});
  const live = useLive();
  useEffect(() => setAnswers(kept()), []);
  const choose = (next: Readonly<Record<string, number>>): void => { setAnswers(next); keep(next); };
  const answered = Object.keys(answers).length;
  return (
    <Part title="Quiz" words={<p>Four questions about what the experiments and the gradients showed. Your score stays in this browser and is sent nowhere.</p>}>
      <div class="quiz">
        {questions.map((q, k) => <One key={q.id} question={q} n={k + 1} answer={answers[q.id]} onAnswer={(answer) => choose({ ...answers, [q.id]: answer })} />)}
        {live && <p class="score"><span role="status">{answered === 0 ? 'Nothing answered yet.' : <>Score: <b>{scoreOf(answers)}</b> right, of {answered} answered; {questions.length} questions.</>}</span>{' '}
          {answered > 0 && <button type="button" class="btn" onClick={() => choose({})}>Begin again</button>}</p>}
      </div>
    </Part>
  );
}

export const island = defineIsland<Record<string, never>>({
  tex: () => questions.flatMap((q) => [q.text, q.explained, ...q.answers.map((a) => a.text)].flatMap(texOf)),
  view: View,
});
