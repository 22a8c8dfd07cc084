/* faults.ts -- everything that is wrong with the content, each in one line: file, field, what was expected. */

export class Faults {
  readonly list: string[] = [];

  /** Adds "file: field: message"; an empty field is left out. */
  add(file: string, field: string, message: string): void {
    const line = field === '' ? `${file}: ${message}` : `${file}: ${field}: ${message}`;
    if (!this.list.includes(line)) this.list.push(line);
  }

  /** Runs `work`; what it throws becomes a fault of this file and field. */
  guard<T>(file: string, field: string, work: () => T): T | null {
    try {
      return work();
    } catch (error) {
      this.add(file, field, error instanceof Error ? error.message : String(error));
      return null;
    }
  }
}
