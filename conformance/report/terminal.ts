/**
 * What a run prints. All text passes through `visible`, so that no server can send an escape sequence to a terminal.
 * Colours are added after that, and never carry information alone.
 */
import type { RequirementResult, Verdict } from '../verdicts/results.ts';
import { sectionsOf, type Item } from './outline.ts';
import type { Report } from './report.ts';
import { clipped, visible } from './visible.ts';
import {
  count, countsText, duration, headline, judgedText, requestsSent, signs, unavailableText,
} from './words.ts';

/** Gives a text a style, or returns it unchanged if there are no colours. */
export type Paint = (style: keyof typeof styles, text: string) => string;

const styles = {
  bold: '1',
  soft: '2',
  passed: '32',
  failed: '31',
  known: '35',
  inconclusive: '33',
  skipped: '2',
} satisfies Record<Verdict | 'bold' | 'soft', string>;

/** The fields that only the reports show. */
const reportLabels = ['response', 'evidence'];

/** Longer values are truncated, except for curl lines, which would be useless. */
const maxValueLength = 1500;

const idWidth = 29;
const labelWidth = 15;
const indent = '  ';

/** A line of the progress: the sign, id and text of a requirement, and its result. */
export function resultLine(result: RequirementResult, paint: Paint): string {
  const { id, text, verdict } = result;
  const ending = paint(verdict === 'passed' ? 'soft' : verdict, visible(`(${endingOf(result)})`));
  return `${indent}${paint(verdict, signs[verdict])} ${visible(id).padEnd(idWidth)} ${visible(text)}   ${ending}`;
}

function endingOf({ verdict, judged, reason }: RequirementResult): string {
  // Rules also judge later responses, so only the end of a run has final numbers.
  if (verdict === 'passed') return `${count(judged, 'response')} so far`;
  if (verdict === 'failed') return 'FAILED';
  return `${verdict}: ${reason ?? 'no reason'}`;
}

/** The end of a run: all failures, inconclusive requirements and observed gaps. The last line is the result. */
export function summaryText(report: Report, paint: Paint): string {
  const { failed, known, inconclusive } = sectionsOf(report);
  const observed = report.gaps.filter(({ behaviour }) => behaviour !== undefined);
  const width = Math.max(...observed.map(({ question }) => question.length));
  const titled = (title: string, lines: readonly string[]) =>
    block(paint('bold', title), lines.map((line) => indent + line));
  return joined([
    ...[failed, known, inconclusive].flatMap(({ items }) => items.map((item) => itemLines(item, paint))),
    titled(
      'How the server fills the gaps of the specification (not judged)',
      observed.map(({ question, behaviour }) => `${question.padEnd(width)}  ${shown(behaviour)}`),
    ),
    titled('Unavailable at times', [unavailableText(report) ?? []].flat()),
    [lastLine(report, paint)],
  ]);
}

function itemLines({ verdict = 'failed', name, note, text, fields }: Item, paint: Paint): readonly string[] {
  const sign = paint(verdict, `${signs[verdict]} ${verdict.toUpperCase()}`);
  const lines = fields.filter(([label]) => !reportLabels.includes(label)).map(([label, value]) => {
    const printed = label === 'reproduce' ? visible(value) : shown(value);
    return `${indent}${paint('soft', label.padEnd(labelWidth))}${printed}`;
  });
  return [`${sign} ${paint('bold', name)} (${note})`, ...(text === undefined ? [] : [indent + text]), ...lines];
}

/** A text of the server as it is printed: on one line, and truncated. */
function shown(text = ''): string {
  return visible(clipped(text, maxValueLength));
}

function lastLine(report: Report, paint: Paint): string {
  const { sent, conforms, seed, seconds, aborted } = report;
  const facts = [
    count(requestsSent(report), 'request'),
    `${count(sent.created, 'animal')} created`,
    ...(sent.unwanted429 > 0 ? [`${sent.unwanted429} × 429 that the kit did not provoke`] : []),
    `seed ${seed}`,
    duration(seconds),
    ...(aborted === undefined ? [] : [visible(aborted)]),
  ];
  const verdict = paint(conforms ? 'passed' : 'failed', headline(report).toUpperCase());
  return `${verdict}: ${judgedText(report)}: ${countsText(report)} (${facts.join(', ')})`;
}

/** The text of blocks of lines, with an empty line between them. Blocks without lines are left out. */
export function blocksText(blocks: readonly (readonly string[])[]): string {
  return joined(blocks.map((lines) => lines.map((line) => visible(line))));
}

function joined(blocks: readonly (readonly string[])[]): string {
  return blocks.filter((lines) => lines.length > 0).map((lines) => lines.join('\n')).join('\n\n');
}

/** A block with a title, unless it has no lines. */
export function block(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

/** Returns a function that styles text, or returns it unchanged if there are no colours. */
export function painter(colour: boolean): Paint {
  return (style, text) => (colour ? `\u001b[${styles[style]}m${text}\u001b[0m` : text);
}

/** For the terminal of this process, or what it is redirected to. */
export const paint = painter(process.stdout.isTTY === true && process.env['NO_COLOR'] === undefined);
