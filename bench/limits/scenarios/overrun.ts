/**
 * Sends more requests than remain in a fresh window: how many are admitted, and what a refusal costs.
 *
 * In `exact` they are sent at once over many connections. One request beyond the limit is enough: it is admitted if the
 * server has failed to count any other. In `refusal` the other operations are requested when nothing remains. If keys
 * are created as needed, `refusal` also compares the latencies of 429 and 200, in several rounds, each with a new key
 * and as few connections as necessary, so that no request waits for another.
 *
 * The history of the key shows whether the limit holds. Requests may return while others are in flight, so requests are
 * sent until one is refused.
 */
import { lateMs } from '../../../conformance/limits/group.ts';
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { count } from '../../../conformance/report/words.ts';
import { freshCost, maxBeyond, requireReading, type ScenarioContext } from '../context.ts';
import { isFixed } from '../history.ts';
import type { Key } from '../keys.ts';
import { isAdmitted, isRefused, latencyOf, milliseconds, minRatioLatencies, ratioOf, wrongIn } from '../responses.ts';
import type { Read, Response } from '../responses.ts';
import type { Conditions, Scenario } from '../scenario.ts';
import { operations, type LoadOperation, type Settings } from '../settings.ts';

/** The requests beyond what remains: in `exact`, and in a round of `refusal` if keys are created as needed. */
const [exactOverdraft, refusals] = [1, 25];
/** The number of refusals in a window with a key of the user, because a server may ban the key for a third one. */
const maxRefused = 2;
/** How often `exact` is tried: again if the window ended or somebody else used the key meanwhile. */
const attempts = 2;
/** How long the key is idle, to see whether somebody else uses it. A token bucket returns more than a request. */
const idleMs = (limit: number) => Math.max(2_000, (1.5 * 60_000) / limit);
/** The rounds of `refusal` if keys are created as needed, and the longest duration of a round. */
const [maxRounds, roundMs] = [10, 8_000];

export const exact: Scenario = {
  name: 'exact',
  text: 'from a fresh window, as many requests as remain and one more at once: how many are admitted',
  demanded:
    'as many requests admitted as remained, and the other one refused (429); '
    + 'Remaining counts every request that was answered, and none before it was sent',
  cost: ({ limit, unlimitedKeys }) =>
    ({ withKey: attempts * (limit + maxBeyond(limit) + freshCost), seconds: unlimitedKeys ? 3 : 40 }),

  async run(context) {
    const { client, clock, keys: { main: key } } = context;
    const known = context.lastOf(key);
    const unpromised = known && context.unpromised(known);
    if (unpromised !== undefined) return { seen: 'nothing more was sent', failures: [unpromised], figures: {} };
    let why = '';
    const sentBefore = client.sent.withKey;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const fresh = await context.fresh(key);
      const start = await undisturbed(context, fresh);
      if (start === undefined) {
        why = 'somebody else used the key meanwhile';
        continue;
      }
      const { responses, lost } = await context.useUp(key, start, { overdraft: exactOverdraft });
      const [admitted, refused] = [responses.filter(isAdmitted).length, responses.filter(isRefused).length];
      const { remaining, limit, reset } = start.reading;
      const failures = [...wrongIn(responses), ...context.contradictions(key, fresh)];
      // No request returned in the pause, and none can have returned since. The history does not show it, because
      // requests before the run might return to a sliding window.
      const leftMs = reset * 1_000 - (clock.now() + client.serverClock.most);
      const returnsNone = start !== fresh && remaining === limit - 2 && leftMs > lateMs;
      if (failures.length === 0 && returnsNone && admitted > remaining) {
        failures.push(`${admitted} requests were admitted, but only ${remaining} remained`);
      }
      if (failures.length === 0) {
        if (lost > 0) throw new Inconclusive(`${count(lost, 'request')} got no response`);
        if (admitted < remaining) throw new Inconclusive(`${admitted} of ${remaining} were admitted: perhaps a ban`);
        why = 'no request was refused';
        if (refused === 0) continue;
      }
      const others = client.sent.withKey - sentBefore - responses.length - lost;
      const after = others > 0 ? `, after ${count(others, 'other request')}` : '';
      return {
        seen: `${admitted} of ${remaining} admitted, ${count(refused, 'request')} refused${after}`,
        failures,
        figures: {
          remaining_requests: remaining,
          admitted_requests: admitted,
          refused_requests: refused,
          windows: isFixed([fresh, start, ...responses]) ? 'fixed' : 'move',
        },
      };
    }
    throw new Inconclusive(`${why}, ${attempts} times`);
  },
};

/** The reading of the key after a pause; undefined if somebody else used the key meanwhile. */
async function undisturbed(context: ScenarioContext, fresh: Read): Promise<Read | undefined> {
  if (context.keys.main.own) return fresh;
  await context.sleep(idleMs(fresh.reading.limit), 'to see whether somebody else uses the key');
  const after = requireReading(await context.probe(context.keys.main));
  const { reset, remaining } = after.reading;
  // If windows move, requests may return meanwhile. A server that counts each request twice is found later.
  return reset === fresh.reading.reset && fresh.reading.remaining - remaining > 2 ? undefined : after;
}

/** The operations other than that of the load, without createPet if a fault would create animals on another machine. */
function otherOperations({ operation, remote }: Settings): readonly LoadOperation[] {
  return operations.filter((one) => one !== operation && !(one === 'createPet' && remote));
}

/** The operations that each round of `refusal` requests beyond the limit. */
function roundsOf(settings: Settings, unlimitedKeys: boolean): readonly (readonly LoadOperation[])[] {
  const others = otherOperations(settings);
  if (unlimitedKeys) return Array.from({ length: maxRounds }, () => others);
  return others.flatMap((_, i) => (i % maxRefused === 0 ? [others.slice(i, i + maxRefused)] : []));
}

export const refusal: Scenario = {
  name: 'refusal',
  text: 'the other operations at the limit; with keys of our own server also the cost of a 429 compared with a 200',
  demanded:
    'every request beyond the limit is refused (429), whatever its operation; its cost is reported, not judged',
  cost: (conditions: Conditions) => {
    const { limit, unlimitedKeys } = conditions;
    const rounds = roundsOf(conditions, unlimitedKeys);
    const each = limit + maxBeyond(limit) + freshCost + (unlimitedKeys ? refusals : 0);
    const seconds = unlimitedKeys ? 5 : 60 * rounds.length - 20;
    return { withKey: rounds.length * each + rounds.flat().length, seconds };
  },

  async run(context) {
    const { settings, keys } = context;
    const rounds = roundsOf(settings, keys.unlimited);
    const overdraft = keys.unlimited ? refusals : 0;
    const all: Response[] = [];
    const starts: (readonly [Key, Read])[] = [];
    const [failures, unjudged] = [new Set<string>(), new Set<string>()];
    for (const others of rounds) {
      const key = await keys.spare();
      const start = await context.fresh(key);
      const enough = Math.ceil((start.reading.remaining * start.latencyMs) / roundMs);
      const connections = Math.min(settings.connections, enough);
      const { responses, lost } = await context.useUp(key, start, { overdraft, connections, others });
      all.push(...responses);
      starts.push([key, start]);
      const without = `${count(lost, 'request')} got no response`;
      // If nothing remained and nothing returns, the lost ones were beyond the limit.
      if (lost > 0 && responses.filter(isAdmitted).length === start.reading.remaining && isFixed(responses)) {
        failures.add(`${without} instead of a 429`);
      } else if (lost > 0) unjudged.add(without);
      else for (const operation of others) {
        const isShown = responses.some((one) => isRefused(one) && one.message.request.operation === operation);
        if (!isShown) unjudged.add(`no request of ${operation} was refused`);
      }
    }
    for (const wrong of wrongIn(all)) failures.add(wrong);
    for (const [key, start] of starts) {
      const found = context.contradictions(key, start);
      for (const one of found) failures.add(one);
      if (found.length > 0) break; // another round would show the same
    }
    if (failures.size === 0 && unjudged.size > 0) throw new Inconclusive([...unjudged][0]);
    const [ok, refused] = [latencyOf(all.filter(isAdmitted)), latencyOf(all.filter(isRefused))];
    const [p50, p99] = [ratioOf(refused, ok, 'p50'), ratioOf(refused, ok, 'p99')];
    const beyond = new Set(all.filter(isRefused).map(({ message }) => message.request.operation));
    const names = [...new Set(rounds.flat())].filter((operation) => beyond.has(operation)).join(', ');
    return {
      seen: `${count(all.filter(isRefused).length, 'request')} refused, including those of ${names || 'no operation'}`
        + (p50 === undefined || ok === undefined || refused === undefined
          ? `; no ratio of latencies, which needs ${minRatioLatencies} of either status`
          : `; p50 ${milliseconds(refused.p50)} of ${count(refused.n, '429', '429s')}, `
            + `${milliseconds(ok.p50)} of ${count(ok.n, '200', '200s')}: ×${p50}`),
      failures: [...failures],
      figures: {
        ...(p50 !== undefined && { p50_ratio: p50 }),
        ...(p99 !== undefined && { p99_ratio: p99 }),
        rounds_count: rounds.length,
      },
    };
  },
};
