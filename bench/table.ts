/** Tables that are readable in a terminal and are Markdown: the benches print them, the README has some. */

/**
 * A table as Markdown, its columns aligned: the first to the left, the others to the right. No line feed at the end.
 */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((row) => head.map((_, column) => cell(row[column] ?? '')));
  const widths = head.map((_, column) => Math.max(3, ...lines.map((line) => line[column]!.length)));
  const aligned = (value: string, column: number) =>
    column === 0 ? value.padEnd(widths[column]!) : value.padStart(widths[column]!);
  const text = (line: readonly string[]) => `| ${line.map(aligned).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => '-'.repeat(width + 1) + (column === 0 ? '-' : ':')).join('|')}|`;
  return [text(lines[0]!), rule, ...lines.slice(1).map(text)].join('\n');
}

/** Escapes what would end a cell or a row. */
function cell(value: string): string {
  return value.replace(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
}

/** A ratio with as many digits as are credible: `0.87`, `1.15`, `12.3`, `140`. */
export function ratioText(ratio: number): string {
  if (!Number.isFinite(ratio)) return '–';
  return ratio.toFixed(ratio < 0.095 ? 3 : ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0);
}
