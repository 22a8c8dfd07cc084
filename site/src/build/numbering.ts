/* numbering.ts -- the book's numbers.  Chapters are the pages that have concepts,
 * in the order of pages.yaml; sections are concepts; equations count through a chapter.
 */

export function sectionNumber(chapter: number, section: number): string {
  return `${chapter}.${section}`;
}

export function equationNumber(chapter: number, equation: number): string {
  return `${chapter}.${equation}`;
}

/** "5.1 to 5.4" for consecutive equations of one concept, "5.1" for one. */
export function rangeOfNumbers(numbers: readonly string[]): string {
  const first = numbers[0];
  const last = numbers[numbers.length - 1];
  if (first === undefined || last === undefined) return '';
  return first === last ? first : `${first} to ${last}`;
}
