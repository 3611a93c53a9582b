/**
 * What a run prints. All text passes through `visible`, so that no server can send an escape sequence to a terminal.
 * Colours are added after that, and never carry information alone.
 */
import { knownText, verdictOn } from '../verdicts/known.ts';
import type { Failure, RequirementResult, Verdict } from '../verdicts/results.ts';
import { examplesOf, failedGroups, haveOneCause } from './groups.ts';
import type { Report } from './report.ts';
import { clipped, visible } from './visible.ts';
import {
  bySection, count, countsText, coveredText, duration, headline, judgedText, requestsSent, sectionTitle, signs,
  unavailableText,
} from './words.ts';

/** How to print. */
export interface Screen {
  readonly colour: boolean;
}

/** The terminal of this process, or what it is redirected to. */
export const screen: Screen = { colour: process.stdout.isTTY === true && process.env['NO_COLOR'] === undefined };

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

/** A line of the progress: the sign, id and text of a requirement, and its result. */
export function resultLine(result: RequirementResult, { colour }: Screen): string {
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
export function summaryText(report: Report, { colour }: Screen): string {
  const paint = painter(colour);
  const { requirements, gaps, combined = [] } = report;
  const inconclusive = requirements.filter(({ verdict }) => verdict === 'inconclusive');
  const observed = bySection(gaps.filter(({ behaviour }) => behaviour !== undefined)).flatMap(([, group]) => group);
  const width = Math.max(...observed.map(({ question }) => question.length));
  const covered = combined.filter(({ requests }) => requests > 0).map(coveredText);
  const titled = (title: string, lines: readonly string[]) =>
    block(paint('bold', title), lines.map((line) => indent + line));
  return joined([
    ...failedGroups(requirements).flatMap((group) => group.flatMap((result) => failedBlocks(result, group[0]!, paint))),
    titled('Known deviations', knownLines(report, paint)),
    titled('Inconclusive', inconclusive.flatMap(({ id, verdict, reason }) => entry(id, verdict, [reason], paint))),
    titled(
      'How the server fills the gaps of the specification (not judged)',
      observed.map(({ question, behaviour }) => `${question.padEnd(width)}  ${shown(behaviour)}`),
    ),
    titled('What was combined (--list and report.html name the values)', covered),
    titled('Unavailable at times', [unavailableText(report) ?? []].flat()),
    [lastLine(report, paint)],
  ]);
}

/** A block with the requirement, and one for each example of a failure. `first` has the example of a shared cause. */
function failedBlocks(
  result: RequirementResult, first: RequirementResult, paint: Paint,
): readonly (readonly string[])[] {
  const { id, section, text, failed } = result;
  const sign = paint('failed', `${signs.failed} FAILED`);
  const title = `${sign} ${paint('bold', id)} (${sectionTitle(section)}; ${count(failed, 'failure')})`;
  const examples = examplesOf(result).map((failure) => {
    const isShared = result !== first && haveOneCause(first.failures[0]!, failure);
    return failureLines(failure, isShared ? first.id : undefined, paint);
  });
  return [[title, indent + text], ...examples];
}

/** `shared` is the requirement with the same cause whose example is shown in full. */
function failureLines(failure: Failure, shared: string | undefined, paint: Paint): readonly string[] {
  const { required, received, smallestCase, curl, replay } = failure;
  const example = [['smallest case', shown(smallestCase)], ['reproduce', visible(curl)], ['replay', replay]];
  const fields = [
    ['required', shown(required)],
    ['received', shown(received)],
    ...(shared === undefined ? example : [['same cause as', shared]]),
  ];
  return fields.flatMap(([name, value]) =>
    value === undefined ? [] : [`${indent}${paint('soft', name!.padEnd(labelWidth))}${value}`]);
}

/** An entry of a list: its sign and id, and below them its texts. */
function entry(id: string, verdict: Verdict, texts: readonly (string | undefined)[], paint: Paint): readonly string[] {
  return [`${paint(verdict, signs[verdict])} ${id}`, ...texts.map((text) => `    ${shown(text)}`)];
}

function knownLines({ known, requirements }: Report, paint: Paint): readonly string[] {
  return known.flatMap((deviation) => {
    const { id } = deviation;
    const seen = requirements.find((result) => result.id === id && result.verdict === 'known')?.failures.slice(0, 1);
    const examples = (seen ?? []).map(({ required, received }) => `required ${required}; received ${received}`);
    return entry(id, verdictOn(deviation), [knownText(deviation), ...examples], paint);
  });
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
