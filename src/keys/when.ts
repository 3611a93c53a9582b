import { OperatorError } from '../domain/operator-error.ts';

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const maxDurationMs = 100 * 365 * 86_400_000;

/** A duration like `90s`, `30m`, `24h`, `7d` in milliseconds. `name` is the flag it came from. Throws OperatorError. */
export function parseDuration(text: string, name: string): number {
  const match = /^([0-9]{1,9})([smhd])$/.exec(text);
  const duration = match === null ? NaN : Number(match[1]) * unitMs[match[2]!]!;
  if (duration <= maxDurationMs) return duration;
  throw new OperatorError(`${name} must be a duration like 90s, 30m, 24h or 7d, at most 100 years, not ${JSON.stringify(text)}`, 2);
}

/** A time: a date (its start in UTC), an RFC 3339 time, or a duration from `now` on. Throws OperatorError. */
export function parseWhen(text: string, name: string, now: number): number {
  if (/^[0-9]+[smhd]$/.test(text)) return now + parseDuration(text, name);
  if (/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text)) {
    const date = text.slice(0, 10);
    const midnight = Date.parse(`${date}T00:00:00Z`);
    const time = text === date ? midnight : Date.parse(text);
    // Date.parse takes 30 February for 2 March.
    if (!Number.isNaN(midnight + time) && new Date(midnight).toISOString().startsWith(date)) return time;
  }
  throw new OperatorError(`${name} must be a date like 2027-01-31, a time like 2027-01-31T12:00:00Z or a duration like 90d, not ${JSON.stringify(text)}`, 2);
}
