import { OperatorError } from '../domain/operator-error.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { Key } from '../keys/key.ts';
import { endOfBan } from '../limits/bans.ts';
import { limitsOf } from '../limits/plans.ts';
import type { UsageFile } from '../limits/usage-file.ts';
import type { Window } from '../limits/windows.ts';

/** What `petstore` asks of the limits, itself or over the socket of a running server. */
export type UsageCommand =
  /** Of one key, or of all that are not revoked. */
  | { readonly op: 'usage'; readonly id: string | null }
  | { readonly op: 'unban'; readonly id: string };

/** What a key has used of its limits, for people and scripts. Times are RFC 3339. */
export interface UsageReport {
  readonly id: string;
  readonly name: string;
  readonly plan: string;
  readonly minute: WindowReport;
  readonly day: WindowReport;
  /** The ban under way, or the last one while it makes the next one longer. */
  readonly ban: { readonly start: string; readonly end: string; readonly active: boolean } | null;
}

interface WindowReport {
  readonly limit: number;
  /** More than the limit where the plan was a larger one when they were used. */
  readonly used: number;
  readonly resetAt: string;
}

/** What came of a command: the usage of the keys it concerns, and for `unban` whether there was a ban. */
export interface UsageResult {
  readonly usages: readonly UsageReport[];
  readonly unbanned?: boolean;
}

/** Whether it is one of these commands. */
export function isUsageCommand(command: { readonly op: string }): command is UsageCommand {
  return command.op === 'usage' || command.op === 'unban';
}

/** Carries out a command. Rejects with OperatorError for what cannot be done, or not be saved. */
export async function runUsageCommand(ring: KeyRing, usage: UsageFile, command: UsageCommand, now: number): Promise<UsageResult> {
  const report = (key: Key): UsageReport => reportOf(key, usage, now);
  if (command.op === 'usage' && command.id === null) {
    return { usages: ring.keys.filter(({ revokedAt }) => revokedAt === null).map(report) };
  }
  const key = ring.get(String(command.id));
  if (command.op === 'usage') return { usages: [report(key)] };
  const unbanned = usage.limiter.unban(key.id, now);
  if (unbanned) {
    await usage.save().catch((error: OperatorError) => {
      throw new OperatorError(`the ban of key ${key.id} could not be lifted for good: ${error.message}`);
    });
  }
  return { usages: [report(key)], unbanned };
}

function reportOf(key: Key, { limiter }: UsageFile, now: number): UsageReport {
  const { perMinute, perDay } = limitsOf(key.plan);
  const used = limiter.usageOf(key.id, now);
  const window = ({ used, end }: Window, limit: number): WindowReport => ({ limit, used, resetAt: iso(end) });
  const { ban } = used;
  return {
    id: key.id,
    name: key.name,
    plan: key.plan.name,
    minute: window(used.minute, perMinute),
    day: window(used.day, perDay),
    ban: ban && { start: iso(ban.start), end: iso(endOfBan(ban)), active: used.bannedUntil(limiter.timeAt(now)) !== null },
  };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
