/** The responses that `petstore` accepts from the process that uses a data folder, whatever that is. */
import { isSecret } from '../../keys/secret.ts';
import { InvalidResponseError, sendMessage } from './channel.ts';
import type { AccountCommandName, KeyReport, Result, UsageReport } from '../../control/commands.ts';
import {
  amount, count, flag, listOf, matching, message, oneOf, orNull, pid, plain, record, text, time, tuple, where, type Reader,
} from './shape.ts';
import type { StatusReport } from '../../control/status.ts';

/** All keys, or their usages, are kept in memory: about 300,000 fit. */
const maxListLength = 64 * 1024 * 1024;
/** How many keys or usages a page has at most. */
const maxItems = 1000;

const plan = oneOf('free', 'pro', 'business', 'enterprise');
const keyId = matching(/^k[1-9][0-9]{0,14}$/);

const key: Reader<KeyReport> = record<KeyReport>({
  id: keyId,
  name: text,
  plan,
  perMinute: orNull(count),
  perDay: orNull(count),
  state: oneOf('active', 'expired', 'revoked'),
  createdAt: time,
  expiresAt: orNull(time),
  secrets: listOf(record({ last4: text, expiresAt: orNull(time) }), 10_000),
});

const window = record<UsageReport['minute']>({ limit: count, used: count, resetAt: time });
const usage: Reader<UsageReport> = record<UsageReport>({
  id: keyId,
  name: text,
  plan,
  minute: window,
  day: window,
  ban: orNull(record<NonNullable<UsageReport['ban']>>({ start: time, end: time, active: flag })),
});

/** The result of `status`, with what this engine adds. The files have been read if they are not null. */
export const status = record({
  state: oneOf('ready', 'starting', 'stopping', 'creates-refused'),
  reason: orNull(message),
  since: time,
  percent: count,
  pid,
  version: plain,
  address: orNull(plain),
  startedAt: time,
  animals: count,
  orders: count,
  journal: orNull(record({ bytes: count, lastSyncAt: time, lastSyncMs: amount, failures: count })),
  snapshot: orNull(record({ bytes: count, writtenAt: orNull(time), failures: count })),
  connections: record<StatusReport['connections']>({ open: count, limit: count, refused: count, dropped: count }),
  droppedLogLines: count,
  requests: record<StatusReport['requests']>({ minute: count, day: count }),
  bannedKeys: count,
  busiest: listOf(usage, 5),
  banned: listOf(usage, 5),
}) satisfies Reader<StatusReport>;

const secret = where((value): value is string => typeof value === 'string' && isSecret(value));
const changed = { keys: tuple<[KeyReport]>(key), unsynced: orNull(message) };

const results: { readonly [Op in AccountCommandName]: Reader<Result<Op>> } = {
  list: record<Result<'list'>>({ items: listOf(key, maxItems), next: orNull(count) }),
  usage: record<Result<'usage'>>({ items: listOf(usage, maxItems), next: orNull(count) }),
  create: record<Result<'create'>>({ ...changed, secret }),
  rotate: record<Result<'rotate'>>({ ...changed, secret }),
  revoke: record<Result<'revoke'>>(changed),
  'set-plan': record<Result<'set-plan'>>(changed),
  unban: record<Result<'unban'>>({ keys: tuple<[KeyReport]>(key), unbanned: flag }),
};

const failure = record<{ readonly error: string; readonly exitCode: number }>({
  error: message, exitCode: oneOf(1, 2),
});

/** A response: null if the process does not respond to commands, an error, or a result. */
export type Response<T> = null | { readonly error: string; readonly exitCode: number } | { readonly result: T };

/** Returns a response with its result. Throws InvalidResponseError. */
export function readResponse<T>(value: unknown, readResult: Reader<T>): Response<T> {
  if (value === null) return null;
  return value instanceof Object && 'error' in value
    ? failure(value)
    : record<{ readonly result: T }>({ result: readResult })(value);
}

/** How long all pages of a list may take together. */
const listTimeoutMs = 60_000;

/**
 * Sends a command and returns the response, with all pages of a list. Rejects as `sendMessage` does, and with
 * InvalidResponseError.
 */
export async function askCommand(
  path: string, command: { readonly op: AccountCommandName }, timeoutMs: number,
): Promise<Response<unknown>> {
  const { op } = command;
  const read: Reader<Result<AccountCommandName>> = results[op];
  const items: unknown[] = [];
  const deadline = performance.now() + listTimeoutMs;
  for (let from = 0, length = 0; ; ) {
    const sent = op === 'list' || op === 'usage' ? { ...command, from } : command;
    const response = readResponse(await sendMessage(path, sent, timeoutMs), read);
    if (response === null || 'error' in response || !('next' in response.result)) return response;
    const { items: added, next } = response.result;
    for (const item of added) items.push(item);
    if (next === null) return { result: { items, next } };
    length += JSON.stringify(added).length;
    if (added.length === 0 || next <= from || length > maxListLength || performance.now() > deadline) {
      throw new InvalidResponseError('the pages of the response do not end');
    }
    from = next;
  }
}
