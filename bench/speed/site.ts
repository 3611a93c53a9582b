/** A running server as the bench meets it: where it is, by which keys, and how a row's load is sent to it. */
import { animal } from '../measure/animal.mjs';
import type { LoadOptions } from '../measure/load.ts';
import type { Program } from '../measure/program.ts';
import { ask, type Answer } from './ask.ts';
import type { Row } from './rows.ts';

export interface Site {
  readonly program: Program;
  /** Ends in /v1. */
  readonly baseUrl: string;
  /** A key with room for every load. */
  readonly key: string;
  /** A key of which one request is all of a day, or of a minute. */
  readonly spentKey: string;
  /** The path of a row's load, where the server has another. */
  readonly path?: (row: Row) => string;
}

/** The animal that every create sends. */
export const newAnimal = animal(1);

/**
 * Who has no key has 60 requests a minute by address: so many take turns, by the header in which a proxy names its client, that there are
 * 150,000: enough for a server that answers 80,000 a second. With four times as many, the load generator is slower than with a key, and the
 * servers look them up in memory that no cache holds: what a 401 costs would be the cost of that.
 */
const strangers = Array.from({ length: 2_500 }, (_, i) => ({ 'X-Forwarded-For': `10.0.${Math.floor(i / 250)}.${1 + (i % 250)}` }));

/** A row's load on a server. */
export function loadOn(site: Site, row: Row): Omit<LoadOptions, 'seconds'> {
  const { method, connections, status } = row;
  return {
    url: urlOf(site, row),
    method,
    connections,
    status,
    headers: headersOf(site, row),
    ...(method === 'POST' && { body: JSON.stringify(newAnimal) }),
    ...(row.key === 'none' && { headersInTurn: strangers }),
  };
}

/** One request of that load. */
export function askOnce(site: Site, row: Row): Promise<Answer> {
  const { url, method, headers, body } = loadOn(site, row);
  return ask(url, { ...(method !== undefined && { method }), ...(headers && { headers }), ...(body !== undefined && { body }) });
}

/**
 * Spends the key that is to be spent.
 *
 * @throws Error if the server admits it again and again
 */
export async function spend(site: Site, row: Row): Promise<void> {
  const statuses: number[] = [];
  // The window may turn after the first.
  while (statuses.at(-1) !== row.status && statuses.length < 4) statuses.push((await askOnce(site, row)).status);
  if (statuses.at(-1) !== row.status) throw new Error(`a key with one request is answered ${statuses.join(', ')}, never ${row.status}`);
}

function urlOf({ baseUrl, path }: Site, row: Row): string {
  return baseUrl + (path?.(row) ?? row.path);
}

function headersOf({ key, spentKey }: Site, row: Row): Readonly<Record<string, string>> {
  const secret = { full: key, spent: spentKey, none: undefined }[row.key];
  return {
    ...(secret !== undefined && { Authorization: `Bearer ${secret}` }),
    ...(row.method === 'POST' && { 'Content-Type': 'application/json' }),
  };
}
