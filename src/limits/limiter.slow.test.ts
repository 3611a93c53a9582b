/** The limiter against a model of its rules. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { JsonObject, readJson } from '../json/read.ts';
import { limitsTime, LimitsModel, type KeyEvent } from '../testing/limits-model.ts';
import { Limiter } from './limiter.ts';
import { limitsOf, type Plan } from './plans.ts';
import { keyLimited } from '../operations/refusals.ts';
import type { LimitStatus } from './limit-status.ts';
import { decodeUsage, encodeUsage } from '../file-engine/accounts/usage-file.ts';

const minute = 60_000;
const day = 86_400_000;
const second = 1_000;
const noon = Date.UTC(2026, 10, 21, 12);

// The actions of a generated sequence, on two keys.

const plans: readonly Plan[] = [
  { name: 'free' },
  { name: 'enterprise', perMinute: 3, perDay: 10 },
  { name: 'enterprise', perMinute: 5, perDay: 4 },
  { name: 'enterprise', perMinute: 70, perDay: 70 },
];
const key = fc.constantFrom('k1', 'k2');
const step = (...ms: number[]) => fc.constantFrom(...ms);
const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('request' as const),
      key,
      count: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constantFrom(59, 60, 61, 64, 70, 130)),
      waitedMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 3_000 })),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.oneof(
        step(1, 1_999, 2_000, 2_001, 5_000, 60_000, 301_000, 601_000, 3_600_000, day - minute, day),
        fc.integer({ min: 0, max: 90_000 }),
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('passTo' as const),
      length: step(minute, day),
      ms: step(-1, 0, 1, -30_000, 30_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('step' as const),
      ms: step(
        -1, -1_500, -30_000, -59_999, -60_000, -60_001, -90_000, -120_000, -3_600_000, -day,
        -2 * day,
        120_000,
        3_600_000,
        day,
        3 * day,
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('retry' as const), early: step(0, 1) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('plan' as const), key, plan: fc.constantFrom(...plans) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('save' as const, 'stop' as const, 'kill' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('look' as const), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('insist' as const), key, unban: fc.boolean() }) },
);

test('the limiter agrees with a model for any sequence of requests, clock changes, restarts and plan changes', () => {
  const seen = { admitted: 0, window: 0, ban: 0, longBan: 0, kept: 0, unbanned: 0, promised: 0 };
  const property = fc.property(fc.array(action, { minLength: 1, maxLength: 40, size: 'max' }), (actions) => {
    let now = noon;
    let readings: number[] = [];
    let limiter = new Limiter(new Map(), noon, () => {});
    const models = { k1: new LimitsModel(), k2: new LimitsModel() };
    const plan: Record<string, Plan> = { k1: plans[0]!, k2: plans[1]! };
    let saved: { text: string[]; events: KeyEvent[][] } = { text: [], events: [[], []] };
    /** The last refusal, unless something has happened since that may change when a request is admitted. */
    let promise: { key: 'k1' | 'k2'; at: number; seconds: number } | null = null;

    const time = (): number => {
      if (readings.at(-1) !== now) readings.push(now);
      return limitsTime(readings);
    };
    const request = (id: 'k1' | 'k2', waitedMs: number): LimitStatus => {
      const limits = limitsOf(plan[id]!);
      const { began, ...status } = limiter.admitKey(id, limits, now, waitedMs);
      const at = time();
      const wasBanned = models[id].bannedUntil(at) !== null;
      assert.deepEqual(status, models[id].request(limits, at, at - waitedMs));
      assert.equal(began?.end, wasBanned ? undefined : (models[id].bannedUntil(at) ?? undefined));
      seen[status.refusedBy ?? 'admitted'] += 1;
      if (status.refusedBy === 'ban' && status.reset * second - now > 5 * minute + 2 * second) seen.longBan += 1;
      const windowEnd = status.window === 'minute' ? minute : day;
      if (Math.floor(at / windowEnd) * windowEnd + windowEnd < status.reset * second && status.refusedBy === null) {
        seen.kept += 1;
      }
      promise =
        status.refusedBy === null ? null : { key: id, at: now, seconds: keyLimited(status, now).retryAfterSeconds! };
      return status;
    };
    const save = (): void => {
      const text = [...limiter.usages(() => now)].map(([id, usage]) =>
        encodeUsage(id, usage, (time) => new Date(time).toISOString()),
      );
      for (const model of Object.values(models)) {
        if (model.events.length === 0) continue;
        const at = time();
        model.record(at, 'seen');
        if (model.used('minute', at) === 0 && model.used('day', at) === 0 && model.ban(at) === null) model.events = [];
      }
      saved = { text, events: Object.values(models).map(({ events }) => [...events]) };
    };
    const start = (): void => {
      const records = saved.text.map((text) => readJson(Buffer.from(text)) as JsonObject).map(decodeUsage);
      limiter = new Limiter(new Map(records.map(({ id, usage }) => [id, usage])), now, () => {});
      readings = [];
      [models.k1.events, models.k2.events] = [[...saved.events[0]!], [...saved.events[1]!]];
      for (const model of Object.values(models)) if (model.events.length > 0) model.record(time(), 'seen');
    };

    for (const one of actions) {
      switch (one.do) {
        case 'request':
          for (let i = 0; i < one.count; i += 1) request(one.key as 'k1', one.waitedMs);
          break;
        case 'pass':
          now += one.ms;
          break;
        case 'passTo':
          now = Math.max(now, Math.ceil(now / one.length) * one.length + one.ms);
          break;
        case 'step':
          now += one.ms;
          promise = null;
          break;
        case 'retry': {
          if (promise === null) break;
          const { key: id, at, seconds }: { key: 'k1' | 'k2'; at: number; seconds: number } = promise;
          const then = at + (seconds - one.early) * second;
          if (then < now) break;
          now = then;
          seen.promised += 1;
          assert.equal(
            request(id, 0).refusedBy === null,
            one.early === 0,
            `${seconds} s after the refusal, less ${one.early}`,
          );
          break;
        }
        case 'plan':
          plan[one.key] = one.plan;
          promise = null;
          break;
        case 'save':
          save();
          break;
        case 'stop':
          save();
          start();
          break;
        case 'kill':
          start();
          promise = null; // the refusal and its reason may be lost
          break;
        case 'look': {
          const usage = limiter.usageOf(one.key, now);
          const at = time();
          const model = models[one.key as 'k1'];
          if (model.events.length > 0) model.record(at, 'seen');
          assert.deepEqual(
            [usage.minute.used, usage.day.used, usage.bannedUntil(at)],
            [model.used('minute', at), model.used('day', at), model.bannedUntil(at)],
          );
          break;
        }
        case 'insist': {
          request(one.key as 'k1', 0);
          now += 2_001;
          for (let i = 0; i < 75; i += 1) request(one.key as 'k1', 0);
          if (!one.unban) break;
          const model = models[one.key as 'k1'];
          const lifted = limiter.unban(one.key, now);
          const at = time();
          assert.equal(lifted, model.bannedUntil(at) !== null);
          model.record(at, lifted ? 'unbanned' : 'seen');
          if (lifted) seen.unbanned += 1;
          promise = null;
          break;
        }
      }
    }
  });
  fc.assert(property, { numRuns: 300 });
  for (const [name, count] of Object.entries(seen)) assert.ok(count > 5, `too few of ${name}: ${JSON.stringify(seen)}`);
});
