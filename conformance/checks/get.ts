/** Section 4.3: one animal, while the operation exists. */
import * as fc from 'fast-check';
import { check, observe, type Check } from '../session/check.ts';
import type { Request } from '../client/request.ts';
import type { Response } from '../client/response.ts';
import { getPet, other } from '../client/requests.ts';

/** How many animals of the list are got one by one. */
const maxGets = 12;

export const getChecks: readonly Check[] = [
  check('get.answers', { requests: maxGets + 1 }, async (t) => {
    await t.fixtures.needGet();
    await t.fixtures.animal();
    const ids = t.history.ids().filter((id) => t.history.listed(id) !== undefined || t.history.created(id) !== undefined);
    const some = ids.filter((_, i) => i < maxGets / 2 || i >= ids.length - maxGets / 2);
    await t.each(some, async (id) => {
      const response = await t.fixtures.getCreated(id);
      t.require(
        response.status === 200,
        response,
        `200, since ${t.history.listed(id) === undefined ? 'a create' : 'a list'} has shown the animal`,
      );
    });
  }),
  check('get.not-found', { requests: 7, perCase: { requests: 1, share: 0.25 } }, async (t) => {
    await t.fixtures.needGet();
    const [first] = t.history.ids();
    const unknown = t.fixtures.unknownId();
    const seen = new Set(t.history.ids());
    const near = first === undefined ? [] : [first * 10n, first + 1_000_000n, first + 2n ** 32n];
    const cases = [unknown, unknown + 1n, 2n ** 53n - 1n, 0n, ...near].filter(
      (id) => !seen.has(id) && id >= 0n && id < 2n ** 53n,
    );
    await t.forAll(
      fc.bigInt({ min: unknown, max: 2n ** 53n - 1n }),
      (id) => `petId ${id}`,
      async (id) => {
        const response = await t.send(getPet(t.key, id));
        // Others may have added it meanwhile: then it is the animal of that id, which get.answers judges.
        if (response.status === 200 && response.pets[0]?.id === id) return;
        t.require(response.status === 404, response, '404, since no list and no create has ever shown that id');
      },
      cases,
    );
  }),

  observe(['get.not-integer', 'get.large-id', 'get.negative-id', 'get.deprecation'], { requests: 5 }, async (t) => {
    const operation = (await t.fixtures.getIsRemoved()) ? 'other' : 'getPet';
    const at = (text: string): Request => ({
      operation,
      method: 'GET',
      target: `/pets/${text}`,
      credential: t.key,
      headers: [],
      open: true,
    });
    const cases = [
      ['get.not-integer', 'cat'],
      ['get.large-id', '9007199254740993'],
      ['get.large-id', '9223372036854775807'],
      ['get.negative-id', '-1'],
    ] as const;
    for (const [gap, id] of cases) {
      const response = await t.send(at(id));
      t.observe(gap, `${response.status}`, response);
    }
    const response = await t.send(at(String((await t.fixtures.animal()).id)));
    t.observe('get.deprecation', headersAmong(response, ['Deprecation', 'Sunset']), response);
  }),
  observe(['methods.head', 'methods.unknown', 'paths.unknown'], { requests: 3 }, async (t) => {
    const cases = [
      ['methods.head', 'HEAD', '/pets'],
      ['methods.unknown', 'PROPFIND', '/pets'],
      ['paths.unknown', 'GET', '/no-such-path'],
    ] as const;
    for (const [gap, method, path] of cases) {
      const response = await t.send(other(t.key, method, path));
      t.observe(gap, `${response.status}`, response);
    }
  }),
];

/** @throws Skipped where the operation is gone, as it may be by then */
/** Which of the headers a response has, in words. */
function headersAmong(response: Response, names: readonly string[]): string {
  const present = names.filter((name) => response.all(name).length > 0);
  return present.length === 0 ? 'no' : `yes, by ${present.join(' and ')}`;
}
