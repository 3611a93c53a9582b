/** Section 4.3: getPet, while the operation exists. Section 4, gaps: unknown paths and methods. */
import { getPet, getPetWithId, other } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { costOf } from '../model/plan.ts';
import { check, observe, type Check } from '../session/check.ts';
import { Skipped } from '../verdicts/outcome.ts';
import { jsonProblem } from '../verdicts/rules/bodies.ts';
import { headers } from '../verdicts/rules/limits.ts';
import { inJson } from '../verdicts/rules/rule.ts';

/** Requests whose responses the specification does not define, and the gap that each shows. */
const otherRequests = [
  ['methods.head', 'HEAD', '/pets'],
  ['methods.options', 'OPTIONS', '/pets'],
  ['methods.unknown', 'PROPFIND', '/pets'],
  ['paths.unknown', 'GET', '/no-such-path'],
  ['paths.slash', 'GET', '/pets/'],
] as const;

export const getChecks: readonly Check[] = [
  ...(['get.answers', 'get.not-found'] as const).map((id) =>
    check(id, { planned: costOf(id) }, async (t) => {
      await t.fixtures.needGet();
      await t.fixtures.animal();
      await t.sendCases(id);
    }),
  ),
  check('get.removal', { requests: 1 }, async (t) => {
    await t.fixtures.needGet();
    const response = await t.send(getPet(t.key, await t.fixtures.anyId()));
    if (response.all('sunset').length === 0) throw new Skipped('no response has a Sunset header');
  }),

  observe(['get.deprecation'], { requests: 1 }, async (t) => {
    const operation = (await t.fixtures.getIsRemoved()) ? 'other' : 'getPet';
    const { id } = await t.fixtures.animal();
    const response = await t.send({ ...getPetWithId(t.key, String(id)), operation });
    t.observe('get.deprecation', presentHeaders(response, ['Deprecation', 'Sunset']), response);
  }),
  // Sends no method that might change an animal, such as DELETE.
  observe(otherRequests.map(([gap]) => gap), { requests: otherRequests.length }, async (t) => {
    for (const [gap, method, path] of otherRequests) {
      const response = await t.send(other(t.key, method, path));
      t.observe(gap, [`${response.status}`, ...lacks(response)].join(', '), response);
    }
  }),
];

/** What a response lacks of what sections 1 and 8 require of every response. */
function lacks(response: Response): readonly string[] {
  const missing = headers.filter((name) => response.all(name).length === 0);
  const invalid = headers.filter((name) => !missing.includes(name) && response.integer(name) === undefined);
  return [
    ...(missing.length === 0 ? [] : [`without ${missing.join(' and ')}`]),
    ...invalid.map((name) => `with ${name} ${inJson(response.all(name).join(', '))}`),
    ...(jsonProblem(response) === undefined ? [] : ['with a body that is not JSON']),
  ];
}

function presentHeaders(response: Response, names: readonly string[]): string {
  const present = names.filter((name) => response.all(name).length > 0);
  return present.length === 0 ? 'no' : `yes, by ${present.join(' and ')}`;
}
