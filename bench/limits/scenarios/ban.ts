/**
 * Continues after refusals, at a steady rate, until the key is banned or the announced number of refusals is reached:
 * at which refusal the ban begins, how long it lasts, and whether it ends. The specification says "may", so a server
 * that never bans meets the demand.
 *
 * A refusal shows a ban if its wait ends well after that of the first refusal, or if its status is not 429. After the
 * first refusal the scenario pauses, because a server may ignore requests that were in flight then.
 */
import { Inconclusive, Skipped } from '../../../conformance/verdicts/outcome.ts';
import { count, duration } from '../../../conformance/report/words.ts';
import type { Sent } from '../client.ts';
import { freshCost, type ScenarioContext } from '../context.ts';
import type { Key } from '../keys.ts';
import { isAdmitted, isRefused, type Response } from '../responses.ts';
import type { Finding, Scenario } from '../scenario.ts';

/** A wait that ends later than this after that of the first refusal is that of a ban. */
const banMs = 5_000;
/** The pause after the first refusal. */
const graceMs = 2_500;
/** The time in which all other refusals are caused. They must fit into one window. */
const spanS = 40;
/** The longest ban that a run waits for. */
const maxBanMs = 65 * 60_000;
const tickMs = 50;

/** The number of requests beyond what remains of which one must be refused: some may return if windows move. */
function maxBeyond(limit: number): number {
  return Math.max(10, Math.ceil(limit / 5));
}

/** The most refusals that are caused. */
function maxRefusals(limit: number): number {
  return Math.max(2 * limit, 120);
}

export const ban: Scenario = {
  name: 'ban',
  text: 'continues after the refusals until the key is banned, and waits for its end (only with --until-ban)',
  demanded: 'the server may ban the key; if it does, the ban ends when its Retry-After said',
  cost: ({ limit, untilBan }) =>
    untilBan
      ? { withKey: limit + 2 * freshCost + maxBeyond(limit) + maxRefusals(limit) + 1, seconds: spanS + 5 * 60 + 40 }
      : { withKey: 0, seconds: 0 },

  async run(context) {
    if (!context.settings.untilBan) throw new Skipped('only with --until-ban');
    const key = await context.keys.spare();
    const first = await drainedEarly(context, key);
    const most = maxRefusals(first.reading?.limit ?? 0);
    const endsAt = context.retryAt(first);
    if (endsAt === undefined) throw new Inconclusive('a 429 has no Retry-After, so a ban would look like any refusal');
    await context.sleep(graceMs, 'because the server may ignore requests in flight at the first refusal');

    const isBan = (response: Response): boolean =>
      isRefused(response) ? (context.retryAt(response) ?? 0) > endsAt + banMs : !isAdmitted(response);
    context.doing(`at most ${most} refusals, until the key is banned`);
    const rate = Math.ceil(most / spanS);
    const connections = Math.min(context.settings.connections, rate);
    const until = (response: Response) => isBan(response) || isAdmitted(response);
    const sent = await context.send({ key, amount: most, connections, rate, until });
    const at = sent.responses.findIndex(isBan);
    return at < 0 ? withoutBan(context, key, endsAt, sent) : withBan(context, key, sent.responses[at]!, at + 1);
  },
};

/** The finding if no refusal showed a ban. There may be one nevertheless, which shows after the window. */
async function withoutBan(context: ScenarioContext, key: Key, endsAt: number, sent: Sent): Promise<Finding> {
  const { responses, lost } = sent;
  const refused = responses.filter(isRefused).length;
  const unanswered = lost > 0 ? `, ${count(lost, 'request')} got no response` : '';
  const figures = { refused_requests: refused, banned: 'no' };
  const refusals = count(refused, 'refusal');
  const noBan = { seen: `no ban after ${refusals}${unanswered}`, failures: [], figures };
  if (responses.some(isAdmitted)) return noBan;
  const free = Math.max(endsAt, ...responses.map((response) => context.retryAt(response) ?? 0));
  await context.sleep(free + tickMs - context.clock.now(), 'until the end of the window');
  const after = await context.probe(key);
  if (isAdmitted(after)) return noBan;
  return {
    seen: `${refusals} until the end of the window; after it: ${after.status}${unanswered}`,
    failures: [`the key was banned, but no Retry-After showed it: ${after.status} after the required wait`],
    figures: { ...figures, banned: 'yes', ban_status: after.status },
  };
}

/** The finding if a refusal showed a ban: how long it lasts, and whether it ends. */
async function withBan(context: ScenarioContext, key: Key, response: Response, nth: number): Promise<Finding> {
  const { status, receivedAt } = response;
  const until = context.retryAt(response);
  const figures = { refused_requests: nth, banned: 'yes', ban_status: status };
  const seen = `banned at refusal ${nth} later than ${graceMs / 1_000} s after the first`;
  if (until === undefined) return { seen, failures: [`the ban (${status}) does not say how long it lasts`], figures };
  const length = duration((until - receivedAt) / 1_000);
  if (until - receivedAt > maxBanMs) throw new Inconclusive(`${seen}, for ${length}: too long to wait for`);
  await context.sleep(until + tickMs - context.clock.now(), 'until the end of the ban');
  const after = await context.probe(key);
  const late = `the ban did not end: ${after.status} after the ${length} of its Retry-After`;
  return {
    seen: `${seen}, for ${length}; after that: ${after.status}`,
    failures: isAdmitted(after) ? [] : [late],
    figures: { ...figures, length_s: (until - receivedAt) / 1_000 },
  };
}

/** The first refusal, in a window that lasts long enough for all others. */
async function drainedEarly(context: ScenarioContext, key: Key): Promise<Response> {
  let start = await context.fresh(key);
  if (context.leftMs(start) < spanS * 1_000 + graceMs + 5_000) {
    await context.untilServer(start.reading.reset * 1_000, 'until a window that is long enough for a ban');
    start = await context.fresh(key);
  }
  const { reading } = start;
  const amount = reading.remaining + maxBeyond(reading.limit);
  context.doing(`at most ${amount} requests, until one is refused`);
  const { connections } = context.settings;
  const { responses } = await context.send({ key, amount, connections, until: isRefused });
  const refused = responses.find(isRefused);
  if (refused === undefined) throw new Inconclusive('no request was refused');
  return refused;
}
