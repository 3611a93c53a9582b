/**
 * Continues after refusals, at a steady rate, until the key is banned or the announced number of refusals is reached:
 * at which refusal the ban begins, how long it lasts, and whether it ends. The specification says "may", so a server
 * that never bans meets the demand.
 *
 * A refusal shows a ban if its wait ends well after that of the first refusal, or if its status is not 429. If requests
 * become available meanwhile, as from a bucket, its wait must be that much longer than the first one. After the first
 * refusal the scenario pauses, because a server may ignore requests that were in flight then.
 */
import { count, duration } from '../../../conformance/report/words.ts';
import { Inconclusive, Skipped } from '../../../conformance/verdicts/outcome.ts';
import { freshCost } from '../context.ts';
import { isAdmitted, isRefused, type Response } from '../responses.ts';
import type { Scenario } from '../scenario.ts';

/** A wait that ends later than this after that of the first refusal is that of a ban. */
const banMs = 5_000;
/** The pause after the first refusal. */
const graceMs = 2_500;
/** The time in which all other refusals are caused. They fit into what `fresh` requires of a window. */
const spanS = 10;
/** The longest ban that a run waits for. */
const maxBanMs = 65 * 60_000;
const tickMs = 50;

/** The number of requests beyond what remains of which one must be refused: some may return if windows move. */
const maxBeyond = (limit: number): number => Math.max(10, Math.ceil(limit / 5));
/** The most refusals that are caused. */
const maxRefusals = (limit: number): number => Math.max(2 * limit, 120);

export const ban: Scenario = {
  name: 'ban',
  text: 'continues after refusals until the key is banned, and waits for the end of the ban (only with --until-ban)',
  demanded: 'the server may ban the key; if it does, the ban ends when its Retry-After said',
  cost: ({ limit, untilBan }) =>
    untilBan
      ? { withKey: limit + freshCost + maxBeyond(limit) + maxRefusals(limit) + 1, seconds: spanS + 5 * 60 + 40 }
      : { withKey: 0, seconds: 0 },

  async run(context) {
    if (!context.settings.untilBan) throw new Skipped('only with --until-ban');
    const { settings: { connections }, clock } = context;
    const key = await context.keys.spare();
    const { limit, remaining } = (await context.fresh(key)).rateLimits;
    context.doing('until a request is refused');
    const drained = await context.send({ key, amount: remaining + maxBeyond(limit), connections, until: isRefused });
    const first = drained.responses.find(isRefused);
    if (first === undefined) throw new Inconclusive('no request was refused');
    const endsAt = context.retryAt(first);
    if (endsAt === undefined) throw new Inconclusive('a 429 has no Retry-After, so a ban would look like any refusal');
    await context.sleep(graceMs, 'because the server may ignore requests in flight at the first refusal');

    const most = maxRefusals(limit);
    context.doing(`at most ${most} refusals, until the key is banned`);
    let hasReturned = false as boolean;
    let banned = undefined as Response | undefined;
    const until = (response: Response): boolean => {
      const retryAt = context.retryAt(response) ?? 0;
      const isLonger = retryAt - response.receivedAt > endsAt - first.receivedAt + banMs;
      const isBan = isRefused(response) ? (hasReturned ? isLonger : retryAt > endsAt + banMs) : !isAdmitted(response);
      hasReturned ||= isAdmitted(response);
      if (isBan) banned = response;
      return isBan;
    };
    const { responses, lost } = await context.send({ key, amount: most, connections, rate: most / spanS, until });
    const refused = [...drained.responses, ...responses].filter((response) => !isAdmitted(response));
    const figures = { refused_requests: refused.filter(isRefused).length };
    const noBan = `no ban after ${count(figures.refused_requests, 'refusal')}`;
    const unanswered = lost > 0 ? `, ${count(lost, 'request')} got no response` : '';
    if (banned === undefined && hasReturned) {
      if (figures.refused_requests < most / 2) throw new Inconclusive(`${noBan}: requests became available again`);
      return { seen: noBan + unanswered, failures: [], figures };
    }

    // A ban that no refusal shows, shows after the window.
    const last = banned ?? responses.at(-1) ?? first;
    const waitUntil = context.retryAt(last);
    const at = banned === undefined ? noBan : `banned (${banned.status}) at refusal ${refused.indexOf(banned) + 1}`;
    const seen = at + unanswered;
    if (waitUntil === undefined) {
      // The specification does not show the response to a client that is banned.
      if (!isRefused(last)) throw new Inconclusive(`${seen}, and the response does not say for how long`);
      return { seen, failures: [`a ${last.status} does not say how long to wait`], figures };
    }
    const wait = duration((waitUntil - last.receivedAt) / 1_000);
    if (waitUntil - last.receivedAt > maxBanMs) throw new Inconclusive(`${seen}, for ${wait}: too long to wait for`);
    await context.sleep(waitUntil + tickMs - clock.now(), 'as long as Retry-After said');
    const after = await context.probe(key);
    return {
      seen: `${seen}; after the ${wait} of Retry-After: ${after.status}`,
      failures: isAdmitted(after) ? [] : [`${after.status} after the ${wait} of Retry-After: the ban did not end`],
      figures: { ...figures, ...(banned !== undefined && { length_s: (waitUntil - last.receivedAt) / 1_000 }) },
    };
  },
};
