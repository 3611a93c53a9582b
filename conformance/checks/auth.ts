/** Section 5: every kind of invalid credential, for every operation. */
import { nobody } from '../client/credentials.ts';
import { listOrders, listPets } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { costOf } from '../model/plan.ts';
import { check, type Check } from '../session/check.ts';

export const authChecks: readonly Check[] = [
  check('auth.missing', { requests: 2, keyless: 4, planned: costOf('auth.missing') }, async (t) => {
    for (const { response } of await t.sendCases('auth.missing'))
      t.observe('auth.challenge', response.all('www-authenticate').length > 0 ? 'yes' : 'no', response);
    // A server must not confuse requests that it handles at the same time.
    const together = await t.fixtures.operations(nobody);
    await t.room(2);
    await t.client.room('none', together.length);
    const valid = [listPets(t.key), listOrders(t.key)];
    const responses = await t.sendTogether([...valid, ...together]);
    const keyless = responses.slice(valid.length).filter(({ status }) => status !== 429 && status !== 503);
    await t.each(keyless, async (response: Response) =>
      t.require(response.status === 401, response, '401, because there is no Authorization header'),
    );
  }),
];
