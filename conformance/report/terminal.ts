/**
 * What a run prints. All text passes through `visible`, so that no server can send an escape sequence to a terminal.
 * Colours are added after that, and never carry information alone.
 */
import { knownText, verdictOn } from '../verdicts/known.ts';
import type { Failure, RequirementResult, Verdict } from '../verdicts/results.ts';
import { examplesOf, failedGroups, haveOneCause } from './groups.ts';
import type { Report } from './report.ts';
import { clipped, visible, visibleLines } from './visible.ts';
import {
  bySection, count, countsText, coveredText, duration, headline, judgedText, requestsSent, sectionTitle, signs,
  unavailableText,
} from './words.ts';

/** How to print: whether in colour, and in how many columns. */
export interface Screen {
  readonly colour: boolean;
  readonly columns: number;
}

/** The terminal of this process, or what it is redirected to. */
export const screen: Screen = {
  colour: process.stdout.isTTY === true && process.env['NO_COLOR'] === undefined,
  columns: process.stdout.columns ?? 120,
};

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

/** Longer values are truncated, except for curl lines, which would be useless. */
const maxValueLength = 1500;

const idWidth = 29;
const labelWidth = 15;
const indent = '  ';
const gutter = '  ';

/** The heading of a group of checks. */
export function sectionLine(title: string, { colour }: { colour: boolean }): string {
  return painter(colour)('bold', visible(sectionTitle(title)));
}

/** A line of the progress: the sign, id and text of a requirement, and its result. */
export function resultLine(result: RequirementResult, { colour }: { colour: boolean }): string {
  const paint = painter(colour);
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
export function summaryText(report: Report, options: Screen): string {
  const paint = painter(options.colour);
  const columns = Math.max(40, options.columns);
  const blocks = [
    ...failedGroups(report.requirements).flatMap((group) =>
      group.map((result) => failedText(result, group, columns, paint)),
    ),
    listText('Known deviations', knownEntries(report), columns, paint),
    listText('Inconclusive', inconclusiveEntries(report), columns, paint),
    gapsText(report, columns, paint),
    combinedText(report, columns, paint),
    unavailableBlock(report, columns, paint),
    lastLine(report, paint),
  ];
  return blocks.filter((block) => block !== '').join('\n\n');
}

function failedText(
  result: RequirementResult,
  [first]: readonly RequirementResult[],
  columns: number,
  paint: Paint,
): string {
  const { id, section, text, failed } = result;
  const sign = paint('failed', `${signs.failed} FAILED`);
  const number = count(failed, 'failure');
  const title = `${sign} ${paint('bold', visible(id))} (${visible(sectionTitle(section))}; ${number})`;
  const blocks = examplesOf(result).map((failure) => {
    const example = first!.failures[0]!;
    const shared = result !== first && haveOneCause(example, failure) ? first!.id : undefined;
    return failureLines(failure, shared, columns, paint).join('\n');
  });
  return [[title, ...wrapped(visible(text), columns, indent)].join('\n'), ...blocks].join('\n\n');
}

/** `shared` is the requirement with the same cause whose example is shown in full. */
function failureLines(
  failure: Failure,
  shared: string | undefined,
  columns: number,
  paint: Paint,
): readonly string[] {
  const { required, received, smallestCase, curl, replay } = failure;
  const label = (name: string): string => indent + paint('soft', name.padEnd(labelWidth));
  const hanging = ' '.repeat(indent.length + labelWidth);
  const field = (name: string, value: string): readonly string[] => {
    const lines = visibleLines(clipped(value, maxValueLength)).split('\n');
    const [first = '', ...rest] = lines.flatMap((line) => wrapped(line, columns, hanging));
    return [label(name) + first.slice(hanging.length), ...rest];
  };
  const head = [...field('required', required), ...field('received', received)];
  if (shared !== undefined) return [...head, ...field('same cause as', shared)];
  return [
    ...head,
    ...field('smallest case', smallestCase),
    label('reproduce') + visible(curl),
    ...(replay === undefined ? [] : [label('replay') + visible(replay)]),
  ];
}

/** An entry of a list: its sign and id, and below them its texts. */
type Entry = Pick<RequirementResult, 'id' | 'verdict'> & { readonly texts: readonly string[] };

function listText(title: string, entries: readonly Entry[], columns: number, paint: Paint): string {
  const lines = entries.flatMap(({ id, verdict, texts }) => [
    `${indent}${paint(verdict, signs[verdict])} ${visible(id)}`,
    ...texts.flatMap((text) => wrapped(visible(clipped(text, maxValueLength)), columns, '      ')),
  ]);
  return lines.length === 0 ? '' : [paint('bold', title), ...lines].join('\n');
}

function knownEntries({ known, requirements }: Report): readonly Entry[] {
  return known.map((deviation) => {
    const { id } = deviation;
    const verdict = verdictOn(deviation);
    const seen = requirements.find((result) => result.id === id && result.verdict === 'known')?.failures.slice(0, 1);
    const examples = (seen ?? []).map(({ required, received }) => `required ${required}; received ${received}`);
    return { id, verdict, texts: [knownText(deviation), ...examples] };
  });
}

function inconclusiveEntries({ requirements }: Report): readonly Entry[] {
  const inconclusive = requirements.filter(({ verdict }) => verdict === 'inconclusive');
  return inconclusive.map(({ id, verdict, reason = 'no reason' }) => ({ id, verdict, texts: [reason] }));
}

function gapsText({ gaps }: Report, columns: number, paint: Paint): string {
  const observed = bySection(gaps).flatMap(([, group]) => group.filter(({ behaviour }) => behaviour !== undefined));
  if (observed.length === 0) return '';
  const room = columns - indent.length - gutter.length;
  const width = Math.min(Math.max(...observed.map(({ question }) => question.length)), Math.floor(room * 0.6));
  const lines = observed.flatMap(({ question, behaviour = '' }) => {
    const left = wrapped(visible(question), width, '');
    const right = wrapped(visible(clipped(behaviour, maxValueLength)), room - width, '');
    return Array.from({ length: Math.max(left.length, right.length) }, (_, at) =>
      `${indent}${(left[at] ?? '').padEnd(width)}${gutter}${right[at] ?? ''}`.trimEnd(),
    );
  });
  return [paint('bold', 'How the server fills the gaps of the specification (not judged)'), ...lines].join('\n');
}

function combinedText({ combined = [] }: Report, columns: number, paint: Paint): string {
  const lines = combined.filter(({ requests }) => requests > 0).map(coveredText);
  if (lines.length === 0) return '';
  const title = paint('bold', 'What was combined (--list and report.html name the values)');
  return [title, ...lines.flatMap((line) => wrapped(line, columns, indent))].join('\n');
}

function unavailableBlock(report: Report, columns: number, paint: Paint): string {
  const text = unavailableText(report);
  if (text === undefined) return '';
  return [paint('bold', 'Unavailable at times'), ...wrapped(text, columns, indent)].join('\n');
}

function lastLine(report: Report, paint: Paint): string {
  const { sent, conforms, seed, seconds, aborted } = report;
  const facts = [
    count(requestsSent(report), 'request'),
    `${count(sent.created, 'animal')} created`,
    ...(sent.unwanted429 > 0 ? [count(sent.unwanted429, 'unwanted 429', 'unwanted 429s')] : []),
    `seed ${seed}`,
    duration(seconds),
    ...(aborted === undefined ? [] : [visible(aborted)]),
  ];
  const verdict = paint(conforms ? 'passed' : 'failed', headline(report).toUpperCase());
  return `${verdict}: ${judgedText(report)}: ${countsText(report)} (${facts.join(', ')})`;
}

/** The text of blocks of lines, with an empty line between them. Blocks without lines are left out. */
export function blocksText(blocks: readonly (readonly string[])[]): string {
  return blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map((line) => visible(line)).join('\n'))
    .join('\n\n');
}

/** A block with a title, unless it has no lines. */
export function block(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

/** Wraps a text at spaces, and keeps spaces within lines. Words longer than a line are not wrapped. */
export function wrapped(text: string, columns: number, before: string): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const piece of text.split(/(?<= )(?! )/)) {
    if (line !== '' && before.length + (line + piece).trimEnd().length > columns) {
      lines.push(line.trimEnd());
      line = '';
    }
    line += piece;
  }
  return [...lines, line].map((one) => before + one);
}

/** Returns a function that styles text, or returns it unchanged if there are no colours. */
export function painter(colour: boolean): Paint {
  return (style, text) => (colour ? `\u001b[${styles[style]}m${text}\u001b[0m` : text);
}
