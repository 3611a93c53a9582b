/**
 * How a flood affects a quiet client: its latencies without and with the flood, and whether it is refused.
 *
 * In `neighbour` the flood has another key. It never exceeds the limit of that key, so nothing is refused and no key
 * banned.
 *
 * In `strangers` the flood has no key, or in every second request a wrong one. The quiet client counts as slowed only
 * by a wide margin, and only if a second attempt confirms it: latencies on a busy machine vary by a factor of two, and
 * the flood and the quiet client share the bench's process. A user would notice the margin, and a server whose work for
 * each request without a valid key is expensive, such as hashing a password or querying a database, exceeds it by far.
 * A server that stalls occasionally does not change the median latency, so much longer latencies are counted, too.
 */
import { allEnded } from '../../../conformance/client/client.ts';
import { Inconclusive, Skipped } from '../../../conformance/verdicts/outcome.ts';
import { count, grouped } from '../../../conformance/report/words.ts';
import type { Load, Sent } from '../client.ts';
import { freshCost, type ScenarioContext } from '../context.ts';
import type { Key } from '../keys.ts';
import { contradictionsIn } from '../log.ts';
import {
  isAdmitted, isRefused, latenciesOf, latencyOf, milliseconds, minRatioLatencies, ratioOf, statusesOf,
  type Latency, type Read,
} from '../responses.ts';
import type { Conditions, Finding, Scenario } from '../scenario.ts';

/** The highest and the usual number of requests per second of a quiet client. */
const [maxRate, usualRate] = [50, 20];
/** A quiet client uses few connections, because the first latency on each is left out. */
const quietConnections = 3;
/** The fewest latencies with which a scenario is not inconclusive. */
const minLatencies = 12;
/** A client counts as slowed if its p50 is more than `times` that without the flood, and more than `ms` above it. */
const slowed = { times: 3, ms: 20 } as const;
/** A client counts as stalled if `responses` responses, and this share of all, take more than `ms` longer than p50. */
const stalled = { responses: 3, share: 0.05, ms: 250 } as const;
/** If the bench itself is later than this, the machine is too busy to judge the server. */
const busyMs = 50;
/** The number of attempts, all of which must show that the client is slowed or stalled. */
const attempts = 2;

/** The load of a quiet client that may send `room` requests, during a flood that lasts `seconds`. */
function quietPace(room: number, seconds: number): { readonly amount: number; readonly rate: number } {
  const usual = Math.max(minRatioLatencies + quietConnections, Math.round(usualRate * seconds));
  const amount = Math.max(1, Math.min(room, usual, Math.ceil(maxRate * Math.max(seconds, 1))));
  return { amount, rate: Math.min(maxRate, Math.max(1, Math.ceil(amount / seconds))) };
}

/** What a quiet client sent without the flood (`alone`) and with it (`beside`), and what the flood sent. */
type Met = Readonly<Record<'alone' | 'beside' | 'flood', Sent>>;

/** Sends a quiet client's requests alone, and then during a flood that lasts `seconds`. `fresh` is a response to it. */
async function meet(context: ScenarioContext, key: Key, fresh: Read, load: Load, seconds: number): Promise<Met> {
  // Both parts fit into what remains. If the window ends meanwhile, more requests become available.
  const room = Math.floor(fresh.rateLimits.remaining / 2);
  const pace = { key, connections: quietConnections, ...quietPace(room, seconds) };
  context.doing('the quiet key alone');
  const alone = await context.send(pace);
  context.doing('the quiet key during a flood');
  const [beside, flood] = await allEnded([
    context.send({ ...pace, mayAllBeLost: true }),
    context.send({ ...load, maxMs: seconds * 1_000 }),
  ]);
  return { alone, beside: beside!, flood: flood! };
}

/** The latencies without and with the flood, and which requests of the quiet client were refused, failed or lost. */
function compare({ alone, beside, flood }: Met): Finding {
  const failures = Object.entries({ before: alone, during: beside }).flatMap(([where, { responses }]) => {
    const statuses = statusesOf(responses.filter((response) => !isAdmitted(response)));
    return statuses === undefined ? [] : [`of the quiet client's requests ${where} the flood, ${statuses}`];
  });
  const lost = `${beside.lost} of the quiet client's requests during the flood got no response`;
  if (beside.lost > 0 && alone.lost === 0) failures.push(`${lost}, and without it none was lost`);
  else if (alone.lost > 0 && failures.length === 0) {
    throw new Inconclusive(`${lost}, and ${alone.lost} without it, so the flood may not be the cause`);
  }
  const [without, withFlood] = [admittedLatency(alone), admittedLatency(beside)];
  if (failures.length === 0 && Math.min(without.n, withFlood.n) < minLatencies) {
    throw new Inconclusive(
      ![...alone.responses, ...beside.responses].some(({ isReused }) => isReused)
        ? 'the server closes every connection after one response, so every latency includes opening a connection'
        : `too few latencies were measured: ${without.n} without the flood, ${withFlood.n} with it`,
    );
  }
  const figures: Record<string, number> = { flood_requests: flood.responses.length + flood.lost };
  const measured = Math.min(without.n, withFlood.n) > 0 ? (['p50', 'p99'] as const) : [];
  const changes = measured.map((of) => {
    const ratio = ratioOf(withFlood, without, of);
    if (ratio !== undefined) figures[`${of}_ratio`] = ratio;
    const times = ratio === undefined ? '' : ` (×${ratio})`;
    return `${of} ${milliseconds(without[of])} → ${milliseconds(withFlood[of])}${times}`;
  });
  const [sent, admitted] = [beside.responses.length + beside.lost, beside.responses.filter(isAdmitted).length];
  const seen = `${grouped(sent)} requests, ${admitted} admitted${changes.map((change) => `; ${change}`).join('')}`;
  return { failures, seen, figures, latencies: { alone: without, beside: withFlood } };
}

/** The number of requests of the flood in `neighbour`, if the key may send `room`. */
function floodOf({ rate, duration }: Pick<Conditions, 'rate' | 'duration'>, room: number): number {
  return Math.max(1, Math.min(room, rate * duration));
}

export const neighbour: Scenario = {
  name: 'neighbour',
  text: 'how a flood with one key affects a quiet second key: its latencies with and without (needs a second key)',
  demanded: 'no request of the quiet key is refused or lost; its latencies are judged only by the --max options',
  cost: (conditions) => {
    const { unlimitedKeys, hasQuiet, limit, rate } = conditions;
    if (!hasQuiet) return { withKey: 0, seconds: 0 };
    const flood = floodOf(conditions, limit);
    // The plan of a second key of the user is unknown.
    const quiet = quietPace(unlimitedKeys ? Math.floor(limit / 2) : Infinity, flood / rate).amount;
    return {
      withKey: flood + freshCost,
      quiet: 2 * quiet + freshCost,
      seconds: 2 * Math.max(flood / rate, 1) + (unlimitedKeys ? 1 : 40),
    };
  },

  async run(context) {
    const { settings: { connections, rate, duration }, keys } = context;
    const quiet = await keys.quiet();
    if (quiet === undefined) throw new Skipped('it needs a second key: NEIGHBOUR_KEY, or --neighbour-key KEY');
    const key = await keys.spare();
    const [flooding, own] = [await context.fresh(key), await context.fresh(quiet)];
    const amount = floodOf({ rate, duration }, flooding.rateLimits.remaining);
    const met = await meet(context, quiet, own, { key, amount, connections, rate }, amount / rate);
    const finding = compare(met);
    return {
      ...finding,
      seen: `${finding.seen}, during a flood of ${count(met.flood.responses.length + met.flood.lost, 'request')}`,
      // A server may count the requests of one key against the other.
      failures: [...finding.failures, ...contradictionsIn(context.responsesOf(quiet))],
    };
  },
};

export const strangers: Scenario = {
  name: 'strangers',
  text: 'how a flood without a key or with wrong ones affects clients with a key: latencies with and without',
  demanded:
    'no request without a valid key is served, and no request with a key is refused or lost; its p50 is not more than '
    + `${slowed.times} times and ${slowed.ms} ms above that without the flood, and not more than `
    + `${stalled.share * 100} % take ${stalled.ms} ms longer than p50`,
  cost: ({ limit, rate, duration, unlimitedKeys }) => ({
    withKey: attempts * (limit + freshCost),
    withoutKey: attempts * rate * duration,
    seconds: 2 * duration + (unlimitedKeys ? 2 : 40),
  }),

  async run(context) {
    const { connections, rate, duration, thresholds } = context.settings;
    for (let attempt = 1; ; attempt++) {
      const key = await context.keys.spare();
      const fresh = await context.fresh(key);
      const flood = { key: undefined, wrongLike: key, amount: rate * duration, connections, rate };
      const met = await meet(context, key, fresh, flood, duration);
      const { seen, failures, figures, ...rest } = compare(met);
      const { responses, lost } = met.flood;
      const wrong = statusesOf(responses.filter((response) => response.status !== 401 && !isRefused(response)));
      const statuses = [statusesOf(responses), ...(lost > 0 ? [`${lost} without a response`] : [])].join(', ');
      const rule = `of the requests without a valid key, ${wrong}, but only 401 and 429 are allowed`;
      const finding: Finding = {
        seen: `${seen}, during ${count(responses.length + lost, 'request')} without a valid key (${statuses})`,
        // A server may count requests with a wrong key against the right one.
        failures: [...failures, ...(wrong === undefined ? [] : [rule]), ...contradictionsIn(context.responsesOf(key))],
        figures: {
          ...figures,
          stalled_responses: stallsOf(met.beside),
          flood_refused_requests: responses.filter(isRefused).length,
          flood_lost_requests: lost,
        },
        ...rest,
      };
      const slowness = slownessOf(met);
      if (slowness === undefined || finding.failures.length > 0) return finding;
      if (attempt < attempts) continue;
      const { failure, lateMs } = slowness;
      if (lateMs <= busyMs) return { ...finding, failures: [`${failure}, ${attempts} times`] };
      // Everything except the latencies has been judged, and the latencies say nothing about the server.
      const busy = `the machine is busy: the bench itself was ${milliseconds(lateMs)} late`;
      const [threshold] = Object.keys(thresholds);
      if (threshold !== undefined) throw new Inconclusive(`--${threshold} is not judged, because ${busy}`);
      return { ...finding, seen: `${finding.seen}; its latencies are not judged, because ${busy}` };
    }
  },
};

/** How the quiet client was slowed or stalled, and how late the bench itself was; undefined if it was neither. */
export function slownessOf(
  { alone, beside, flood }: Met,
): { readonly failure: string; readonly lateMs: number } | undefined {
  const [without, withFlood, stalls] = [admittedLatency(alone), admittedLatency(beside), stallsOf(beside)];
  const lateMs = Math.max(alone.lateMs, beside.lateMs, flood.lateMs);
  if (withFlood.p50 > slowed.times * without.p50 && withFlood.p50 - without.p50 > slowed.ms) {
    const slow = `p50 ${milliseconds(without.p50)} without it, ${milliseconds(withFlood.p50)} with it`;
    return { failure: `the flood slowed the key (${slow})`, lateMs };
  }
  // If the server usually takes so long, requests of the quiet client wait for each other.
  if (without.p50 > stalled.ms) return undefined;
  if (stalls < Math.max(stalled.responses, stalled.share * withFlood.n)) return undefined;
  const long = `${stalls} of ${count(withFlood.n, 'response')} took ${stalled.ms} ms longer than p50`;
  const failure = `the server stalled (${long}; ${stallsOf(alone)} without the flood)`;
  return { failure, lateMs };
}

function admittedLatency({ responses }: Sent): Latency {
  return latencyOf(responses.filter(isAdmitted)) ?? { n: 0, p50: 0, p90: 0, p99: 0, p999: 0 };
}

/** The number of responses that took much longer than p50. */
function stallsOf({ responses }: Sent): number {
  const admitted = responses.filter(isAdmitted);
  const usualMs = latencyOf(admitted)?.p50 ?? 0;
  return latenciesOf(admitted).filter((ms) => ms > usualMs + stalled.ms).length;
}
