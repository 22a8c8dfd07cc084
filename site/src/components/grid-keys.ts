/* grid-keys.ts -- the keys of a grid with one tab stop (WAI-ARIA grid pattern):
 * arrows, Home, End, Ctrl+Home, Ctrl+End. */

/** The cell that a key leads to from (row, column); null for other keys. */
export function gridKey(
  event: { readonly key: string; readonly ctrlKey: boolean; readonly metaKey: boolean; readonly altKey: boolean },
  row: number, column: number, rows: number, columns: number,
): readonly [number, number] | null {
  if (event.altKey || (event.metaKey && event.key !== 'Home' && event.key !== 'End')) return null;
  const far = event.ctrlKey || event.metaKey;
  switch (event.key) {
    case 'ArrowLeft': return [row, Math.max(0, column - 1)];
    case 'ArrowRight': return [row, Math.min(columns - 1, column + 1)];
    case 'ArrowUp': return [Math.max(0, row - 1), column];
    case 'ArrowDown': return [Math.min(rows - 1, row + 1), column];
    case 'Home': return [far ? 0 : row, 0];
    case 'End': return [far ? rows - 1 : row, columns - 1];
    default: return null;
  }
}
