/** Section 4: the statuses of the operations on animals. No value of a client may cause a server error. */
import { isServerError } from '../client/response.ts';
import { costOf } from '../model/plan.ts';
import { check, type Check } from '../session/check.ts';

export const statusChecks: readonly Check[] = [
  check('service.status', { planned: costOf('service.status') }, async (t) => {
    for (const { response } of await t.sendCases('service.status'))
      // After a server error the request is repeated, and the rule judges the second response.
      if (!isServerError(response)) t.require(true, response, 'no server error (5xx)');
  }),
];
