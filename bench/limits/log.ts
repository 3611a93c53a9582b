/** The responses of a run, and their summary for each second. */
import { exchangeOf } from '../../conformance/limits/exchange.ts';
import { judge, violationOf } from '../../conformance/limits/judge.ts';
import type { Client, Counts, Second } from './report.ts';
import { isAdmitted, isRefused, type Response } from './responses.ts';

/** The responses to requests with a key. */
export function keyedIn(responses: readonly Response[]): readonly Response[] {
  return responses.filter(({ key }) => key !== undefined);
}

/** The number of responses of each kind. */
export function countsOf(responses: readonly Response[]): Counts {
  const keyed = keyedIn(responses);
  const [admitted, refused] = [keyed.filter(isAdmitted).length, keyed.filter(isRefused).length];
  return { admitted, refused, other: keyed.length - admitted - refused, withoutKey: responses.length - keyed.length };
}

/** What each client received in each second after the origin, in order. */
export function secondsOf(responses: readonly Response[], origin: number): readonly Second[] {
  const groups = new Map<string, Response[]>();
  for (const response of responses) {
    const name = `${Math.floor((response.receivedAt - origin) / 1_000)} ${clientOf(response)}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [response]);
    else group.push(response);
  }
  const seconds = [...groups].map(([name, group]): Second => {
    const remaining = group.flatMap(({ rateLimits }) => rateLimits?.remaining ?? []);
    const second = { at: parseInt(name), client: clientOf(group[0]!), ...countsOf(group) };
    return remaining.length === 0 ? second : { ...second, remaining: [remaining[0]!, remaining.at(-1)!] };
  });
  return seconds.sort((one, other) => one.at - other.at);
}

function clientOf({ key }: Response): Client {
  return key === undefined ? 'no key' : key.quiet ? 'quiet' : 'load';
}

/** The responses that have the three headers, as the kit judges them. */
export function exchangesOf(responses: readonly Response[]) {
  return responses.flatMap((response) => exchangeOf(response) ?? []);
}

/**
 * What the responses to a key contradict first, in a sentence that names its requests; empty if nothing. What follows
 * is often a consequence. Nobody else uses the key.
 */
export function contradictionsIn(responses: readonly Response[]): readonly string[] {
  const exchanges = exchangesOf(responses);
  const all = [...judge(exchanges, true).values()].flatMap(({ contradiction }) => contradiction ?? []);
  const [first] = all.sort((a, b) => a.at.receivedTurn - b.at.receivedTurn);
  if (first === undefined) return [];
  const { required, received } = violationOf(exchanges, true, first);
  return [`${first.id}: required ${required}; received ${received}`];
}
