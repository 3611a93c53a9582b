/**
 * What a quiet client notices of a flood: its latencies alone and beside the flood, and that it is never refused.
 *
 * In `neighbour` the flood has another key. It is what that key is admitted, and not one request more: nothing is
 * refused, and no key banned. If keys are created as they are needed there are several rounds, each with new ones.
 *
 * In `strangers` the flood has no key. The quiet client counts as slowed only by a wide margin, and only if a second
 * attempt agrees: latencies on a busy machine vary by a factor of two, and the flood and the quiet client share the
 * bench's process. A client would notice the margin, and a server that does hard work for every request without a key
 * (hashes a password, say, or asks a database) easily exceeds it.
 */
import { Inconclusive, Skipped } from '../../../conformance/verdicts/outcome.ts';
import { count, grouped } from '../../../conformance/report/words.ts';
import type { Load, Sent } from '../client.ts';
import { freshCost, type ScenarioContext } from '../context.ts';
import type { Key } from '../keys.ts';
import { isAdmitted, isRefused, latencyOf, milliseconds, ratioOf, statusesOf, type Latency } from '../responses.ts';
import type { Conditions, Finding, Scenario } from '../scenario.ts';

/** Requests per second of a quiet client: at most, and usually. */
const [maxRate, usualRate] = [50, 20];
/** It uses few connections, since the first latency on each is left out. */
const quietConnections = 3;
/** With fewer latencies the scenario is inconclusive. */
const minLatencies = 12;
/** Rounds of `neighbour`, with keys that are created as they are needed. */
const maxRounds = 5;
/** Half of the responses of a slowed client take so many times as long, and so many milliseconds longer. */
const slowed = { times: 3, ms: 20 } as const;
/** A client counts as slowed if it was in so many attempts. */
const attempts = 2;

/** The requests and the rate of a quiet client that may send `room` requests, beside a flood of so many seconds. */
function quietPace(room: number, seconds: number): { readonly amount: number; readonly rate: number } {
  const usual = Math.max(30, Math.round(usualRate * seconds));
  const amount = Math.max(1, Math.min(room, usual, Math.ceil(maxRate * Math.max(seconds, 1))));
  return { amount, rate: Math.min(maxRate, Math.max(1, Math.ceil(amount / seconds))) };
}

/** What was sent by a quiet client, alone and beside a flood, and by the flood. */
type Met = Readonly<Record<'alone' | 'beside' | 'flood', Sent>>;

/** Sends a quiet client's requests alone, and then beside a flood of so many seconds. */
async function meet(context: ScenarioContext, key: Key, room: number, load: Load, seconds: number): Promise<Met> {
  const pace = { key, connections: quietConnections, ...quietPace(room, seconds) };
  context.doing('the quiet key alone');
  const alone = await context.send(pace);
  context.doing('the quiet key beside a flood');
  const [beside, flood] = await context.sendBoth({ ...pace, mayAllBeLost: true }, load);
  return { alone, beside, flood };
}

/** Both latencies, and which requests of the quiet client were refused, failed or lost. */
function compare({ alone, beside, flood }: Met): { readonly without: Latency; readonly withFlood: Latency } & Finding {
  const failures = Object.entries({ before: alone, beside }).flatMap(([where, { responses }]) => {
    const statuses = statusesOf(responses.filter((response) => !isAdmitted(response)));
    return statuses === undefined ? [] : [`of the quiet client's requests ${where} the flood, ${statuses}`];
  });
  const lost = `${beside.lost} of the quiet client's requests beside the flood got no response`;
  if (beside.lost > 0 && alone.lost === 0) failures.push(`${lost}, and without it none was lost`);
  else if (alone.lost > 0 && failures.length === 0) {
    throw new Inconclusive(`${lost}, and ${alone.lost} without it, so that neither is certainly caused by the flood`);
  }
  const none: Latency = { n: 0, p50: 0, p99: 0 };
  const latency = ({ responses }: Sent): Latency => latencyOf(responses.filter(isAdmitted)) ?? none;
  const [without, withFlood] = [latency(alone), latency(beside)];
  if (failures.length === 0 && Math.min(without.n, withFlood.n) < minLatencies) {
    throw new Inconclusive(
      [...alone.responses, ...beside.responses].every(({ opening }) => opening)
        ? 'the server closes every connection after one response, so every latency includes opening a connection'
        : `too few latencies were measured: ${without.n} without the flood, ${withFlood.n} with it`,
    );
  }
  const figures: Record<string, number> = {};
  const changes = (['p50', 'p99'] as const).map((figure) => {
    const ratio = ratioOf(withFlood[figure], without[figure]);
    Object.assign(figures, { [`${figure} without, ms`]: without[figure], [`${figure} with, ms`]: withFlood[figure] });
    if (ratio !== undefined) figures[`${figure} ratio`] = ratio;
    return `${figure} ${milliseconds(without[figure])} → ${milliseconds(withFlood[figure])} (×${ratio ?? '?'})`;
  });
  const [sent, admitted] = [beside.responses.length + beside.lost, beside.responses.filter(isAdmitted).length];
  Object.assign(figures, { 'latencies without': without.n, 'latencies with': withFlood.n });
  figures['requests of the flood'] = flood.responses.length + flood.lost;
  const seen = `${grouped(sent)} requests, ${admitted} admitted; ${changes.join(', ')}`;
  return { without, withFlood, failures, seen, figures };
}

type Flood = Pick<Conditions, 'rate' | 'duration'>;

/** How many requests of a flood a key is admitted in a round. */
function roundOf({ rate, duration }: Flood, room: number): number {
  return Math.max(1, Math.min(room, rate * duration));
}

function roundsOf({ rate, duration }: Flood, unlimitedKeys: boolean, limit: number): number {
  return unlimitedKeys ? Math.min(maxRounds, Math.max(1, Math.ceil((rate * duration) / limit))) : 1;
}

export const neighbour: Scenario = {
  name: 'neighbour',
  text: 'what a quiet key notices of another that floods: its latencies with and without (needs a second key)',
  demanded: 'no request of the quiet key is refused or lost; its latencies are reported, not judged',
  cost: (conditions) => {
    const { unlimitedKeys, hasQuiet, limit, rate } = conditions;
    if (!unlimitedKeys && !hasQuiet) return { withKey: 0, seconds: 0 };
    const rounds = roundsOf(conditions, unlimitedKeys, limit);
    const flood = roundOf(conditions, limit);
    // The plan of a key that was given is unknown.
    const quiet = quietPace(unlimitedKeys ? Math.floor(limit / 2) : Infinity, flood / rate).amount;
    return {
      withKey: rounds * (flood + freshCost),
      quiet: rounds * (2 * quiet + freshCost),
      seconds: rounds * (2 * Math.max(flood / rate, 1) + 1) + (unlimitedKeys ? 0 : 40),
    };
  },

  async run(context) {
    const { settings, keys } = context;
    const { connections, rate } = settings;
    const met: Met[] = [];
    for (let rounds = 1; met.length < rounds;) {
      const quiet = await keys.quiet();
      if (quiet === undefined) throw new Skipped('it needs a second key: NEIGHBOUR_KEY, or --neighbour-key KEY');
      const key = await keys.spare();
      const [flooding, own] = [await context.fresh(key), await context.fresh(quiet)];
      rounds = roundsOf(settings, keys.unlimited, flooding.reading.limit);
      const amount = roundOf(settings, flooding.reading.remaining);
      const room = Math.floor(own.reading.remaining / 2);
      met.push(await meet(context, quiet, room, { key, amount, connections, rate }, amount / rate));
    }
    const all = (part: keyof Met): Sent => ({
      responses: met.flatMap((round) => round[part].responses),
      lost: met.reduce((sum, round) => sum + round[part].lost, 0),
    });
    const { seen, failures, figures } = compare({ alone: all('alone'), beside: all('beside'), flood: all('flood') });
    const flood = `a flood of ${count(Number(figures['requests of the flood']), 'request')}`;
    const rounds = met.length;
    return { seen: `${seen}, beside ${flood} in ${count(rounds, 'round')}`, failures, figures: { ...figures, rounds } };
  },
};

export const strangers: Scenario = {
  name: 'strangers',
  text: 'what clients with a key notice of a flood without one: latencies with and without',
  demanded:
    'no request without a key is served, and none with one is refused or lost; its p50 is not more than '
    + `${slowed.times} times and ${slowed.ms} ms above that without the flood`,
  cost: ({ limit, rate, duration, unlimitedKeys }) => ({
    withKey: attempts * (limit + freshCost),
    withoutKey: attempts * rate * duration,
    seconds: 2 * duration + (unlimitedKeys ? 2 : 40),
  }),

  async run(context) {
    const { connections, rate, duration } = context.settings;
    for (let attempt = 1; ; attempt++) {
      const key = await context.keys.spare();
      const { reading } = await context.fresh(key);
      // Both halves fit into what remains; if the window turns meanwhile, even more does.
      const flood = { key: undefined, amount: rate * duration, connections, rate };
      const met = await meet(context, key, Math.floor(reading.remaining / 2), flood, duration);
      const { without, withFlood, seen, failures, figures } = compare(met);
      const { responses, lost } = met.flood;
      const wrong = statusesOf(responses.filter((response) => response.status !== 401 && !isRefused(response)));
      const statuses = [statusesOf(responses), ...(lost > 0 ? [`${lost} without a response`] : [])].join(', ');
      const rule = `of the requests without a key, ${wrong}, but only 401 and 429 are allowed`;
      const finding: Finding = {
        seen: `${seen}, beside ${count(responses.length + lost, 'request')} without a key (${statuses})`,
        failures: wrong === undefined ? failures : [...failures, rule],
        figures: { ...figures, 'refused of the flood': responses.filter(isRefused).length, 'lost of the flood': lost },
      };
      const isSlow = withFlood.p50 > slowed.times * without.p50 && withFlood.p50 - without.p50 > slowed.ms;
      if (!isSlow || finding.failures.length > 0) return finding;
      const slow = `p50 ${milliseconds(without.p50)} without it, ${milliseconds(withFlood.p50)} with it`;
      const failure = `the flood slowed the key, ${attempts} times: ${slow}`;
      if (attempt === attempts) return { ...finding, failures: [failure] };
    }
  },
};
