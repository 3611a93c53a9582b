/** The responses that `petstore` accepts from the process that uses a data folder, whatever that is. */
import type { RecordHead } from '../files/record-file.ts';
import { isSecret } from '../../keys/secret.ts';
import { ConnectionClosedError, InvalidResponseError, parseLine, receiveLines } from './channel.ts';
import type { AccountCommandName, KeyReport, Result, UsageReport } from '../../control/commands.ts';
import type { ContentsHead, Unread } from './contents.ts';
import {
  amount, count, flag, listOf, matching, message, oneOf, orNull, pid, plain, record, text, time, tuple, where, type Reader,
} from './shape.ts';
import type { FileDetails } from './file-details.ts';
import type { StatusReport } from '../../control/status.ts';

/** All keys, or their usages, are kept in memory: about 300,000 fit. */
const maxRecordsBytes = 64 * 1024 * 1024;

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

/** The result of `status`. */
export const status: Reader<StatusReport & FileDetails> = record<StatusReport & FileDetails>({
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
  journal: orNull(record<NonNullable<FileDetails['journal']>>({
    bytes: count, lastSyncAt: time, lastSyncMs: amount, failures: count,
  })),
  snapshot: orNull(record<NonNullable<FileDetails['snapshot']>>({
    bytes: count, writtenAt: orNull(time), failures: count,
  })),
  connections: record<StatusReport['connections']>({ open: count, limit: count, refused: count, dropped: count }),
  droppedLogLines: count,
  requests: record<StatusReport['requests']>({ minute: count, day: count }),
  bannedKeys: count,
  busiest: listOf(usage, 5),
  banned: listOf(usage, 5),
});

const optionalCount: Reader<number | undefined> = (value) => (value === undefined ? undefined : count(value));
const head: Reader<RecordHead> = (value) => {
  const store = matching(/^[0-9a-f]{32}$/);
  const read = record<{ store: string; durable: number | undefined; keyChanges: number | undefined }>({
    store, durable: optionalCount, keyChanges: optionalCount,
  })(value);
  return {
    store: read.store,
    ...(read.durable !== undefined && { durable: read.durable }),
    ...(read.keyChanges !== undefined && { keyChanges: read.keyChanges }),
  };
};
const contentsHead = record<ContentsHead>({
  store: matching(/^[0-9a-f]{32}$/),
  keys: head,
  usage: head,
  sequence: count,
  lastId: count,
  lines: tuple<ContentsHead['lines']>(count, count, count, count),
});
const unread = record<Unread>({ percent: oneOf(...Array.from({ length: 100 }, (_, percent) => percent)) });

/** The result of `contents`. */
export const contents: Reader<ContentsHead | Unread> = (value) => {
  return value instanceof Object && 'percent' in value ? unread(value) : contentsHead(value);
};

const secret = where((value): value is string => typeof value === 'string' && isSecret(value));
const changed = { keys: tuple<[KeyReport]>(key), unsynced: orNull(message) };

/** The results of the commands that have one line. */
const results: { readonly [Op in Exclude<AccountCommandName, ListName>]: Reader<Result<Op>> } = {
  create: record<Result<'create'>>({ ...changed, secret }),
  rotate: record<Result<'rotate'>>({ ...changed, secret }),
  revoke: record<Result<'revoke'>>(changed),
  'set-plan': record<Result<'set-plan'>>(changed),
  unban: record<Result<'unban'>>({ keys: tuple<[KeyReport]>(key), unbanned: flag }),
};

type ListName = 'list' | 'usage';

/** The elements of the results that are sent as a line each. */
const elements: Readonly<Record<ListName, Reader<unknown>>> = { list: key, usage };

const failure = record<{ readonly error: string; readonly exitCode: number }>({
  error: message, exitCode: oneOf(1, 2),
});

/** A response: null if the process does not respond to commands, an error, or a result. */
export type Response<T> = null | { readonly error: string; readonly exitCode: number } | { readonly result: T };

/** Returns the first line of a response with its result. Throws InvalidResponseError. */
export function readResponse<T>(value: unknown, readResult: Reader<T>): Response<T> {
  if (value === null) return null;
  return value instanceof Object && 'error' in value
    ? failure(value)
    : record<{ readonly result: T }>({ result: readResult })(value);
}

/** Sends a command and returns the response. Rejects as `receiveLines` does, and with InvalidResponseError. */
export async function askCommand(
  path: string, command: { readonly op: AccountCommandName }, timeoutMs: number,
): Promise<Response<unknown>> {
  const { op } = command;
  const readElement = op === 'list' || op === 'usage' ? elements[op] : null;
  const number = record<{ count: number }>({ count });
  const readResult: Reader<unknown> = op === 'list' || op === 'usage' ? number : results[op];
  let response: Response<unknown> | undefined;
  const items: unknown[] = [];
  let expected = 0;
  let bytesReceived = 0;
  await receiveLines(path, command, timeoutMs, (bytes, start, end) => {
    const value = parseLine(bytes, start, end);
    bytesReceived += end - start;
    if (bytesReceived > maxRecordsBytes) throw new InvalidResponseError('the response is too long');
    if (response !== undefined) items.push(readElement!(value));
    else response = readResponse(value, readResult);
    if (readElement !== null && response !== null && 'result' in response) {
      expected = (response.result as { count: number }).count;
    }
    return items.length < expected;
  });
  if (response === undefined || items.length < expected) {
    throw new ConnectionClosedError('the connection was closed before the response was complete');
  }
  if (readElement === null || response === null || 'error' in response) return response;
  return { result: op === 'list' ? { keys: items } : { usages: items } };
}
