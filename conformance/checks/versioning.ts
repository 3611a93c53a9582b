/** Section 9: versioning. */
import { check, type Check } from '../session/check.ts';

export const versionChecks: readonly Check[] = [
  check('version.path', { requests: 4, creates: 1 }, async (t) => {
    const { baseUrl } = t.client;
    const below = `${new URL(baseUrl).pathname}/`;
    await t.each(await t.fixtures.operations(t.key), async (request) => {
      const response = await t.send(request);
      const { status } = response;
      // A missing operation, and an unknown animal, are judged by other requirements.
      if (status === 404 || status === 405) return;
      const isRedirect = status >= 300 && status < 400;
      const [location = ''] = isRedirect ? response.all('location') : [];
      const from = `${baseUrl}${request.target}`;
      const isBelow = !URL.canParse(location, from) || new URL(location, from).pathname.startsWith(below);
      t.require(isBelow, response, `an operation below ${below}`);
    });
  }),
];
