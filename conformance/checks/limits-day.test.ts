/** The day of a key is used up only if little of it remains, and a key that is then not refused fails. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mutants } from '../mutants/mutants.ts';
import type { Hooks } from '../mutants/server/hooks.ts';
import { startSmallServer } from '../mutants/server/small-server.ts';
import { variants } from '../mutants/variants.ts';
import { fakeClock } from '../testing/responses.ts';
import { apiKey } from '../testing/servers.ts';
import { failuresText, run, session } from '../testing/sessions.ts';

const hooksOf = (id: string): Partial<Hooks> => [...mutants, ...variants].find((known) => known.id === id)!.hooks;
const hasShortRetryAfter: Partial<Hooks> = { ...hooksOf('last of the day'), retryAfter: () => '1' };

for (const [name, server, wanted, reason] of [
  ['40 requests remain', 'last of the day', 'passed', /^$/],
  ['40 requests remain, and the key is never refused', 'day-not-enforced', 'failed', /^$/],
  ['40 requests remain, and Retry-After is not the end of the day', hasShortRetryAfter, 'failed', /^$/],
  ['the headers show a day of which more remains', 'day', 'skipped', /^99\d requests of the day remain; .* at most 300/],
  ['Reset is in milliseconds', 'reset-ms', 'inconclusive', /^Reset is more than 25 hours ahead/],
  ['the headers show the minute', 'lax', 'skipped', /^the headers do not show the day/],
] as const) {
  test(name, async (t) => {
    const clock = fakeClock();
    const hooks = typeof server === 'string' ? hooksOf(server) : server;
    const { baseUrl, close } = await startSmallServer({ clock, keys: [{ secret: apiKey, plan: 'free' }], hooks });
    t.after(close);
    const tested = session({ baseUrl, apiKey }, { exhaust: true, only: ['limits.day'] }, clock);
    const [result] = await run(tested);
    assert.equal(result!.verdict, wanted, failuresText([result!]));
    assert.match(result!.reason ?? '', reason);
    if (wanted === 'skipped' || wanted === 'inconclusive') assert.ok(tested.client.sent.withKey <= 5);
    assert.equal(result!.inapplicable, wanted === 'skipped' ? true : undefined);
  });
}
