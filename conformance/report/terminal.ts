/**
 * What a run prints. Whatever came from a server passes through `visible`, so that no server can send an escape sequence to a
 * terminal; colours are added after that, and never carry a meaning alone.
 */
import type { Report } from './report.ts';
import type { Failure, RequirementResult, Verdict } from '../verdicts/results.ts';
import { clipped, visible, visibleLines } from './visible.ts';
import { bySection, count, duration, requestsSent, sectionTitle, signs } from './words.ts';

/** Gives a text a style, or leaves it as it is where there are no colours. */
export type Paint = (style: keyof typeof styles, text: string) => string;

const styles = { bold: '1', soft: '2', passed: '32', failed: '31', inconclusive: '33', skipped: '2' } satisfies Record<Verdict | 'bold' | 'soft', string>;

/** A value longer than this is cut here and whole in the other forms; a curl line is never cut: half of one is of no use. */
const valueLength = 1500;

const idWidth = 29;
const indent = '  ';
const gutter = '  ';

/** The head of a section in the progress: `4.1 List animals`. */
export function sectionLine(section: string, { colour }: { colour: boolean }): string {
  return painter(colour)('bold', visible(sectionTitle(section)));
}

/** One requirement in the progress: sign, id, text, and in brackets how it ended. */
export function resultLine(result: RequirementResult, { colour }: { colour: boolean }): string {
  const paint = painter(colour);
  const { verdict } = result;
  const ending = paint(verdict === 'passed' ? 'soft' : verdict, visible(`(${endingOf(result)})`));
  return `${indent}${paint(verdict, signs[verdict])} ${visible(result.id).padEnd(idWidth)} ${visible(result.text)}   ${ending}`;
}

function endingOf({ verdict, judged, failed, reason }: RequirementResult): string {
  const answers = count(judged, 'answer');
  if (verdict === 'passed') return answers;
  if (verdict === 'failed') return `FAILED: ${count(failed, 'failure')}, ${answers}`;
  return `${verdict}: ${reason ?? 'no reason given'}`;
}

/** The end of a run: failures in full, what is inconclusive, how the gaps are filled, and the verdict as the last line. */
export function summaryText(report: Report, options: { colour: boolean; columns: number }): string {
  const paint = painter(options.colour);
  const columns = Math.max(40, options.columns);
  const blocks = [
    ...report.requirements.filter(({ verdict }) => verdict === 'failed').map((result) => failedText(result, columns, paint)),
    inconclusiveText(report, columns, paint),
    gapsText(report, columns, paint),
    lastLine(report, paint),
  ];
  return blocks.filter((block) => block !== '').join('\n\n');
}

function failedText(result: RequirementResult, columns: number, paint: Paint): string {
  const { id, section, text, failures, failed } = result;
  const blocks = failures.map((failure, index) => {
    const head = failed > 1 ? [`${indent}${paint('bold', `${index + 1} of ${failed}`)}`] : [];
    return [...head, ...failureLines(failure, columns, paint)].join('\n');
  });
  if (failed > failures.length && failures.length > 0) blocks.push(`${indent}and ${failed - failures.length} more`);
  const title = `${paint('failed', `${signs.failed} FAILED`)} ${paint('bold', visible(id))} (${visible(sectionTitle(section))})`;
  return [[title, ...wrapped(visible(text), columns, indent)].join('\n'), ...blocks].join('\n\n');
}

function failureLines({ required, came, smallestCase, curl, replay }: Failure, columns: number, paint: Paint): readonly string[] {
  const label = (name: string): string => paint('soft', name.padEnd(15));
  const hanging = ' '.repeat(indent.length + 15);
  const field = (name: string, value: string): readonly string[] => {
    const text = visibleLines(clipped(value, valueLength)).split('\n').flatMap((line) => wrapped(line, columns, hanging));
    return [`${indent}${label(name)}${(text[0] ?? '').slice(hanging.length)}`, ...text.slice(1)];
  };
  const uncut = (name: string, value: string): readonly string[] => [`${indent}${label(name)}${visible(value)}`];
  return [
    ...field('required', required),
    ...field('came', came),
    ...field('smallest case', smallestCase),
    ...uncut('curl', curl),
    ...(replay === undefined ? [] : uncut('replay', replay)),
  ];
}

function inconclusiveText({ requirements }: Report, columns: number, paint: Paint): string {
  const lines = requirements
    .filter(({ verdict }) => verdict === 'inconclusive')
    .flatMap(({ id, reason }) => [
      `${indent}${paint('inconclusive', signs.inconclusive)} ${visible(id)}`,
      ...wrapped(visible(reason ?? 'no reason given'), columns, '      '),
    ]);
  return lines.length === 0 ? '' : [paint('bold', 'Inconclusive'), ...lines].join('\n');
}

function gapsText({ gaps }: Report, columns: number, paint: Paint): string {
  const seen = bySection(gaps).flatMap(([, group]) => group.filter(({ answer }) => answer !== undefined));
  if (seen.length === 0) return '';
  const room = columns - indent.length - gutter.length;
  const width = Math.min(Math.max(...seen.map(({ question }) => question.length)), Math.floor(room * 0.6));
  const lines = seen.flatMap(({ question, answer = '' }) => {
    const left = wrapped(visible(question), width, '');
    const right = wrapped(visible(clipped(answer, valueLength)), room - width, '');
    const row = (at: number): string => `${indent}${(left[at] ?? '').padEnd(width)}${gutter}${right[at] ?? ''}`.trimEnd();
    return Array.from({ length: Math.max(left.length, right.length) }, (_, at) => row(at));
  });
  return [paint('bold', 'What the specification leaves open, and how this server fills it (not judged)'), ...lines].join('\n');
}

function lastLine(report: Report, paint: Paint): string {
  const { totals, sent, conforms } = report;
  const verdict = paint(conforms ? 'passed' : 'failed', conforms ? 'CONFORMS' : report.aborted !== undefined && totals.failed === 0 ? 'NOT TESTED TO THE END' : 'DOES NOT CONFORM');
  const counts = `${totals.passed} passed, ${totals.failed} failed, ${totals.inconclusive} inconclusive, ${totals.skipped} skipped`;
  const facts = [
    count(requestsSent(report), 'request'),
    `${count(sent.created, 'animal')} created`,
    ...(sent.unwanted429 > 0 ? [`${count(sent.unwanted429, 'unwanted 429', 'unwanted 429s')}`] : []),
    `seed ${report.seed}`,
    duration(report.seconds),
  ];
  return `${verdict}: ${counts} (${facts.join(', ')})`;
}

/** Broken at spaces where it can be; a word longer than the line is left for the terminal to break. Inner spaces stay. */
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

/** Puts colours around a text, or leaves it as it is. */
export function painter(colour: boolean): Paint {
  return (style, text) => (colour ? `\u001b[${styles[style]}m${text}\u001b[0m` : text);
}
