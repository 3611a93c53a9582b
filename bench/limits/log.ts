/** The responses of a run, and their summary for each second. */
import type { Key } from './keys.ts';
import type { Client, Counts, Second } from './report.ts';
import { isAdmitted, isRefused, type Response } from './responses.ts';

export interface Entry {
  /** Undefined: the request had no valid key. */
  readonly key: Key | undefined;
  readonly response: Response;
}

/** The responses to requests with a key. */
export function keyedIn(entries: readonly Entry[]): readonly Response[] {
  return entries.filter(({ key }) => key !== undefined).map(({ response }) => response);
}

export function countsOf(entries: readonly Entry[]): Counts {
  const keyed = keyedIn(entries);
  const [admitted, refused] = [keyed.filter(isAdmitted).length, keyed.filter(isRefused).length];
  return { admitted, refused, other: keyed.length - admitted - refused, withoutKey: entries.length - keyed.length };
}

/** What each client received in each second after the origin, in order. */
export function secondsOf(entries: readonly Entry[], origin: number): readonly Second[] {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const name = `${Math.floor((entry.response.receivedAt - origin) / 1_000)} ${clientOf(entry)}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [entry]);
    else group.push(entry);
  }
  const seconds = [...groups].map(([name, group]): Second => {
    const remaining = group.flatMap(({ response }) => response.rateLimits?.remaining ?? []);
    const second = { at: parseInt(name), client: clientOf(group[0]!), ...countsOf(group) };
    return remaining.length === 0 ? second : { ...second, remaining: [remaining[0]!, remaining.at(-1)!] };
  });
  return seconds.sort((one, other) => one.at - other.at);
}

function clientOf({ key }: Entry): Client {
  return key === undefined ? 'no key' : key.quiet ? 'quiet' : 'load';
}
