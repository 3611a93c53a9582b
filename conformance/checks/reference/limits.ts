/** Our own decisions, "Limits": the windows, and what counts. */
import { check, type Check } from '../../session/check.ts';
import type { Request } from '../../client/request.ts';
import type { Response } from '../../client/response.ts';
import { Inconclusive } from '../../verdicts/outcome.ts';
import { createPet, createPetOf, getPet, listOrders, listPets, other } from '../../client/requests.ts';
import { codeOf } from '../../verdicts/rules-reference.ts';
import { exhausted } from '../exhaustion.ts';
import { json, maxBodyBytes, outside, postWith, publicPaths, raw, text, withHeaders } from './common.ts';

/** How often it is tried again, if the window turned or others asked meanwhile. */
const attempts = 3;

/** How far a Date may lie behind the server's clock, in seconds: it has whole seconds, and may be a second old. */
const dateSlackS = 2;

export const decidedLimitChecks: readonly Check[] = [
  check('decided.limits.aligned', { requests: 1 }, async (t) => {
    await t.send(listPets(t.key, { limit: 1 }));
  }),
  check('decided.limits.counts-once', { requests: 15, creates: 1 }, async (t) => {
    const { id } = await t.fixtures.animal();
    const requests: Request[] = [
      listPets(t.key, { limit: 1 }),
      listOrders(t.key),
      getPet(t.key, id),
      getPet(t.key, t.fixtures.unknownId()),
      other(t.key, 'GET', '/pets?limit=0'),
      other(t.key, 'GET', '/no-such-path'),
      other(t.key, 'PROPFIND', '/pets'),
      other(t.key, 'HEAD', '/pets'),
      other(t.key, 'OPTIONS', '/pets'),
      withHeaders(other(t.key, 'GET', '/pets'), ['Expect', 'the-impossible']),
      ...(t.mayWrite
        ? [
            raw(t, {
              credential: t.key,
              method: 'POST',
              target: '/pets',
              headers: [json, ['Content-Length', `${maxBodyBytes + 1}`]],
            }),
            createPet(t.key, t.fixtures.newPet()),
            createPetOf(t.key, '{}'),
            createPetOf(t.key, '{'),
            postWith(t, [text], '{}'),
          ]
        : []),
    ];
    // Each request, by what came before it: where others use the key too, it is another one that they disturb each time.
    let suspects: ReadonlyMap<number, Response> | undefined;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      await t.room(requests.length + 1);
      const found = new Map<number, Response>();
      let before = await t.send(listPets(t.key, { limit: 1 }));
      for (const [index, request] of requests.entries()) {
        const response = await t.send(request);
        const fell = fallOf(before, response);
        if (fell === 1) t.require(true, response, '');
        else if (fell !== undefined && fell < 1)
          t.require(
            false,
            response,
            'a Remaining of one less than before, since every request counts',
            `${remainingOf(before)} before, ${remainingOf(response)} after`,
          );
        else if (fell !== undefined) found.set(index, response);
        before = response;
      }
      suspects = suspects === undefined ? found : new Map([...found].filter(([index]) => suspects!.has(index)));
      if (suspects.size === 0) return;
    }
    const [response] = suspects!.values();
    if (suspects!.size === requests.length)
      throw new Inconclusive('others use the key: Remaining falls by more than one with every request');
    t.require(
      false,
      response!,
      'a Remaining of one less than before, since a request counts once',
      `more than one less, each of ${attempts} times`,
    );
  }),
  check('decided.limits.public', { requests: 4 + publicPaths.length }, async (t) => {
    // What others ask for meanwhile counts as well: only what is so each time, where they were seen to be quiet, is held against it.
    const list = () => t.send(listPets(t.key, { limit: 1 }));
    for (let attempt = 1; ; attempt++) {
      await t.room(3);
      const first = await list();
      const before = await list();
      const open: Response[] = [];
      for (const path of [...publicPaths, publicPaths[0]]) open.push(await t.send(outside(t.key, 'GET', path)));
      const after = await list();
      const [ofOthers, ofKey, ofAddress] = [fallOf(first, before), fallOf(before, after), fallOf(open[0]!, open.at(-1)!)];
      if (ofKey === 1 && ofAddress === 0) {
        t.require(true, after, '');
        return;
      }
      if (attempt < attempts && (ofKey !== 0 || ofOthers !== 1)) continue;
      if (ofOthers !== 1 || ofKey === undefined || ofAddress === undefined)
        throw new Inconclusive('others use the key or the address, or the windows turned');
      t.require(
        ofKey === 1,
        after,
        `a Remaining of one less than before ${open.length} requests outside the base path`,
        `${ofKey} less`,
      );
      t.require(
        false,
        open.at(-1)!,
        `the Remaining of the address as it was ${open.length - 1} such requests ago`,
        `${ofAddress} less`,
      );
    }
  }),
  check('decided.limits.no-key', { requests: 2 }, async (t) => {
    for (const path of ['/healthz', '/no-such-path']) await t.send(outside(t.key, 'GET', path));
  }),
  check('decided.limits.refusal', { exhausts: true }, async (t) => {
    const { refused, beyond } = await exhausted(t);
    const all = [...new Set([...refused, ...beyond])].filter(({ status }) => status === 429);
    if (all.length === 0) throw new Inconclusive('no request was refused');
    await t.each(all, async (response) => {
      t.require(codeOf(response) === 'rate_limited', response, 'rate_limited', codeOf(response) ?? 'no code');
      t.require(remainingOf(response) === 0, response, 'X-RateLimit-Remaining: 0', `${remainingOf(response)}`);
      const [reset, retryAfter, date] = [response.integer('x-ratelimit-reset'), response.integer('retry-after'), response.date];
      if (reset === undefined || date === undefined) return;
      const left = reset - date / 1000;
      const [least, most] = [Math.max(1, left - dateSlackS), Math.max(1, left)];
      t.require(
        retryAfter !== undefined && retryAfter >= least && retryAfter <= most,
        response,
        `a Retry-After of ${least} to ${most} s: Reset is ${left} s after Date`,
        response.all('retry-after').join(' and ') || 'none',
      );
    });
  }),
];

function remainingOf(response: Response): number | undefined {
  return response.integer('x-ratelimit-remaining');
}

/** How much Remaining fell from one response to the next; undefined where they do not speak of one window. */
function fallOf(before: Response, after: Response): number | undefined {
  const same = ['x-ratelimit-limit', 'x-ratelimit-reset'].every(
    (name) => before.integer(name) !== undefined && before.integer(name) === after.integer(name),
  );
  const [was, is] = [remainingOf(before), remainingOf(after)];
  return !same || was === undefined || is === undefined ? undefined : was - is;
}
