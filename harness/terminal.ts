/** A picture of a terminal, as SVG that needs no font and no script. */
import type { CommandResult } from './readme.ts';

const columns = 100;
const [fontSize, charWidth, rowHeight, margin] = [14, 8.43, 20, 16];

/** Draws commands and their output. Each line is a `text` element, with a `tspan` for each of its rows. */
export function terminal(title: string, results: readonly CommandResult[]): string {
  const lines = results.flatMap(({ command, output }) => {
    const printed = output.trim().split('\n').filter((line) => line !== '');
    const entered = command.split('\n').map((line, i) => ({ prompt: i === 0 ? '$ ' : '> ', text: line }));
    return [...entered, ...printed.map((text) => ({ prompt: '', text }))];
  });
  let rows = 0;
  const drawn = lines.map(({ prompt, text }) => {
    const spans = rowsOf(prompt + text).map((row, i) => {
      const y = margin + fontSize + rowHeight * rows++;
      const [before, after] = i === 0 ? [prompt, row.slice(prompt.length)] : ['', row];
      const start = before === '' ? '' : `<tspan class="prompt">${before}</tspan>`;
      return `<tspan x="${margin}" y="${y}">${start}${escaped(after)}</tspan>`;
    });
    return `<text${prompt === '' ? '' : ' class="command"'}>${spans.join('')}</text>`;
  });
  const [width, height] = [Math.ceil(2 * margin + columns * charWidth), 2 * margin + rowHeight * rows];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"
  role="img" aria-labelledby="title">
<title id="title">${escaped(title)}</title>
<style>
  text { font: ${fontSize}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
    fill: #b8c0cc; white-space: pre; }
  .command { fill: #fff; font-weight: 600; }
  .prompt { fill: #6cc674; }
</style>
<rect width="100%" height="100%" rx="8" fill="#10151c"/>
${drawn.join('\n')}
</svg>
`;
}

/** The lines of a picture, sorted, without what differs from run to run. */
export function linesOf(svg: string): readonly string[] {
  return [...svg.matchAll(/<text.*<\/text>/g)].map(([line]) => {
    return line
      .replace(/<[^>]+>/g, '')
      .replace(/[\d,]+ requests, [\d,]+ animals created/, 'N requests, N animals created')
      .replace(/\b[\d.]+ (ms|s|min)\b/g, 'some time')
      .replace(/line \d+: +\d+ Killed/, 'Killed');
  }).sort();
}

/** Breaks a line where a terminal would. */
function rowsOf(line: string): readonly string[] {
  const rows = [''];
  let used = 0;
  for (const char of line) {
    const width = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/
      .test(char) ? 2 : 1;
    if (used + width > columns) [used] = [0, rows.push('')];
    rows[rows.length - 1] += char;
    used += width;
  }
  return rows;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
