/**
 * The families of limiters, and what each of them permits. The specification does not prescribe a family, so a history
 * is a violation only if it contradicts every family. Each bound here must also hold if some exchanges are missing from
 * the history. Only the number of missing requests is known, and for a key that others may use, not even that.
 */
import { isAdmitted, type Exchange } from './exchange.ts';
import { admissionsOf, epsilon, jitter, lateMs, sendingsOf, tickMs, type Group } from './group.ts';

/** What a family permits, as bounds for the exchanges with the indexes `a` and `b`. Numbers may have fractions. */
export interface Family {
  readonly name: string;
  /** The fraction of a request that is left, but that Remaining, a whole number, does not show. */
  readonly hidden: number;
  /** The most requests that become available again between two exchanges; Infinity if unknown. */
  refill(a: number, b: number): number;
  /** The most requests that can be left after `b`, because of those that earlier exchanges have used. */
  most(b: number): number;
  /** The fewest requests that must be left after `b` if none was used since `a`. */
  floor(a: number, b: number): number;
  /** The fewest requests that must be left after `b`, even if all that may have been sent were counted. */
  least(b: number): number;
  /** The latest Reset in milliseconds, by the server's clock. */
  latest(b: Exchange, now: number): number;
  /** Whether Reset is the end of a window, and stays the same until then. */
  readonly isFixed?: true;
  /** How many requests become available again at once, if it is always the same number, and how often. */
  readonly step?: number;
  readonly stepMs?: number;
}

/** The families that a group may belong to, the simplest first. */
export function familiesOf(group: Group): readonly Family[] {
  const { own, all, limit, isExclusive, clock, periodMs, admitted } = group;
  const perMs = limit / periodMs;
  const { between } = sendingsOf(all);
  const known = isExclusive ? between : () => Infinity;
  const at = (i: number): Exchange => own[i]!;
  const timeOf = ({ sentAt, receivedAt }: Exchange) =>
    clock === undefined ? undefined : { least: sentAt + clock.least, most: receivedAt + clock.most };
  const isSameWindow = (a: number, b: number) => Math.abs(at(a).reset - at(b).reset) <= jitter;
  const usedBefore = admissionsOf(admitted);
  const tick = Math.min(tickMs, periodMs / 2);
  /** Whether Reset, if it is when the oldest request leaves the log, shows that none leaves between two exchanges. */
  const isOldest = (a: number, b: number): boolean => {
    const [one, other] = [timeOf(at(a)), timeOf(at(b))];
    if (one === undefined || other === undefined) return false;
    const isNewest = (i: number, { least }: { least: number }) =>
      !isAdmitted(at(i)) || at(i).remaining === 0 || at(i).reset * 1_000 >= least + periodMs - lateMs;
    return at(a).reset * 1_000 > other.most + lateMs && !(isNewest(a, one) && isNewest(b, other));
  };
  const returned = own.map(({ sentAt, receivedAt }) => ({ sentAt, receivedAt }));
  const [sixtyAgo, twoAgo] = [periodMs + tick, 2 * periodMs + tick];
  return [
    {
      name: 'a fixed window',
      hidden: 0,
      isFixed: true,
      refill: (a, b) => (isSameWindow(a, b) ? 0 : Infinity),
      most: () => limit,
      floor: (a, b) => (isSameWindow(a, b) ? at(a).remaining : at(b).reset > at(a).reset ? limit : -Infinity),
      least: () => -Infinity,
      latest: (_, now) => now + periodMs + lateMs + tickMs,
    },
    {
      name: 'a sliding log',
      hidden: 0,
      refill: (a, b) => {
        if (isOldest(a, b)) return 0;
        return Math.max(0, known(returned[a]!.sentAt - sixtyAgo, returned[b]!.receivedAt - periodMs + tick));
      },
      most: (b) => limit - usedBefore(at(b), periodMs - tick).count,
      floor: (a) => at(a).remaining,
      least: (b) => limit - known(at(b).sentAt - sixtyAgo, at(b).receivedAt),
      latest: (_, now) => now + periodMs + 2 * tickMs,
    },
    {
      name: 'a sliding counter',
      hidden: 1 - epsilon,
      refill: (a, b) => {
        const ms = at(b).receivedAt - at(a).sentAt + 1;
        return (ms / periodMs) * Math.min(limit, known(at(a).sentAt - twoAgo, at(b).receivedAt));
      },
      most: (b) => {
        const { count, agesMs } = usedBefore(at(b), periodMs);
        return limit - count + agesMs / periodMs;
      },
      floor: (a) => at(a).remaining,
      least: (b) => {
        const { sentAt, receivedAt } = at(b);
        let sum = known(sentAt - sixtyAgo, receivedAt);
        const part = periodMs / 6;
        for (let i = 0; i < 6; i++)
          sum += (1 - i / 6) * known(sentAt - sixtyAgo - (i + 1) * part, receivedAt - periodMs - i * part);
        return limit - sum - 1;
      },
      latest: (_, now) => now + 2 * periodMs + 2 * tickMs,
    },
    {
      name: 'a token bucket',
      hidden: 1 - epsilon,
      refill: (a, b) => (at(b).receivedAt - at(a).sentAt + 1) * perMs,
      most: () => limit,
      floor: (a, b) =>
        Math.min(limit, at(a).remaining + perMs * Math.max(0, at(b).sentAt - at(a).receivedAt - 1 - tickMs)),
      least: () => -Infinity,
      latest: ({ remaining }, now) => now + (limit - remaining) / perMs + 2 * tickMs,
    },
    ...stepsOf(group).map((steps): Family => {
      const [stepMs, least, most] = [periodMs / steps, Math.floor(limit / steps), Math.ceil(limit / steps)];
      return {
        name: 'a bucket that refills in steps',
        hidden: 0,
        ...{ step: least, stepMs },
        refill: (a, b) => {
          const [one, other] = [timeOf(at(a)), timeOf(at(b))];
          const reset = at(a).reset * 1_000;
          // Reset is now, or the time of a step.
          if (one === undefined || other === undefined || reset <= one.most + lateMs)
            return most * (Math.floor((at(b).receivedAt - at(a).sentAt + 1) / stepMs) + 1);
          const stepsAt = (time: number) => Math.floor((time - reset) / stepMs);
          return most * (stepsAt(other.most + lateMs) - stepsAt(one.least - lateMs));
        },
        most: () => limit,
        floor: (a, b) => {
          const passed = Math.floor(Math.max(0, at(b).sentAt - at(a).receivedAt - 1) / stepMs);
          return Math.min(limit, at(a).remaining + least * passed);
        },
        least: () => -Infinity,
        latest: ({ remaining }, now) => now + Math.ceil((limit - remaining) / least) * stepMs + 2 * tickMs,
      };
    }),
  ];
}

/**
 * In how many steps a bucket may refill in a period. If other clients use the key, steps of a few seconds would excuse
 * almost any rise of Remaining, so they are considered only if Reset promises nothing: it is always about now.
 */
function stepsOf({ limit, own, isExclusive }: Group): readonly number[] {
  const isNow = ({ reset, date, receivedAt }: Exchange) => reset * 1_000 - (date ?? receivedAt) <= lateMs + tickMs;
  const most = isExclusive || own.every((one) => !isAdmitted(one) || isNow(one)) ? 30 : 6;
  return [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 24, 30].filter((steps) => steps <= Math.min(most, limit));
}
