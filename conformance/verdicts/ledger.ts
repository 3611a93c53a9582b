/**
 * Records what a run finds for each requirement and each gap. The ledger removes the keys from everything it records.
 */
import { curlLine } from '../client/curl.ts';
import { shortened } from '../client/json.ts';
import { nameOf, type Request } from '../client/request.ts';
import { summary, transcript, type Response } from '../client/response.ts';
import { gaps, type GapId } from '../requirements/gaps.ts';
import { requirementOf, type RequirementId } from '../requirements/requirements.ts';
import { knownReason, type Known } from './known.ts';
import type { Failure, Observation, RequirementResult, Violation } from './results.ts';

/** The number of failures of different kinds, and of pieces of evidence, that are recorded for each requirement. */
const maxFailures = 3;
const maxEvidence = 12;

/** What is recorded for a requirement. */
interface Findings {
  judged: number;
  readonly evidence: Set<string>;
  failures: Failure[];
  failed: number;
  outcome?: Outcome;
  seconds?: number;
}

/** Why a check came to no verdict. */
type Outcome = Readonly<Required<Pick<RequirementResult, 'reason'>>> &
  Beyond & { readonly verdict: 'inconclusive' | 'skipped' };

/** Why no run with the same options could judge the requirement. */
type Beyond = Pick<RequirementResult, 'inapplicable' | 'restriction'>;

/** The failures of a requirement at some moment. */
export type Mark = Readonly<Pick<Findings, 'failures' | 'failed'>>;

export class Ledger {
  readonly #findings = new Map<RequirementId, Findings>();
  readonly #observed = new Map<GapId, Pick<Observation, 'behaviour' | 'example' | 'reason'>>();
  readonly #redact: (text: string) => string;
  readonly #baseUrl: string;
  readonly #known: readonly Known[];

  /** `redact` removes the keys from a text; `known` are the deviations that do not fail the run. */
  constructor(baseUrl: string, redact: (text: string) => string, known: readonly Known[] = []) {
    this.#baseUrl = baseUrl;
    this.#redact = redact;
    this.#known = known;
  }

  /** Records that a response could have violated the requirement, and did not. */
  met(id: RequirementId, response: Response): void {
    const findings = this.#of(id);
    findings.judged++;
    if (findings.evidence.size < maxEvidence) findings.evidence.add(this.#redact(summary(response)));
  }

  /** Records a violation by a response, or by its absence. A failure of the kind of an earlier one is only counted. */
  violated(id: RequirementId, violation: Violation, request: Request, response: Response | undefined): Failure {
    const failure: Failure = {
      required: this.#redact(violation.required),
      received: this.#redact(violation.received),
      smallestCase: this.#redact(caseOf(request)),
      curl: this.#redact(curlLine(request, this.#baseUrl)),
      response: response === undefined ? 'no response' : this.#redact(transcript(response)),
    };
    const findings = this.#of(id);
    findings.judged++;
    findings.failed++;
    const { failures } = findings;
    const isNew = failures.every((other) => kindOf(other) !== kindOf(failure));
    if (isNew && failures.length < maxFailures) failures.push(failure);
    return failure;
  }

  /** The failures of a requirement so far, without these, for `keepOne`. */
  mark(id: RequirementId, without: readonly Failure[] = []): Mark {
    const { failed, failures } = this.#of(id);
    return { failed: failed - without.length, failures: failures.filter((failure) => !without.includes(failure)) };
  }

  /** Replaces the failures since a mark, and one of the same kind before it, by one: the smallest case. */
  keepOne(id: RequirementId, mark: Mark, smallest: Failure): void {
    const others = mark.failures.filter((failure) => kindOf(failure) !== kindOf(smallest));
    const failures = [...others, smallest].slice(0, maxFailures);
    Object.assign(this.#of(id), { failed: mark.failed + 1, failures });
  }

  /** Records that a check could not judge its requirement, and why. */
  leave(id: RequirementId, verdict: 'inconclusive' | 'skipped', reason: string, beyond: Beyond = {}): void {
    this.#of(id).outcome = { verdict, reason: this.#redact(reason), ...beyond };
  }

  /** Records the duration of the check of a requirement. */
  took(id: RequirementId, seconds: number): void {
    this.#of(id).seconds = seconds;
  }

  /** Records how the server fills a gap. Only the first observation counts. */
  observe(id: GapId, behaviour: string, example?: Response): void {
    if (this.#observed.get(id)?.behaviour !== undefined) return;
    this.#set(id, {
      behaviour: this.#redact(behaviour),
      ...(example !== undefined && { example: this.#redact(summary(example)) }),
    });
  }

  /** Records why a gap was not observed. */
  notObserved(id: GapId, reason: string): void {
    if (!this.#observed.has(id)) this.#set(id, { reason: this.#redact(reason) });
  }

  /** The result of one requirement. */
  result(id: RequirementId): RequirementResult {
    const { section, text, untested } = requirementOf(id);
    const findings = this.#of(id);
    const { judged, evidence, failures, failed, seconds } = findings;
    return {
      ...{ id, section, text },
      ...this.#verdictOf(id, findings, untested),
      ...(seconds !== undefined && { seconds }),
      ...{ judged, evidence: [...evidence], failures, failed },
    };
  }

  /** How the server fills each gap. */
  observations(): Observation[] {
    const nothing = { reason: 'no check of this run observes it' };
    return gaps.map((gap) => ({ ...gap, ...(this.#observed.get(gap.id) ?? nothing) }));
  }

  #set(id: GapId, observed: Pick<Observation, 'behaviour' | 'example' | 'reason'>): void {
    if (!gaps.some((gap) => gap.id === id)) throw new Error(`there is no gap ${id}`);
    this.#observed.set(id, observed);
  }

  #verdictOf(
    id: RequirementId,
    { judged, failed, outcome }: Findings,
    untested: string | undefined,
  ): Pick<RequirementResult, 'verdict' | 'reason'> & Beyond {
    // Rules judge every response, whether or not their requirements are excluded.
    if (outcome?.restriction === 'exclude') return outcome;
    if (untested !== undefined)
      return { verdict: 'skipped', reason: `cannot be tested: ${untested}`, inapplicable: true };
    if (failed > 0) {
      const known = this.#known.find((deviation) => deviation.id === id);
      if (known === undefined) return { verdict: 'failed' };
      return { verdict: 'known', reason: this.#redact(knownReason(known)) };
    }
    if (outcome !== undefined) return outcome;
    return judged > 0
      ? { verdict: 'passed' }
      : { verdict: 'inconclusive', reason: 'no response could have violated it' };
  }

  #of(id: RequirementId): Findings {
    let findings = this.#findings.get(id);
    if (findings === undefined) {
      requirementOf(id);
      findings = { judged: 0, evidence: new Set(), failures: [], failed: 0 };
      this.#findings.set(id, findings);
    }
    return findings;
  }
}

/** The case that a request represents: its body, or its parameters. */
function caseOf(request: Request): string {
  const { body, credential, combines } = request;
  const shown = credential.shell === undefined ? 'no Authorization' : `Authorization: ${credential.shell}`;
  const authorization = credential.key === 'none' ? `, ${shown}` : '';
  const isEmpty = body === undefined || body.length === 0;
  const unusual = combines === undefined ? '' : ` (${combines})`;
  return `${isEmpty ? nameOf(request) : shortened(Buffer.from(body).toString(), 1000)}${authorization}${unusual}`;
}

/**
 * The kind of a failure, which probably has one cause: failures of one kind differ only in numbers, in quoted values,
 * and in why something is required. Statuses are not such numbers.
 */
function kindOf({ required, received }: Failure): string {
  const status = /^(\d{3})\b/.exec(required)?.[1];
  if (status !== undefined) return `${status}; ${received}`;
  const noun = (_: string, unit = ''): string => `#${unit.replace(/s$/, '')}`;
  const general = (text: string): string => text.replace(/"(?:[^"\\]|\\.)*"/g, '"…"').replace(/\d+( \w+?s?\b)?/g, noun);
  return `${general(required)}; ${general(received)}`;
}
