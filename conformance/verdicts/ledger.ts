/** What the run has found of each requirement and each gap. No key enters it. */
import { curlLine, inWords, transcript, type Response, type Request } from '../client/exchange.ts';
import { gaps, type GapId } from '../requirements/gaps.ts';
import { shortened } from '../client/json.ts';
import type { Failure, Observation, RequirementResult, Verdict } from '../report/report.ts';
import { requirements, type Profile, type RequirementId } from '../requirements/requirements.ts';
import type { Violation } from './rules.ts';

/** How many different failures of one requirement are told in full, and how many pieces of evidence. */
const maxFailures = 3;
const maxEvidence = 12;

interface Entry {
  judged: number;
  readonly evidence: Set<string>;
  failures: Failure[];
  failed: number;
  last?: Failure;
  outcome?: { readonly verdict: 'inconclusive' | 'skipped'; readonly reason: string };
}

export class Ledger {
  readonly #entries = new Map<RequirementId, Entry>();
  readonly #observed = new Map<GapId, { answer?: string; example?: string; reason?: string }>();
  readonly #redact: (text: string) => string;
  readonly #baseUrl: string;

  constructor(baseUrl: string, redact: (text: string) => string) {
    this.#baseUrl = baseUrl;
    this.#redact = redact;
  }

  /** A response that could have broken the requirement has kept it. */
  kept(id: RequirementId, response: Response): void {
    const entry = this.#entry(id);
    entry.judged++;
    if (entry.evidence.size < maxEvidence) entry.evidence.add(this.#redact(inWords(response)));
  }

  /** A response, or the lack of one, has broken the requirement. Returns how it is told. */
  broken(id: RequirementId, violation: Violation, request: Request, response: Response | undefined): Failure {
    const failure: Failure = {
      required: this.#redact(violation.required),
      came: this.#redact(violation.came),
      smallestCase: this.#redact(caseOf(request)),
      curl: this.#redact(curlLine(request, this.#baseUrl)),
      answer: response === undefined ? 'no response' : this.#redact(transcript(response)),
    };
    const entry = this.#entry(id);
    entry.judged++;
    entry.failed++;
    entry.last = failure;
    // One that says the same of another request tells nobody anything.
    const alike = entry.failures.some(({ required, came }) => required === failure.required && came === failure.came);
    if (!alike && entry.failures.length < maxFailures) entry.failures.push(failure);
    return failure;
  }

  /** How many failures a requirement has. */
  failed(id: RequirementId): number {
    return this.#entry(id).failed;
  }

  /** The latest failure of a requirement that has one. */
  latest(id: RequirementId): Failure {
    return this.#entry(id).last!;
  }

  /** How far the failures of a requirement have come: for `settle`. */
  mark(id: RequirementId): { readonly failed: number; readonly told: number } {
    const { failed, failures } = this.#entry(id);
    return { failed, told: failures.length };
  }

  /** Of the failures since a mark, keeps one: the smallest case that a generator has come to. */
  settle(id: RequirementId, mark: { readonly failed: number; readonly told: number }, smallest: Failure): void {
    const entry = this.#entry(id);
    entry.failed = mark.failed + 1;
    entry.failures = [...entry.failures.slice(0, mark.told), smallest].slice(0, maxFailures);
  }

  /** The check of a requirement came to no verdict. */
  leave(id: RequirementId, verdict: 'inconclusive' | 'skipped', reason: string): void {
    this.#entry(id).outcome = { verdict, reason: this.#redact(reason) };
  }

  /** How the server fills a gap; the first observation stands. */
  observe(id: GapId, answer: string, example?: Response): void {
    if (this.#observed.get(id)?.answer !== undefined) return;
    this.#observed.set(id, {
      answer: this.#redact(answer),
      ...(example !== undefined && { example: this.#redact(inWords(example)) }),
    });
  }

  /** Why a gap was not looked at. */
  notObserved(id: GapId, reason: string): void {
    if (!this.#observed.has(id)) this.#observed.set(id, { reason: this.#redact(reason) });
  }

  /** What became of one requirement. */
  result(id: RequirementId): RequirementResult {
    const { section, profile, text, untested } = requirements.find((r) => r.id === id)! as {
      section: string;
      profile: Profile;
      text: string;
      untested?: string;
    };
    const entry = this.#entry(id);
    const [verdict, reason] = this.#verdict(entry, untested);
    const { judged, evidence, failures, failed } = entry;
    return {
      id,
      section,
      profile,
      text,
      verdict,
      ...(reason !== undefined && { reason }),
      judged,
      evidence: [...evidence],
      failures,
      failed,
    };
  }

  /** How each gap is filled. */
  observations(): Observation[] {
    return gaps.map((gap) => ({ ...gap, ...(this.#observed.get(gap.id) ?? { reason: 'no check of this run looked at it' }) }));
  }

  #verdict(entry: Entry, untested: string | undefined): [verdict: Verdict, reason?: string] {
    if (untested !== undefined) return ['skipped', `cannot be tested: ${untested}`];
    if (entry.failed > 0) return ['failed'];
    if (entry.outcome !== undefined) return [entry.outcome.verdict, entry.outcome.reason];
    return entry.judged > 0 ? ['passed'] : ['inconclusive', 'no response was seen that could have failed it'];
  }

  #entry(id: RequirementId): Entry {
    let entry = this.#entries.get(id);
    if (entry === undefined) this.#entries.set(id, (entry = { judged: 0, evidence: new Set(), failures: [], failed: 0 }));
    return entry;
  }
}

/** The case that a request is: its body, or what it asks for. */
function caseOf({ method, target, shellTarget, body, credential }: Request): string {
  const authorization =
    credential.key === 'none'
      ? credential.shell === undefined
        ? ', no Authorization'
        : `, Authorization: ${credential.shell}`
      : '';
  return body === undefined || body.length === 0
    ? `${method} ${shellTarget ?? target}${authorization}`
    : `${shortened(Buffer.from(body).toString(), 1000)}${authorization}`;
}
