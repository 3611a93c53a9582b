/** Our own decisions, "Order of checks": what every response carries. The rules judge; here it is seen that there are all kinds. */
import { check, type Check } from '../../session/check.ts';
import { getPet, listOrders, listPets, other } from '../../client/requests.ts';
import type { RequirementId } from '../../requirements/requirements.ts';
import type { CheckContext } from '../../session/context.ts';
import { answered, outside, requireAllow, withHeaders } from './common.ts';

export const answerChecks: readonly Check[] = [
  ...(
    [
      'decided.answers.request-id',
      'decided.answers.no-store',
      'decided.answers.limit-headers',
      'decided.answers.error-body',
      'decided.answers.error-codes',
    ] as const
  ).map(onEveryKind),
  check('decided.answers.unique-id', { requests: 2 }, async (t) => {
    await everyKind(t);
    const own = 'conformance-1';
    for (let i = 0; i < 2; i++) {
      const response = await t.send(withHeaders(listPets(t.key, { limit: 1 }), ['X-Request-Id', own]));
      t.require(!response.all('x-request-id').includes(own), response, 'an id made by the server', own);
    }
  }),
  check('decided.answers.no-cors', { requests: 2 }, async (t) => {
    await everyKind(t);
    const origin = ['Origin', 'https://example.org'] as const;
    await t.send(withHeaders(listPets(t.key, { limit: 1 }), origin));
    await t.send(
      withHeaders(
        other(t.key, 'OPTIONS', '/pets'),
        origin,
        ['Access-Control-Request-Method', 'POST'],
        ['Access-Control-Request-Headers', 'authorization'],
      ),
    );
  }),
  check('decided.answers.head', { requests: 6 }, async (t) => {
    const { id } = await t.fixtures.animal();
    const requests = [listPets(t.key, { limit: 2 }), listOrders(t.key), getPet(t.key, id)];
    await t.each(requests, async (request) => {
      const got = await t.send(request);
      const head = await t.send(other(t.key, 'HEAD', request.target));
      const shown = (response: typeof got) =>
        `${response.status}, Content-Type ${response.all('content-type').join(' and ')}, Content-Length ${response.all('content-length').join(' and ')}`;
      t.require(shown(head) === shown(got), head, `what GET gives: ${shown(got)}`, shown(head));
    });
  }),
  check('decided.answers.options', { requests: 3 }, async (t) => {
    const { id } = await t.fixtures.animal();
    const paths = [
      ['/pets', ['GET', 'HEAD', 'POST', 'OPTIONS']],
      [`/pets/${id}`, ['GET', 'HEAD', 'OPTIONS']],
      ['/store/orders', ['GET', 'HEAD', 'OPTIONS']],
    ] as const;
    await t.each(paths, async ([path, methods]) => {
      requireAllow(t, await answered(t, other(t.key, 'OPTIONS', path), 204, 'OPTIONS works everywhere'), methods);
    });
  }),
];

/** A check of which the rules of every response are all there is. */
function onEveryKind(id: RequirementId): Check {
  // What is sent for all of them is counted with one.
  return check(id, { requests: id === 'decided.answers.request-id' ? 5 : 0 }, everyKind);
}

/** A response of each kind, those that are none of an operation included. Sent once in a run. */
async function everyKind(t: CheckContext): Promise<void> {
  await t.fixtures.oneOfEach();
  await t.fixtures.once('every kind of response', async () => {
    const requests = [
      other(t.key, 'GET', '/no-such-path'),
      other(t.key, 'PROPFIND', '/pets'),
      other(t.key, 'OPTIONS', '/pets'),
      outside(t.key, 'GET', '/healthz'),
      outside(t.key, 'GET', '/no-such-path'),
    ];
    for (const request of requests) await t.send(request);
  });
}
