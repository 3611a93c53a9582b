/** Section 4.3: getPet, while the operation exists. Section 4, gaps: unknown paths and methods. */
import * as fc from 'fast-check';
import { getPet, getPetWithId, other } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { costOf } from '../model/plan.ts';
import { check, observe, type Check } from '../session/check.ts';
import { Skipped } from '../verdicts/outcome.ts';
import { jsonProblem } from '../verdicts/rules/bodies.ts';
import { headers } from '../verdicts/rules/limits.ts';
import { observeCases } from './cases.ts';

/** The maximum number of animals of the list that get.answers gets. */
const maxGets = 12;

export const getChecks: readonly Check[] = [
  check('get.answers', { requests: maxGets + 1, planned: costOf('get.answers') }, async (t) => {
    await t.fixtures.needGet();
    await t.fixtures.animal();
    await t.sendCases('get.answers');
    const ids = t.history.ids();
    const firstAndLast = ids.filter((_, i) => i < maxGets / 2 || i >= ids.length - maxGets / 2);
    await t.each(firstAndLast, async (id) => void (await t.getCreated(id)));
  }),
  check('get.not-found', { requests: 7 + 6, perCase: { requests: 1, share: 0.25 } }, async (t) => {
    await t.fixtures.needGet();
    const known = new Set(t.history.ids());
    const [first] = known;
    const unknown = t.fixtures.unknownId();
    if (first !== undefined)
      await t.each(otherNumbers(first, known), async (id) => {
        // The specification does not say how to respond to such a number, but it is the id of no animal.
        const { petId: _, ...request } = { ...getPet(t.key, id), open: true as const };
        const response = await t.send(request);
        const isNone = response.status !== 200 || response.pets[0]?.id === id;
        t.require(isNone, response, 'no animal, because no list and no create has shown this id');
      });
    const similar = first === undefined ? [] : [first * 10n, first + 1_000_000n, first + 2n ** 32n];
    const examples = [unknown, unknown + 1n, 2n ** 53n - 1n, 0n, ...similar].filter(
      (id) => !known.has(id) && id >= 0n && id < 2n ** 53n,
    );
    await t.forAll(
      fc.bigInt({ min: unknown, max: 2n ** 53n - 1n }),
      (id) => `petId ${id}`,
      async (id) => {
        const response = await t.send(getPet(t.key, id));
        // Another client may have created it. Then get.answers judges it.
        if (response.status === 200 && response.pets[0]?.id === id) return;
        t.require(response.status === 404, response, '404, because no list and no create has shown this id');
      },
      examples,
    );
  }),
  check('get.removal', { requests: 1 }, async (t) => {
    await t.fixtures.needGet();
    const response = await t.send(getPet(t.key, await t.fixtures.anyId()));
    if (response.all('sunset').length === 0) throw new Skipped('no response has a Sunset header');
  }),

  observeCases(['get.not-integer', 'get.large-id', 'get.negative-id'], ({ status }) => `${status}`),
  observe(['get.deprecation'], { requests: 1 }, async (t) => {
    const operation = (await t.fixtures.getIsRemoved()) ? 'other' : 'getPet';
    const { id } = await t.fixtures.animal();
    const response = await t.send({ ...getPetWithId(t.key, String(id)), operation });
    t.observe('get.deprecation', presentHeaders(response, ['Deprecation', 'Sunset']), response);
  }),
  observe(['methods.head', 'methods.unknown', 'paths.unknown'], { requests: 3 }, async (t) => {
    const cases = [
      ['methods.head', 'HEAD', '/pets'],
      ['methods.unknown', 'PROPFIND', '/pets'],
      ['paths.unknown', 'GET', '/no-such-path'],
    ] as const;
    for (const [gap, method, path] of cases) {
      const response = await t.send(other(t.key, method, path));
      t.observe(gap, [`${response.status}`, ...lacks(response)].join(', '), response);
    }
  }),
];

/** Numbers from which a server that counts in 64 bits or in doubles, or ignores the sign, may make a known id. */
function otherNumbers(id: bigint, known: ReadonlySet<bigint>): readonly bigint[] {
  const numbers = [id + 2n ** 64n, id - 2n ** 64n, id + 2n ** 63n, id + 2n ** 65n, -id, id + 1n];
  return numbers.filter((number) => !known.has(number));
}

/** What a response lacks of what sections 1 and 8 require of every response. */
function lacks(response: Response): readonly string[] {
  const missing = headers.filter((name) => response.all(name).length === 0);
  return [
    ...(missing.length === 0 ? [] : [`without ${missing.join(' and ')}`]),
    ...(jsonProblem(response) === undefined ? [] : ['with a body that is not JSON']),
  ];
}

function presentHeaders(response: Response, names: readonly string[]): string {
  const present = names.filter((name) => response.all(name).length > 0);
  return present.length === 0 ? 'no' : `yes, by ${present.join(' and ')}`;
}
