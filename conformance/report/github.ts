/**
 * What a run shows on GitHub Actions: annotations, which are lines on stdout, and a job summary in Markdown. Both
 * contain text from the server, which must not be interpreted as a workflow command or as markup.
 */
import { isOutdated, knownText } from '../verdicts/known.ts';
import { isUnjudged } from '../verdicts/results.ts';
import { sectionsOf, type Field, type Item } from './outline.ts';
import type { Report } from './report.ts';
import { clipped, visible, visibleLines } from './visible.ts';
import { conclusion, count, countsText, duration, isStrict, requestsSent, signs } from './words.ts';

/** GitHub shows the beginning of a message, and 10 errors and 10 warnings of a step. */
const maxMessageLength = 1_000;
const maxValueLength = 300;

/** The fields that would make a summary too long. */
const longLabels = ['reproduce', 'replay', 'response', 'evidence', 'example'];

type Properties = Readonly<Partial<Record<'title' | 'file' | 'line', string | number>>>;

/** A line that makes the runner show an annotation. */
export function annotation(kind: 'error' | 'warning', properties: Properties, message: string): string {
  // Workflow commands require escapes such as %0A for a line feed.
  const list = Object.entries(properties).map(([name, value]) => {
    return `${name}=${visible(String(value)).replace(/[%\r\n:,]/g, encodeURIComponent)}`;
  });
  const text = visibleLines(clipped(message, maxMessageLength)).replace(/[%\r\n]/g, encodeURIComponent);
  return `::${kind} ${list.join(',')}::${text}`;
}

/**
 * The annotations of a run: an error for each failure and each line that is out of date, and a warning for what is
 * inconclusive.
 */
export function annotations(report: Report): readonly string[] {
  const { requirements, known, conforms } = report;
  const failed = sectionsOf(report).failed.items.map(({ name, text, fields }) =>
    annotation('error', { title: name }, [text, ...shortOf(fields).map((field) => field.join(': '))].join('\n')));
  const outdated = known.filter(isOutdated).map((deviation) => {
    const { id, file, line } = deviation;
    return annotation('error', { file, line, title: `Known deviation ${id}` }, knownText(deviation));
  });
  const open = requirements.filter(isUnjudged).filter(({ verdict }) => isStrict(report) || verdict === 'inconclusive');
  const notJudged = open.map(({ id, verdict, reason }) => {
    return annotation(isStrict(report) ? 'error' : 'warning', { title: id }, `${verdict}: ${reason}`);
  });
  const lines = [...failed, ...outdated, ...notJudged];
  const isExplained = conforms || lines.some((line) => line.startsWith('::error'));
  return isExplained ? lines : [...lines, annotation('error', { title: 'Conformance' }, conclusion(report))];
}

/** The job summary of a run. */
export function jobSummary(report: Report): string {
  const { target, seconds, seed, conforms } = report;
  const { failed, known, inconclusive, gaps } = sectionsOf(report);
  const sent = count(requestsSent(report), 'request');
  const blocks = [
    `## ${conforms ? signs.passed : signs.failed} ${markdown(conclusion(report))}`,
    markdown(`${target}: ${countsText(report)} (${sent}, seed ${seed}, ${duration(seconds)}).`),
    ...[failed, known, inconclusive].filter(({ items }) => items.length > 0).map(({ title, items }) => {
      return `### ${title}\n\n${items.map(itemMarkdown).join('\n')}`;
    }),
    `<details><summary>${gaps.lead}</summary>\n\n${gaps.items.map(itemMarkdown).join('\n')}\n\n</details>\n`,
  ];
  return blocks.join('\n\n');
}

function shortOf(fields: readonly Field[]): readonly Field[] {
  return fields.filter(([label]) => !longLabels.includes(label));
}

function itemMarkdown({ name, text, fields }: Item): string {
  const lines = shortOf(fields).map(([label, value]) => `  - ${label}: ${markdown(clipped(value, maxValueLength))}`);
  return [`- ${markdown(text === undefined ? name : `${name}: ${text}`)}`, ...lines].join('\n');
}

/** The job summary of a run that could not begin. */
export function untestedSummary(message: string): string {
  return `## ${signs.failed} ${markdown(`Not tested: ${message}`)}\n`;
}

/** Makes Markdown show a text unchanged: characters that may have a meaning become character references. */
function markdown(text: string): string {
  return visible(text).replace(/[!-~]/g, (character) => {
    return /[\w ,;.()-]/.test(character) && character !== '_' ? character : `&#${character.charCodeAt(0)};`;
  });
}
