/** What a report says, in sections of items. report.html, the terminal and the job summary show the same ones. */
import { knownText, verdictOn } from '../verdicts/known.ts';
import type { Failure, Observation, RequirementResult, Verdict } from '../verdicts/results.ts';
import type { Report } from './report.ts';
import { combinedLines, count, sectionTitle } from './words.ts';

export type Field = readonly [label: string, text: string];

/** A requirement, a known deviation, or a gap. */
export interface Item {
  readonly verdict?: Verdict;
  /** An id, or a question. */
  readonly name: string;
  readonly note?: string;
  readonly text?: string | undefined;
  readonly fields: readonly Field[];
}

export interface Section {
  readonly title: string;
  readonly lead: string;
  readonly items: readonly Item[];
}

/** The sections of a report. A requirement that is a known deviation can be an item of two of them. */
export function sectionsOf(report: Report) {
  const { requirements, known, gaps, combined = [] } = report;
  const itemsOf = (wanted: Verdict) =>
    requirements.filter(({ verdict }) => verdict === wanted).map(requirementItem);
  return {
    failed: {
      title: 'Failed',
      lead: 'Each command under “reproduce” sends the request again, with the key from $API_KEY.',
      items: itemsOf('failed'),
    },
    known: {
      title: 'Known deviations',
      lead: `They are listed in ${known[0]?.file}. They fail the run only if a line of this file is out of date.`,
      items: knownItems(report),
    },
    inconclusive: {
      title: 'Inconclusive',
      lead: 'No response could have violated these requirements.',
      items: itemsOf('inconclusive'),
    },
    passed: {
      title: 'Passed',
      lead: 'At least one response could have violated each of these requirements, and none did.',
      items: itemsOf('passed'),
    },
    skipped: { title: 'Skipped', lead: 'These requirements were not checked.', items: itemsOf('skipped') },
    gaps: {
      title: 'Gaps',
      lead: 'How the server fills the gaps of the specification. The kit does not judge this.',
      items: gaps.map(gapItem),
    },
    combined: {
      title: 'Combinations',
      lead: 'The values of requests that the run combined, and those that it never used.',
      items: combined.flatMap(combinedLines).map((line): Item => ({ name: line, fields: [] })),
    },
  } satisfies Record<string, Section>;
}

function requirementItem(result: RequirementResult): Item {
  const { id, section, text, verdict, reason, judged, evidence, failed } = result;
  const number = failed > 0 ? count(failed, 'failure') : `${count(judged, 'response')} judged`;
  const rest = given([['reason', reason], ['evidence', evidence.length > 0 ? evidence.join('\n') : undefined]]);
  const fields = [...result.failures.flatMap(fieldsOf), ...rest];
  return { verdict, name: id, note: `${sectionTitle(section)}; ${number}`, text, fields };
}

function gapItem({ section, question, behaviour, example, reason }: Observation): Item {
  const fields = given([['this server', behaviour], ['example', example], ['not observed', reason]]);
  return { name: question, note: sectionTitle(section), fields };
}

/** The lines of the file of known deviations. Those that occur show the failures. */
function knownItems({ known, requirements }: Report): readonly Item[] {
  return known.map((deviation): Item => {
    const { id } = deviation;
    const result = requirements.find((requirement) => requirement.id === id);
    const examples = result?.verdict === 'known' ? result.failures.flatMap(fieldsOf) : [];
    const fields: readonly Field[] = [['reason', knownText(deviation)], ...examples];
    return { verdict: verdictOn(deviation), name: id, note: 'known deviation', text: result?.text, fields };
  });
}

/** What a failure consists of; first what was required and received. */
export function fieldsOf({ required, received, smallestCase, curl, replay, response }: Failure): readonly Field[] {
  return given([
    ['required', required],
    ['received', received],
    ['smallest case', smallestCase],
    ['reproduce', curl],
    ['replay', replay],
    ['response', response],
  ]);
}

function given(fields: readonly (readonly [label: string, text: string | undefined])[]): readonly Field[] {
  return fields.flatMap(([label, text]) => (text === undefined ? [] : [[label, text] as const]));
}
