import { OperatorError } from '../domain/operator-error.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { isActive, type Key } from '../keys/key.ts';
import { planOf } from '../limits/plans.ts';

/** What `petstore` asks for, itself or over the socket of a running server. Times and durations in milliseconds. */
export type KeyCommand =
  | { readonly op: 'list' }
  | ({ readonly op: 'create'; readonly name: string; readonly expiresAt: number | null } & PlanRequest)
  | { readonly op: 'rotate'; readonly id: string; readonly graceMs: number }
  | { readonly op: 'revoke'; readonly id: string }
  | ({ readonly op: 'set-plan'; readonly id: string } & PlanRequest);

/** A plan as it was asked for: `planOf` says whether there is such a one. */
export interface PlanRequest {
  readonly plan: string;
  readonly perMinute?: number | undefined;
  readonly perDay?: number | undefined;
}

/** A key without its hashes, for people and scripts. */
export interface KeyReport {
  readonly id: string;
  readonly name: string;
  readonly plan: string;
  /** Enterprise's numbers; null for the other plans, whose numbers are the specification's. */
  readonly perMinute: number | null;
  readonly perDay: number | null;
  readonly state: 'active' | 'expired' | 'revoked';
  readonly createdAt: string;
  readonly expiresAt: string | null;
  /** The secrets that are accepted now, by their last four characters, the newest last. */
  readonly secrets: readonly { readonly last4: string; readonly expiresAt: string | null }[];
}

/** What came of a command: the keys it concerns, and the secret it made. */
export interface KeyResult {
  readonly keys: readonly KeyReport[];
  readonly secret?: string;
}

/**
 * Carries out a command, which may have come from a program of another version: no member is taken for what it should be.
 * Rejects with OperatorError for what cannot be done, and with what the disk reports.
 */
export async function runKeyCommand(ring: KeyRing, command: KeyCommand, now: number): Promise<KeyResult> {
  const report = (key: Key): KeyReport => reportOf(key, now);
  switch (command.op) {
    case 'list':
      return { keys: ring.keys.map(report) };
    case 'create': {
      checkName(command.name);
      checkExpiry(command.expiresAt, now);
      const plan = planOf(command.plan, command.perMinute, command.perDay);
      const { key, secret } = await ring.create(command.name, plan, command.expiresAt, now);
      return { keys: [report(key)], secret };
    }
    case 'rotate': {
      checkGrace(command.graceMs, now);
      const { key, secret } = await ring.rotate(command.id, command.graceMs, now);
      return { keys: [report(key)], secret };
    }
    case 'revoke':
      return { keys: [report(await ring.revoke(command.id, now))] };
    case 'set-plan': {
      const plan = planOf(command.plan, command.perMinute, command.perDay);
      return { keys: [report(await ring.setPlan(command.id, plan, now))] };
    }
    default:
      throw new OperatorError('the running server does not know this command; it is of another version');
  }
}

function checkName(name: unknown): void {
  if (typeof name !== 'string' || !/^(?=.*\S)[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]{1,100}$/u.test(name)) {
    throw new OperatorError('--name must have 1 to 100 characters, one of them visible, and no control characters', 2);
  }
}

function checkExpiry(expiresAt: unknown, now: number): void {
  if (expiresAt === null) return;
  if (!isTime(expiresAt)) throw new OperatorError('--expires must be a time', 2);
  if (expiresAt <= now) throw new OperatorError('--expires lies in the past', 2);
}

function checkGrace(graceMs: unknown, now: number): void {
  if (typeof graceMs !== 'number' || graceMs < 0 || !isTime(now + graceMs)) throw new OperatorError('--grace must be a duration', 2);
}

/** Whether it is a time in whole milliseconds that `Date` can hold. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isNaN(new Date(value).getTime());
}

function reportOf(key: Key, now: number): KeyReport {
  const enterprise = key.plan.name === 'enterprise' ? key.plan : null;
  const active = isActive(key, now);
  return {
    id: key.id,
    name: key.name,
    plan: key.plan.name,
    perMinute: enterprise?.perMinute ?? null,
    perDay: enterprise?.perDay ?? null,
    state: active ? 'active' : key.revokedAt === null ? 'expired' : 'revoked',
    createdAt: iso(key.createdAt),
    expiresAt: key.expiresAt === null ? null : iso(key.expiresAt),
    secrets: key.secrets
      .filter(({ expiresAt }) => active && (expiresAt === null || now < expiresAt))
      .map(({ last4, expiresAt }) => ({ last4, expiresAt: expiresAt === null ? null : iso(expiresAt) })),
  };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
