/** What a rule is. Rules judge every response of a run, whichever check has sent the request. */
import { isOfHeaders } from '../../client/request.ts';
import type { Response } from '../../client/response.ts';
import type { RequirementId } from '../../requirements/requirements.ts';
import type { History } from '../history.ts';
import type { Violation } from '../results.ts';

/** undefined if the response could not violate the requirement, true if it meets it, otherwise the violation. */
export type Judgement = undefined | true | Violation;

export interface Rule {
  /** The requirement that the rule judges. */
  readonly id: RequirementId;
  readonly judge: (response: Response, history: History) => Judgement;
}

export function must(met: boolean, required: string, received: string): Judgement {
  return met || { required, received };
}

/** The error statuses that the specification describes. */
const described = [400, 401, 404, 429];

/**
 * Whether the specification describes the response: it is one of the four operations, and not the refusal of a proxy or
 * a firewall, or of its headers.
 */
export function isOfOperation(response: Response): boolean {
  const { request, status } = response;
  if (request.operation === 'other' || response.isOfProxy) return false;
  if (!isOfHeaders(request, status)) return true;
  return described.includes(status) && request.mayBeRefused?.includes(status) !== true && !response.isForeign;
}

/** A value as JSON, with all digits of 64-bit integers. */
export function inJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${inJson(inner)}`);
  return `{${members.join(',')}}`;
}
