/* quiz-questions.ts -- the questions of the quiz, their answers, and why.
 * `$...$` is LaTeX. */

export interface Answer {
  readonly text: string;
  /** Said when it was chosen: why it is right, or what it overlooks. */
  readonly why: string;
}
export interface Question {
  readonly id: string;
  readonly text: string;
  readonly answers: readonly Answer[];
  /** Index of the right one. */
  readonly right: number;
  /** The whole explanation. */
  readonly explained: string;
}

export const questions: readonly Question[] = [
  {
    id: 'mask',
    text: 'Why does the mask come before the softmax, and not after it?',
    answers: [
      { text: 'Softmax cannot take scores of tokens that come later.', why: 'It can: it takes any finite numbers. It does not know what a token is.' },
      { text: 'So that masked weights are exactly zero and the others still sum to one.', why: 'Yes.' },
      { text: 'It makes no difference; before is only faster.', why: 'It makes one. Zeroing weights afterwards leaves a row whose sum is less than one.' },
      { text: 'To keep the scores small, so that their exponentials do not overflow.', why: 'Overflow is prevented by subtracting the largest score, with a mask or without.' },
    ],
    right: 1,
    explained: 'A masked score is $-\\infty$, its exponential is exactly zero, and the sum that softmax divides by holds seen tokens only. Masked after softmax, the later tokens would already have been in that sum: the row would no longer sum to one, and each weight would still depend on the future. The gradient would leak, too.',
  },
  {
    id: 'dx',
    text: 'What is $\\mathrm{d}X$, the gradient on the tokens?',
    answers: [
      { text: 'The gradient through the values alone: queries and keys only choose where to look.', why: 'Where to look changes the result as well. A token that changes moves its query and its key.' },
      { text: 'The mean of the gradients through queries, keys and values.', why: 'Nothing divides by three. Each path carries its own share of the change.' },
      { text: 'The sum of three gradients: through queries, keys and values.', why: 'Yes.' },
      { text: 'Zero, since the tokens are inputs and not parameters.', why: 'Anything that moves the loss has a gradient. In a whole model it goes on to the layers before.' },
    ],
    right: 2,
    explained: '$X$ feeds three products, so a change of $X$ moves the loss in three ways at once, and derivatives along several ways add: $\\mathrm{d}X = \\mathrm{d}Q\\, W_q^{\\top} + \\mathrm{d}K\\, W_k^{\\top} + \\mathrm{d}V\\, W_v^{\\top}$. In C each of the three calls adds into the same array. To write = instead of += keeps the last path alone.',
  },
  {
    id: 'scale',
    text: 'What happens without the division by $\\sqrt{d_h}$ as heads grow wider?',
    answers: [
      { text: 'Softmax comes close to one key taking all, and the gradient through it vanishes.', why: 'Yes.' },
      { text: 'Softmax becomes flat: every token gets the same weight.', why: 'The other way round: flat is what small scores give.' },
      { text: 'The scores overflow, and the loss becomes NaN.', why: 'They grow as the root of the width, far too slowly for that; and softmax subtracts the largest first.' },
      { text: 'Nothing that training could not undo by smaller weights.', why: 'It could, if it learnt. But the gradient that would shrink the weights is what has vanished.' },
    ],
    right: 0,
    explained: 'A score is a sum of $d_h$ products of variance one, so its standard deviation is $\\sqrt{d_h}$. Differences between scores grow with it, the largest weight goes to one, and the derivative of a softmax that is sure of itself goes to zero. Experiment 1 shows all three.',
  },
  {
    id: 'float64',
    text: 'Why does the check by central differences need float64?',
    answers: [
      { text: 'Because gradients written by hand are only right in float64.', why: 'They are as right in float32 as its precision allows. The complex step passes them.' },
      { text: 'Because float32 cannot hold a step as small as the one used.', why: 'It can hold that number. What it cannot hold is the small change that the step makes to a loss of a few units.' },
      { text: 'Because the difference of two nearly equal losses keeps few of their digits, and float32 has few to lose.', why: 'Yes.' },
      { text: 'Because float64 makes the truncation error of the difference smaller.', why: 'Truncation depends on the step and on the function, not on the number type.' },
    ],
    right: 2,
    explained: 'The two losses agree in all but their last digits, and subtracting leaves those. In float32 many of the differences are exactly zero: the loss does not move at all. In float64 enough digits are left. The complex step subtracts nothing, and so works at round-off with either.',
  },
];
