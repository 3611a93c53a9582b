import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyUsage } from './key-usage.ts';
import { limitsOf, type PlanLimits } from './plans.ts';
import { keyLimited } from '../operations/refusals.ts';
import type { LimitStatus } from './limit-status.ts';

const free = limitsOf({ name: 'free' });
const pro = limitsOf({ name: 'pro' });
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const at = (text: string): number => Date.parse(`2026-11-21T${text}Z`);
const seconds = (text: string): number => at(text) / 1000;

/** Sends `count` requests at one time. By default they arrive at that time too. */
function send(usage: KeyUsage, count: number, time: number, limits = free, arrivedAt = time): LimitStatus[] {
  return Array.from({ length: count }, () => usage.admit(limits, time, arrivedAt));
}
const admitted = (statuses: readonly LimitStatus[]): number =>
  statuses.filter(({ refusedBy }) => refusedBy === null).length;

test('the limit applies to a UTC minute, not to the 60 s after the first request', () => {
  const usage = new KeyUsage();
  assert.equal(admitted(send(usage, 40, at('12:00:59.999'))), 40);
  assert.equal(admitted(send(usage, 100, at('12:01:00.000'))), 60);
  assert.equal(admitted(send(usage, 50, at('12:01:59.999'))), 0);
  assert.equal(admitted(send(usage, 100, at('12:02:00.000'))), 60);
});

test('the status is that of the window with fewer requests remaining; on a tie, of the day', () => {
  const limits = { perMinute: 3, perDay: 5 };
  const usage = new KeyUsage();
  const [first, second, third, fourth] = send(usage, 4, at('12:00:30'), limits);
  assert.deepEqual(first, { window: 'minute', limit: 3, remaining: 2, reset: seconds('12:01:00'), refusedBy: null });
  assert.deepEqual([second?.remaining, third?.remaining], [1, 0]);
  assert.deepEqual(fourth, {
    window: 'minute',
    limit: 3,
    remaining: 0,
    reset: seconds('12:01:00'),
    refusedBy: 'window',
  });
  const midnight = (at('00:00:00') + day) / 1000;
  const later = send(usage, 3, at('12:01:00'), limits);
  assert.deepEqual(later[0], { window: 'day', limit: 5, remaining: 1, reset: midnight, refusedBy: null });
  assert.deepEqual(later[2], { window: 'day', limit: 5, remaining: 0, reset: midnight, refusedBy: 'window' });
  assert.equal(admitted(send(usage, 9, at('00:00:00') + day - 1, limits)), 0);
  assert.equal(admitted(send(usage, 9, at('00:00:00') + day, limits)), 3);
  const tie = new KeyUsage();
  assert.deepEqual(tie.admit({ perMinute: 4, perDay: 4 }, at('12:00:00'), 0), {
    window: 'day',
    limit: 4,
    remaining: 3,
    reset: midnight,
    refusedBy: null,
  });
});

test('refused requests are not counted', () => {
  const usage = new KeyUsage();
  send(usage, 1_000, at('12:00:00'));
  assert.deepEqual([usage.minute.used, usage.day.used], [60, 60]);
});

test('a change of plan applies to the current window: a smaller plan refuses, a larger one admits', () => {
  const usage = new KeyUsage();
  send(usage, 200, at('12:00:00'), pro);
  assert.deepEqual(usage.admit(free, at('12:00:01'), at('12:00:01')), {
    window: 'minute',
    limit: 60,
    remaining: 0,
    reset: seconds('12:01:00'),
    refusedBy: 'window',
  });
  assert.deepEqual(usage.admit(pro, at('12:00:02'), at('12:00:02')), {
    window: 'minute',
    limit: 300,
    remaining: 99,
    reset: seconds('12:01:00'),
    refusedBy: null,
  });
});

test('Retry-After is rounded up, and at least 1', () => {
  const status = send(new KeyUsage(), 61, at('12:00:00')).at(-1)!;
  for (const [now, wait] of [
    ['12:00:00.000', 60],
    ['12:00:00.001', 60],
    ['12:00:01.000', 59],
    ['12:00:59.000', 1],
    ['12:00:59.999', 1],
  ] as const) {
    assert.equal(keyLimited(status, at(now)).retryAfterSeconds, wait, now);
  }
});

/**
 * Exhausts the minute, waits for the grace time, and sends up to `most` more requests until one is refused by a ban.
 * Returns their number, or Infinity if there was no ban.
 */
function insist(usage: KeyUsage, time: number, limits: PlanLimits, most = 2_000): number {
  send(usage, limits.perMinute + 1, time, limits);
  for (let refused = 1; refused <= most; refused += 1) {
    if (usage.admit(limits, time + 2_001, time + 2_001).refusedBy === 'ban') return refused;
  }
  return Infinity;
}

test('as many refusals as the plan admits per minute, but at least 60, ban the key for 5 minutes', () => {
  for (const [limits, refusals] of [
    [free, 60],
    [pro, 300],
    [{ perMinute: 1, perDay: 9 }, 60],
    [{ perMinute: 61, perDay: 99 }, 61],
  ] as const) {
    const usage = new KeyUsage();
    assert.equal(insist(usage, at('12:00:00'), limits), refusals);
    assert.deepEqual(usage.ban, { start: at('12:00:03'), end: at('12:05:03') });
    assert.equal(usage.bannedUntil(at('12:05:02.999')), at('12:05:03'));
    assert.equal(usage.bannedUntil(at('12:05:03')), null);
  }
});

test('refusals of requests that arrived up to 2 s after the first 429 do not count, whenever they are handled', () => {
  const usage = new KeyUsage();
  send(usage, 61, at('12:00:00'));
  send(usage, 5_000, at('12:00:02.000'));
  send(usage, 5_000, at('12:00:30'), free, at('12:00:02.000'));
  send(usage, 59, at('12:00:30'), free, at('12:00:02.001'));
  assert.deepEqual([usage.ban, usage.refusals], [null, 59]);
  assert.equal(usage.admit(free, at('12:00:30'), at('12:00:02.001')).refusedBy, 'ban');
});

test('each minute has its own first refusal and its own count of refusals', () => {
  const usage = new KeyUsage();
  send(usage, 61, at('12:00:00'));
  send(usage, 59, at('12:00:59'));
  send(usage, 5_000, at('12:01:00')); // workers that wake up together
  send(usage, 59, at('12:01:03'));
  assert.equal(usage.ban, null);
  assert.equal(admitted(send(usage, 60, at('12:02:00'))), 60);
});

test('if both windows are exhausted, the first refusal of the day counts', () => {
  const limits = { perMinute: 2, perDay: 2 };
  const usage = new KeyUsage();
  send(usage, 3, at('12:00:59'), limits);
  send(usage, 59, at('12:01:01'), limits); // room in the minute; the first refusal of the day is over 2 s ago
  assert.equal(usage.refusals, 0);
  send(usage, 59, at('12:01:01.001'), limits);
  assert.deepEqual([usage.refusals, usage.ban], [59, null]);
  assert.equal(usage.admit(limits, at('12:01:02'), at('12:01:02')).refusedBy, 'ban');
});

test('a window that is exhausted again after a change to a larger plan has a new first refusal', () => {
  const usage = new KeyUsage();
  send(usage, 61, at('12:00:00'));
  send(usage, 241, at('12:00:30'), pro);
  send(usage, 5_000, at('12:00:32'), pro);
  assert.equal(usage.refusals, 0);
  const byDay = new KeyUsage();
  send(byDay, 6, at('12:00:00'), { perMinute: 99, perDay: 5 });
  send(byDay, 2, at('12:00:30'), { perMinute: 99, perDay: 6 });
  send(byDay, 5_000, at('12:00:32'), { perMinute: 99, perDay: 6 });
  assert.equal(byDay.refusals, 0);
});

test('a refusal by one window is not the first refusal of the other', () => {
  const usage = new KeyUsage();
  send(usage, 3, at('12:00:00'), { perMinute: 9, perDay: 2 });
  send(usage, 5_000, at('12:00:30'), { perMinute: 2, perDay: 9 });
  assert.equal(usage.refusals, 0);
});

test('during a ban, Reset is the end of the ban, or of an exhausted window that ends later', () => {
  const usage = new KeyUsage();
  insist(usage, at('12:00:00'), free);
  assert.deepEqual(usage.admit(free, at('12:00:40'), at('12:00:40')), {
    window: 'minute',
    limit: 60,
    remaining: 0,
    reset: seconds('12:05:03'),
    refusedBy: 'ban',
  });
  assert.equal(admitted(send(usage, 61, at('12:05:03'))), 60);
  const spent = new KeyUsage();
  insist(spent, at('12:00:00'), { perMinute: 60, perDay: 60 });
  assert.deepEqual(spent.admit({ perMinute: 60, perDay: 60 }, at('12:00:40'), 0), {
    window: 'day',
    limit: 60,
    remaining: 0,
    reset: (at('00:00:00') + day) / 1000,
    refusedBy: 'ban',
  });
});

test('requests during a ban neither prolong it nor count towards the next', () => {
  const usage = new KeyUsage();
  insist(usage, at('12:00:00'), free);
  send(usage, 5_000, at('12:05:02.999'));
  assert.equal(usage.ban!.end, at('12:05:03'));
  assert.equal(admitted(send(usage, 1, at('12:05:03'))), 1);
  assert.equal(usage.refusals, 0);
});

test('a ban within 24 h of the previous one lasts twice as long, up to an hour; a later one lasts 5 minutes', () => {
  const usage = new KeyUsage();
  const unlimited = { perMinute: 60, perDay: 1e9 };
  let time = at('12:00:00');
  const lengths: number[] = [];
  const ban = (): void => {
    insist(usage, time, unlimited);
    lengths.push((usage.ban!.end - usage.ban!.start) / minute);
    time = usage.ban!.end;
  };
  for (let i = 0; i < 6; i += 1) ban();
  assert.deepEqual(lengths, [5, 10, 20, 40, 60, 60]);
  for (const [later, lengthMs] of [[day, hour], [day + 1, 5 * minute]] as const) {
    const again = new KeyUsage();
    insist(again, at('12:00:00'), free);
    again.ban = { start: again.ban!.start, end: again.ban!.start + hour };
    const begins = again.ban.end + later;
    send(again, 61, begins - 3_000);
    send(again, 60, begins);
    assert.equal(again.ban.end - again.ban.start, lengthMs);
  }
});

test('lifting a ban also forgets the refusals that led to it', () => {
  const usage = new KeyUsage();
  assert.equal(usage.unban(at('12:00:00')), false);
  insist(usage, at('12:00:00'), free);
  assert.equal(usage.unban(at('12:00:03')), true);
  assert.deepEqual([usage.ban, usage.minute.used], [null, 60]);
  send(usage, 5_000, at('12:00:05')); // refused, within a new grace time
  assert.equal(usage.ban, null);
  insist(usage, at('12:01:00'), free);
  assert.equal(usage.ban!.end - usage.ban!.start, 5 * minute);
});

test('after a large step back of the clock, a first refusal in the future is forgotten', () => {
  const limits = { perMinute: 99, perDay: 5 };
  const usage = new KeyUsage();
  send(usage, 6, at('12:00:00'), limits);
  send(usage, 59, at('10:00:00'), limits);
  send(usage, 59, at('10:00:30'), limits);
  assert.deepEqual([usage.refusals, usage.ban], [59, null]);
});

test('a stored window is in force if it begins up to 60 s in the future, otherwise it is dropped', () => {
  const ahead = (time: number): number => {
    const usage = new KeyUsage();
    send(usage, 60, at('12:00:00'));
    return admitted(send(usage, 61, time));
  };
  assert.equal(ahead(at('11:59:00.000')), 0);
  assert.equal(ahead(at('11:58:59.999')), 60);
  const overnight = (time: number): number => {
    const usage = new KeyUsage();
    send(usage, 60, at('00:00:00'), { perMinute: 60, perDay: 60 });
    return admitted(send(usage, 61, time, { perMinute: 60, perDay: 60 }));
  };
  assert.equal(overnight(at('00:00:00') - minute), 0);
  assert.equal(overnight(at('00:00:00') - minute - 1), 60);
});

test('a ban ends if the time is more than 60 s before its start', () => {
  for (const [time, banned] of [['11:59:03.000', true], ['11:59:02.999', false]] as const) {
    const usage = new KeyUsage();
    insist(usage, at('12:00:00'), free);
    assert.equal(usage.admit(free, at(time), at(time)).refusedBy === 'ban', banned);
  }
});
