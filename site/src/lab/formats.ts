/* formats.ts -- a tensor as text: CSV, JSON, NumPy, C.  Numbers are written so that
 * they read back as the same doubles; minus infinity as each format has it. */

export interface Table {
  /** Name of the tensor: also a name in Python and C. */
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
  readonly data: ArrayLike<number>;
  /** Where the numbers come from: a comment, where the format has comments. */
  readonly source: string;
}
export type Format = 'csv' | 'json' | 'numpy' | 'c';

function number(x: number, nan: string, infinity: string, minusInfinity: string): string {
  if (Number.isNaN(x)) return nan;
  if (!Number.isFinite(x)) return x > 0 ? infinity : minusInfinity;
  return Object.is(x, -0) ? '-0.0' : String(x);
}

function rowsOf(t: Table, write: (x: number) => string): string[][] {
  return Array.from({ length: t.rows }, (_, r) => Array.from({ length: t.columns }, (__, c) => write(t.data[r * t.columns + c] as number)));
}

/** In C a literal without a point is an int: "1" becomes "1.0". */
const cNumber = (x: number): string => {
  const text = number(x, 'NAN', 'INFINITY', '-INFINITY');
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
};
const oneLine = (text: string): string => text.replace(/[\r\n\u2028\u2029]+/g, ' ');

export function write(t: Table, format: Format): string {
  switch (format) {
    case 'csv':
      return rowsOf(t, (x) => number(x, 'nan', 'inf', '-inf')).map((r) => r.join(',')).join('\n') + '\n';
    case 'json':
      return JSON.stringify({ tensor: t.name, source: t.source, shape: [t.rows, t.columns],
        data: Array.from({ length: t.rows }, (_, r) => Array.from({ length: t.columns }, (__, c) => {
          const x = t.data[r * t.columns + c] as number;
          return Number.isFinite(x) ? x : number(x, 'nan', 'inf', '-inf');
        })) });
    case 'numpy':
      return `# ${oneLine(t.source)}\nimport numpy as np\n${t.name} = np.array([\n`
        + rowsOf(t, (x) => number(x, 'np.nan', 'np.inf', '-np.inf')).map((r) => `    [${r.join(', ')}],`).join('\n') + '\n], dtype=np.float64)\n';
    case 'c':
      return `/* ${oneLine(t.source).replace(/\/(?=\*)|\*(?=\/)/g, '$& ')} */\n#include <math.h>\nstatic const double ${t.name}[${t.rows}][${t.columns}] = {\n`
        + rowsOf(t, cNumber).map((r) => `    {${r.join(', ')}},`).join('\n') + '\n};\n';
  }
}
