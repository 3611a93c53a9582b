/**
 * Sends more requests than remain in a fresh window: how many are admitted, and what a refusal costs.
 *
 * In `exact` they are sent at once over many connections: as many as remained must be admitted, and `Remaining` must
 * decrease with them. A server may read `Remaining` when it counts the request, or when it responds, after it has also
 * counted concurrent requests. So the `Remaining` of a response must count all requests that had been answered when its
 * request was sent, and may count only those that had been sent when the response was received. One request beyond the
 * limit is enough: it is admitted if the server has failed to count any other. In `refusal` the other operations are
 * requested when nothing remains. If keys are created as needed, `refusal` also compares the latencies of 429 and 200,
 * in several rounds, each with a new key and as few connections as necessary, so that no request waits for another.
 *
 * If windows move (sliding windows and token buckets), the values of `Remaining` are reported, not judged. A token
 * bucket returns requests while others are in flight: it may admit one more than the number that it returns in that
 * time. A sliding window returns none so early if none was used before.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { count } from '../../../conformance/report/words.ts';
import type { Load } from '../client.ts';
import { freshCost, maxBeyond, requireReading, type ScenarioContext } from '../context.ts';
import type { Key } from '../keys.ts';
import { isAdmitted, isRefused, latencyOf, milliseconds, minRatioLatencies, ratioOf, wrongIn } from '../responses.ts';
import type { Read, Response } from '../responses.ts';
import type { Conditions, Finding, Scenario } from '../scenario.ts';
import { operations, type LoadOperation, type Settings } from '../settings.ts';
import { comingBack, unsteady, windowTurned } from '../windows.ts';

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

/** The result of `overrun`. */
type Overrun = Awaited<ReturnType<typeof overrun>>;

/**
 * Sends `overdraft` requests more than remain, and then one of each of `others`, or more if windows move. `before` has
 * the earlier responses of the same window.
 */
async function overrun(
  context: ScenarioContext, key: Key, before: readonly Read[], overdraft: number, connections: number,
  others: readonly LoadOperation[] = [],
) {
  const start = before.at(-1)!;
  const { limit, remaining } = start.reading;
  context.doing(`${remaining + overdraft} requests over ${count(connections, 'connection')}`);
  const responses: Response[] = [];
  let lost = 0;
  const send = async (load: Omit<Load, 'key'>): Promise<readonly Response[]> => {
    const sent = await context.send({ key, ...load });
    responses.push(...sent.responses);
    lost += sent.lost;
    return sent.responses;
  };
  const windowsNow = () => context.windowKindFrom(before[0]!, [...before.slice(1), ...responses]);
  await send({ amount: remaining + overdraft, connections });
  const most = remaining + maxBeyond(limit);
  // If windows move, the first request beyond what remained need not be refused.
  const mayReturn = windowsNow() === 'move' && !responses.some(isRefused);
  const beyond = others.length === 0 && mayReturn ? [context.settings.operation] : others;
  for (const operation of lost > 0 ? [] : beyond) {
    let isOver = false;
    while (!isOver && lost === 0) {
      // If windows move, requests may have returned meanwhile, which are used up first.
      const back = windowsNow() === 'move' ? context.lastOf(key)?.reading.remaining ?? 0 : 0;
      await send({ amount: Math.min(back, most - responses.length), connections });
      const [response] = await send({ operation, amount: 1, connections: 1, mayAllBeLost: true });
      isOver = response === undefined || !isAdmitted(response) || windowsNow() !== 'move' || responses.length >= most;
    }
  }
  const windows = windowsNow();
  // The whole limit was available, and none of the requests used so far has returned.
  const returnsNone = before.length > 1 && remaining === limit - before.length;
  return {
    ...{ responses, lost, windows },
    admitted: responses.filter(isAdmitted).length,
    refused: responses.filter(isRefused).length,
    /** How many requests more than remained may be admitted, because windows move. */
    tolerance: windows === 'move' && !returnsNone ? comingBack(limit, [start, ...responses]) : 0,
    /** Whether the window ended while the requests were in flight. */
    turned: windows === 'fixed' && windowTurned([start, ...responses]),
  };
}

export const exact: Scenario = {
  name: 'exact',
  text: 'from a fresh window, as many requests as remain and one more at once: how many are admitted',
  demanded:
    'as many requests admitted as remained, and the other one refused (429); '
    + 'Remaining counts every request that was answered, and none before it was sent',
  cost: ({ limit, unlimitedKeys }) =>
    ({ withKey: attempts * (limit + maxBeyond(limit) + freshCost), seconds: unlimitedKeys ? 3 : 40 }),

  async run(context) {
    const key = context.keys.main;
    const known = context.lastOf(key);
    const unpromised = known && context.unpromised(known);
    if (unpromised !== undefined) return { seen: 'nothing more was sent', failures: [unpromised], figures: {} };
    let why = '';
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const fresh = await context.fresh(key);
      const start = await undisturbed(context, fresh);
      if (start === undefined) {
        why = 'somebody else used the key meanwhile';
        continue;
      }
      const { connections } = context.settings;
      const result = await overrun(context, key, [fresh, start], exactOverdraft, connections);
      const { responses, lost, windows, turned } = result;
      const wrong = [...wrongIn(responses), ...(windows === 'unsteady' ? [unsteady] : [])];
      // Faults of individual responses are certain, even if requests were lost or the window ended.
      if (wrong.length > 0 && (lost > 0 || turned)) {
        return { seen: 'the number of admitted requests is unknown', failures: wrong, figures: {} };
      }
      if (lost > 0) throw new Inconclusive(`${count(lost, 'request')} got no response`);
      if (!turned) return judgeExact(start, result, wrong);
      why = 'the window turned while the requests were in flight';
    }
    throw new Inconclusive(`${why}, ${attempts} times`);
  },
};

/** Compares what was admitted with what remained. */
function judgeExact(start: Read, result: Overrun, wrong: readonly string[]): Finding {
  const { remaining } = start.reading;
  const { responses, admitted, refused, tolerance, windows } = result;
  const moves = windows === 'move';
  const values = responses.filter(isAdmitted).flatMap(({ reading }) => reading?.remaining ?? []);
  const expected = Array.from({ length: remaining }, (_, i) => remaining - 1 - i);
  const missing = expected.filter((value) => !values.includes(value));
  const repeated = [...new Set(values.filter((value, i) => values.indexOf(value) !== i))];
  const rules: readonly (readonly [violated: boolean, text: string])[] = [
    [admitted > remaining + tolerance, `${admitted} requests were admitted, but only ${remaining} remained`],
    [admitted < remaining, `only ${count(admitted, 'request')} of the ${remaining} that remained were admitted`],
  ];
  const miscounted = moves ? undefined : wrongRemaining(start, responses);
  const valuesSeen = moves
    ? `the window moves, so ${tolerance} more may be admitted, and the values of Remaining are not judged`
    : missing.length + repeated.length === 0
      ? `Remaining took every value from ${remaining - 1} to 0 once`
      : `Remaining took ${remaining - missing.length} of ${remaining} values`;
  return {
    seen: `${admitted} of ${remaining} admitted, ${count(refused, 'request')} refused; ${valuesSeen}`,
    failures: [
      ...wrong,
      ...rules.filter(([violated]) => violated).map(([, text]) => text),
      ...(miscounted === undefined ? [] : [miscounted]),
    ],
    figures: {
      remaining_requests: remaining,
      admitted_requests: admitted,
      refused_requests: refused,
      missing_values: missing.length,
      repeated_values: repeated.length,
      windows: moves ? 'move' : 'fixed',
    },
  };
}

/** The first admitted response with a Remaining that the earlier and concurrent requests exclude, or undefined. */
export function wrongRemaining(start: Read, responses: readonly Response[]): string | undefined {
  const { remaining } = start.reading;
  const events = responses.flatMap((response) => [
    { response, turn: response.message.sentTurn, isEnd: false },
    { response, turn: response.message.receivedTurn, isEnd: true },
  ]);
  const answered = new Map<Response, number>();
  let [sent, counted] = [0, 0];
  for (const { response, isEnd } of events.sort((a, b) => a.turn - b.turn)) {
    if (!isEnd) {
      sent++;
      answered.set(response, counted);
    } else if (isAdmitted(response)) {
      counted++;
      const least = Math.max(0, remaining - sent);
      const most = Math.max(0, remaining - answered.get(response)! - 1);
      const { reading } = response;
      if (reading === undefined || (reading.remaining >= least && reading.remaining <= most)) continue;
      const range = least === most ? `${least}` : `${least} to ${most}`;
      return `Remaining was ${reading.remaining} after ${count(counted, 'response')}, but ${range} remained`;
    }
  }
  return undefined;
}

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
    const [failures, unjudged] = [new Set<string>(), new Set<string>()];
    for (const others of rounds) {
      const key = await keys.spare();
      const start = await context.fresh(key);
      const enough = Math.ceil((start.reading.remaining * start.latencyMs) / roundMs);
      const connections = Math.min(settings.connections, enough);
      const result = await overrun(context, key, [start], overdraft, connections, others);
      all.push(...result.responses);
      judgeRefusals(start.reading.remaining, overdraft + others.length, result, failures, unjudged);
    }
    for (const wrong of wrongIn(all)) failures.add(wrong);
    if (failures.size === 0 && unjudged.size > 0) throw new Inconclusive([...unjudged][0]);
    const [ok, refused] = [latencyOf(all.filter(isAdmitted)), latencyOf(all.filter(isRefused))];
    const [p50, p99] = [ratioOf(refused, ok, 'p50'), ratioOf(refused, ok, 'p99')];
    const names = [...new Set(rounds.flat())].join(', ');
    return {
      seen: `${count(all.filter(isRefused).length, 'request')} refused, including those of ${names}`
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

/** Records whether all requests beyond the limit were refused, or why that cannot be judged. */
function judgeRefusals(
  remaining: number, beyond: number, result: Overrun, failures: Set<string>, unjudged: Set<string>,
): void {
  const { responses, lost, admitted, refused, tolerance, windows, turned } = result;
  const without = `${count(lost, 'request')} got no response`;
  if (turned) unjudged.add('the window turned while the requests were in flight');
  else if (admitted > remaining + tolerance) {
    failures.add(`${admitted} requests were admitted, but only ${remaining} remained${exempted(responses, remaining)}`);
  } else if (lost > 0) {
    // If as many requests were admitted as may be, the lost ones were beyond the limit.
    if (admitted === remaining + tolerance) failures.add(`${without} instead of a 429`);
    else unjudged.add(without);
  } else if (refused === 0 && windows === 'move') {
    unjudged.add(`no 429, although ${beyond} more requests were sent than remained: the window moves`);
  }
}

/** The operations that were admitted when nothing remained, as the end of a message; empty if they are unknown. */
function exempted(responses: readonly Response[], remaining: number): string {
  const beyond = responses.slice(remaining).filter(isAdmitted).map(({ message }) => message.request.operation);
  return beyond.length === 0 ? '' : `: ${[...new Set(beyond)].join(', ')}`;
}
