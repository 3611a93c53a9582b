/** Section 9: versioning. */
import { getPet, listOrders, listPets } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { check, type Check } from '../session/check.ts';

export const versionChecks: readonly Check[] = [
  check('version.path', { requests: 3 }, async (t) => {
    const [id] = t.history.ids();
    const gets = id === undefined || (await t.fixtures.getIsRemoved()) ? [] : [getPet(t.key, id)];
    const responses: Response[] = [];
    for (const request of [listPets(t.key), listOrders(t.key), ...gets]) responses.push(await t.send(request));
    // If only some responses are 404 or 405, an id was wrong or the orders are missing: other requirements judge that.
    const isMissing = ({ status }: Response) => [404, 405].includes(status);
    const isElsewhere = (response: Response) =>
      responses.every(isMissing) || redirectsElsewhere(response, t.client.baseUrl);
    const isHere = (response: Response) => !isMissing(response) && !isRedirect(response);
    await t.each(responses.filter((response) => isHere(response) || isElsewhere(response)), async (response) => {
      t.require(!isElsewhere(response), response, `an operation below ${new URL(t.client.baseUrl).pathname}`);
    });
  }),
];

function isRedirect({ status }: Response): boolean {
  return status >= 300 && status < 400;
}

/** Whether a response redirects to a path that is not below the base URL. */
function redirectsElsewhere(response: Response, baseUrl: string): boolean {
  const [location = ''] = response.all('location');
  const from = `${baseUrl}${response.request.target}`;
  if (!isRedirect(response) || !URL.canParse(location, from)) return false;
  return !new URL(location, from).pathname.startsWith(`${new URL(baseUrl).pathname}/`);
}
