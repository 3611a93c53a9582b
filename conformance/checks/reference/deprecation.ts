/** Our own decisions, "Deprecation": what tells of the end of `GET /pets/{petId}`. The rules judge the headers. */
import { check, type Check } from '../../session/check.ts';
import { other } from '../../client/requests.ts';
import { codeOf, isRemoved } from '../../verdicts/rules-reference.ts';
import { inShort } from './common.ts';

export const deprecationChecks: readonly Check[] = [
  check('decided.deprecation.headers', { requests: 5 }, async (t) => {
    const { id } = await t.fixtures.animal();
    const cases = [
      ['GET', id],
      ['HEAD', id],
      ['GET', t.fixtures.unknownId()],
      ['HEAD', t.fixtures.unknownId()],
      ['GET', 'cat'],
    ] as const;
    await t.each(cases, async ([method, petId]) => {
      await t.send(other(t.key, method, `/pets/${petId}`));
    });
  }),
  check('decided.deprecation.elsewhere', {}, async (t) => t.fixtures.oneOfEach()),
  check('decided.deprecation.removal', { requests: 2 }, async (t) => {
    const { id } = await t.fixtures.animal();
    for (const petId of [id, t.fixtures.unknownId()]) {
      const response = await t.send(other(t.key, 'GET', `/pets/${petId}`));
      const gone = response.status === 410 && codeOf(response) === 'operation_removed';
      if (isRemoved(response)) t.require(gone, response, '410 operation_removed, since 5 December 2030 has come', inShort(response));
      else
        t.require(
          response.status === 200 || response.status === 404,
          response,
          'a response of the operation, since 5 December 2030 is to come',
          inShort(response),
        );
    }
  }),
];
