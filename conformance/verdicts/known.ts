/**
 * Known deviations: the requirements that a server is known to violate, listed in the file of --known. They do not fail
 * a run, so that a failure always means something new. Each has an expiry date, so that it is not forgotten.
 *
 * The file has one line for each: the id of the requirement, the last day on which the line applies (in UTC), and the
 * reason. Empty lines and lines that begin with `#` are ignored:
 *
 *     create.null  2027-03-31  PET-112: the parser drops null
 */
import { requirements, type RequirementId } from '../requirements/requirements.ts';
import type { Verdict } from './results.ts';

/** One line of the file. */
export interface Known {
  readonly id: RequirementId;
  /** The last day on which it applies, in UTC: `2027-03-31`. */
  readonly expires: string;
  readonly reason: string;
  readonly file: string;
  readonly line: number;
}

/** A known deviation, and what a run has found about it. These types are part of report.json. */
export interface KnownResult extends Known {
  /** With `gone` and `expired`, the file is out of date, which fails the run. */
  readonly state: 'occurs' | 'gone' | 'expired' | 'not judged';
}

/**
 * Reads the file of --known.
 *
 * @param file its name, for reports
 * @throws Error with one line that names the line, the field and the rule
 */
export function readKnown(text: string, file: string): readonly Known[] {
  const known: Known[] = [];
  for (const [at, whole] of text.replace(/^\ufeff/, '').split(/\r?\n/).entries()) {
    const content = whole.trim();
    if (content === '' || content.startsWith('#')) continue;
    const line = at + 1;
    const [, id = '', expires = '', reason = ''] = /^(\S+)\s*(\S*)\s*(.*)$/.exec(content)!;
    const found = requirements.find((requirement) => requirement.id === id);
    const earlier = known.find((other) => other.id === id);
    const rules: readonly (readonly [broken: boolean, message: string])[] = [
      [content.includes('\ufffd'), 'the line must be UTF-8'],
      [found === undefined, `the requirement must be an id that --list shows, not ${JSON.stringify(id)}`],
      [found?.untested !== undefined, `the requirement must be one that the kit can judge, not ${id}`],
      [earlier !== undefined, `the requirement must be listed once, but ${id} is also in line ${earlier?.line}`],
      [!isDate(expires), `the expiry must be a date such as 2027-03-31, not ${JSON.stringify(expires)}`],
      [reason === '', 'the reason must not be empty'],
    ];
    const broken = rules.find(([isBroken]) => isBroken);
    if (broken !== undefined) throw new Error(`line ${line}: ${broken[1]}`);
    known.push({ id: found!.id, expires, reason, file, line });
  }
  return known;
}

/** Whether the last day of a known deviation has passed. `now` is in milliseconds since 1970. */
export function isExpired({ expires }: Known, now: number): boolean {
  return new Date(now).toISOString().slice(0, 10) > expires;
}

/** What a run has found about a known deviation, by the verdict on its requirement and the time of the run. */
export function knownResult(known: Known, verdict: Verdict, now: number): KnownResult {
  if (verdict === 'passed') return { ...known, state: 'gone' };
  if (isExpired(known, now)) return { ...known, state: 'expired' };
  return { ...known, state: verdict === 'known' ? 'occurs' : 'not judged' };
}

/** The verdict on a line of the file. */
export function verdictOn({ state }: Pick<KnownResult, 'state'>): Verdict {
  return ({ occurs: 'known', gone: 'failed', expired: 'failed', 'not judged': 'skipped' } as const)[state];
}

/** Whether a line of the file is out of date, which fails the run. */
export function isOutdated(known: Pick<KnownResult, 'state'>): boolean {
  return verdictOn(known) === 'failed';
}

/** `PET-112: the parser drops null (until 2027-03-31)`. */
export function knownReason({ reason, expires }: Known): string {
  return `${reason} (until ${expires})`;
}

/** What a run has found about a known deviation, in one sentence without the id. */
export function knownText(known: KnownResult): string {
  const { expires, file, line, state } = known;
  if (state === 'gone') return `it no longer occurs: remove line ${line} of ${file}`;
  const change = `correct the server, or set a later date in line ${line} of ${file}`;
  if (state === 'expired') return `it expired on ${expires}: ${change}`;
  return state === 'occurs' ? knownReason(known) : `not judged in this run: ${knownReason(known)}`;
}

/** Whether a text is an existing date in the form `2027-03-31`. */
function isDate(text: string): boolean {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}
