/**
 * The commands of `petstore`: a running server carries them out for it, and without a server it does so itself.
 *
 * A command may come from a program of another version. So each member is checked, whatever its type says here.
 */
import { OperatorError } from '../domain/operator-error.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { isActive, type Key } from '../keys/key.ts';
import { endOfBan } from '../limits/bans.ts';
import { limitsOf, planOf } from '../limits/plans.ts';
import type { UsageFile } from '../limits/usage-file.ts';
import type { Window } from '../limits/windows.ts';

/** What commands are carried out on. */
export interface Accounts {
  readonly keys: KeyRing;
  /** Called only for a command that needs it. */
  readonly openUsage: () => Promise<UsageFile>;
}

/** A plan as it was asked for: `planOf` says whether there is such a one. */
export interface PlanRequest {
  readonly plan: string;
  readonly perMinute?: number;
  readonly perDay?: number;
}

interface KeyId {
  readonly id: string;
}

/**
 * What each command does with its members, `now`. Times and durations are milliseconds. Each rejects with OperatorError
 * for what cannot be done, and with what the disk reports.
 */
const commands = {
  async list({ keys }: Accounts, _: object, now: number) {
    return { keys: keys.keys.map((key) => keyReport(key, now)) };
  },

  async create({ keys }: Accounts, command: PlanRequest & { name: string; expiresAt: number | null }, now: number) {
    const { name, plan, perMinute, perDay, expiresAt } = command;
    check(isName(name), '--name must have 1 to 100 characters, one of them visible, and no control characters');
    check(expiresAt === null || isTime(expiresAt), '--expires must be a time');
    check(expiresAt === null || expiresAt > now, '--expires lies in the past');
    const { key, secret } = await keys.create(name, planOf(plan, perMinute, perDay), expiresAt, now);
    return { keys: [keyReport(key, now)], secret };
  },

  async rotate({ keys }: Accounts, { id, graceMs }: KeyId & { graceMs: number }, now: number) {
    check(typeof graceMs === 'number' && graceMs >= 0 && isTime(now + graceMs), '--grace must be a duration');
    const { key, secret } = await keys.rotate(id, graceMs, now);
    return { keys: [keyReport(key, now)], secret };
  },

  async revoke({ keys }: Accounts, { id }: KeyId, now: number) {
    return { keys: [keyReport(await keys.revoke(id, now), now)] };
  },

  async 'set-plan'({ keys }: Accounts, { id, plan, perMinute, perDay }: KeyId & PlanRequest, now: number) {
    return { keys: [keyReport(await keys.setPlan(id, planOf(plan, perMinute, perDay), now), now)] };
  },

  /** Of one key, or of all that are not revoked. */
  async usage({ keys, openUsage }: Accounts, { id }: { id: string | null }, now: number) {
    const usage = await openUsage();
    const wanted = id === null ? keys.keys.filter(({ revokedAt }) => revokedAt === null) : [keys.get(id)];
    return { usages: wanted.map((key) => usageReport(key, usage, now)) };
  },

  /** `unbanned` is whether there was a ban. */
  async unban({ keys, openUsage }: Accounts, { id }: KeyId, now: number) {
    const usage = await openUsage();
    const key = keys.get(id);
    const unbanned = usage.limiter.unban(id, now);
    if (unbanned) {
      await usage.save().catch((error: OperatorError) => {
        throw new OperatorError(`the ban of key ${id} could not be lifted for good: ${error.message}`);
      });
    }
    return { usages: [usageReport(key, usage, now)], unbanned };
  },
};

export type CommandName = keyof typeof commands;
/** A command as it is sent over the socket: its name and its members. */
export type Command<Op extends CommandName> = { readonly op: Op } & Parameters<(typeof commands)[Op]>[1];
/** What came of a command: the keys that it concerns, or what they have used. */
export type Result<Op extends CommandName> = Awaited<ReturnType<(typeof commands)[Op]>>;
/** What a server answers to a command: a result, or why there is none. */
export type CommandResponse = { readonly result: unknown } | { readonly error: string; readonly exitCode: number };

/** Carries out what should be a command. Rejects with OperatorError for what cannot be done, and what the disk reports. */
export async function execute(accounts: Accounts, command: unknown, now: number): Promise<unknown> {
  const op = (command as { op?: unknown } | null)?.op;
  if (typeof op === 'string' && Object.hasOwn(commands, op)) {
    return commands[op as CommandName](accounts, command as never, now);
  }
  throw new OperatorError('the running server does not know this command; it is of another version');
}

/** The server's end: what it answers to a command that arrives on the lock's socket. Never rejects. */
export async function respondToCommand(accounts: Accounts, command: unknown): Promise<CommandResponse> {
  try {
    return { result: await execute(accounts, command, Date.now()) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { error: message, exitCode: error instanceof OperatorError ? error.exitCode : 1 };
  }
}

function check(valid: boolean, rule: string): void {
  if (!valid) throw new OperatorError(rule, 2);
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && /^(?=.*\S)[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]{1,100}$/u.test(value);
}

/** Whether it is a time in whole milliseconds that `Date` can hold. */
function isTime(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isNaN(new Date(value as number).getTime());
}

export type KeyReport = ReturnType<typeof keyReport>;

/** A key without its hashes, for people and scripts. Times are RFC 3339, here and below. */
function keyReport(key: Key, now: number) {
  const active = isActive(key, now);
  return {
    id: key.id,
    name: key.name,
    plan: key.plan.name,
    // Enterprise's numbers; null for the other plans, whose numbers are the specification's.
    perMinute: key.plan.name === 'enterprise' ? key.plan.perMinute : null,
    perDay: key.plan.name === 'enterprise' ? key.plan.perDay : null,
    state: active ? 'active' : key.revokedAt === null ? 'expired' : 'revoked',
    createdAt: isoTime(key.createdAt),
    expiresAt: key.expiresAt === null ? null : isoTime(key.expiresAt),
    // The secrets that are accepted now, by their last four characters, the newest last.
    secrets: key.secrets
      .filter(({ expiresAt }) => active && (expiresAt === null || now < expiresAt))
      .map(({ last4, expiresAt }) => ({ last4, expiresAt: expiresAt === null ? null : isoTime(expiresAt) })),
  };
}

export type UsageReport = ReturnType<typeof usageReport>;

/** What a key has used of its limits, for people and scripts. */
function usageReport(key: Key, { limiter }: UsageFile, now: number) {
  const { perMinute, perDay } = limitsOf(key.plan);
  const usage = limiter.usageOf(key.id, now);
  const { ban } = usage;
  // `used` is more than the limit where the plan was a larger one then.
  const windowReport = ({ used, end }: Window, limit: number) => ({ limit, used, resetAt: isoTime(end) });
  return {
    id: key.id,
    name: key.name,
    plan: key.plan.name,
    minute: windowReport(usage.minute, perMinute),
    day: windowReport(usage.day, perDay),
    // The ban under way, or the last one while it makes the next one longer.
    ban: ban && {
      start: isoTime(ban.start),
      end: isoTime(endOfBan(ban)),
      active: usage.bannedUntil(limiter.timeAt(now)) !== null,
    },
  };
}

function isoTime(time: number): string {
  return new Date(time).toISOString();
}
