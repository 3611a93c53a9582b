/** Our own decisions, "URLs": which paths are the same, and which are not. (Integers in URLs: errors.ts.) */
import { check, type Check } from '../../session/check.ts';
import type { Request } from '../../client/request.ts';
import { createPetOf, getPet, listPetsAnyhow, other } from '../../client/requests.ts';
import type { CheckContext } from '../../session/context.ts';
import { answered, basePath, raw, refused, withBody } from './common.ts';

export const urlChecks: readonly Check[] = [
  check('decided.urls.decoded-once', { requests: 4 }, async (t) => {
    await t.fixtures.needGet();
    const { id } = await t.fixtures.animal();
    const [first = '', ...rest] = String(id);
    const escaped = `${first.charCodeAt(0).toString(16)}${rest.join('')}`;
    await t.each(
      [
        [other(t.key, 'GET', '/%70%65ts'), 200, 'it is /pets'],
        [getAs(t, `/pets/%${escaped}`), 200, `it is /pets/${id}`],
        [getAs(t, `/pets/%25${escaped}`), 404, 'it is decoded once only'],
        [listPetsAnyhow(t.key, 'lim%69t=%30'), 400, 'it is limit=0'],
      ] as const,
      async ([request, status, because]) => {
        await answered(t, request, status, because);
      },
    );
  }),
  notFound('decided.urls.encoded-slash', (id) => ['/store%2Forders', `/pets%2f${id}`, '/pets%2F'], '%2F is no separator'),
  notFound(
    'decided.urls.trailing-slash',
    (id) => ['/pets/', `/pets/${id}/`, '/store/orders/'],
    'with a trailing slash it is another path',
  ),
  check('decided.urls.not-collapsed', { requests: 5 }, async (t) => {
    // HTTP libraries take the dots out of a path.
    const dots = ['/./pets', '/store/../pets', '/pets/%2e'].map((target) => raw(t, { credential: t.key, method: 'GET', target }));
    await t.each([other(t.key, 'GET', '//pets'), other(t.key, 'GET', '/store//orders'), ...dots], async (request) => {
      await answered(t, request, 404, 'nothing is collapsed');
    });
  }),
  check('decided.urls.broken-escape', { requests: 4 }, async (t) => {
    await t.each(['/pets/%zz', '/pets/1%', '/pets/%2', '/%pets'], async (path) => {
      await answered(t, getAs(t, path), 404, 'the path has a broken escape');
    });
  }),
  check('decided.urls.absolute-form', { requests: 1 }, async (t) => {
    const requestTarget = `http://example.invalid:81${basePath(t)}/pets?limit=1`;
    await answered(
      t,
      raw(t, { credential: t.key, method: 'GET', target: '/pets?limit=1', requestTarget }),
      200,
      'the authority of an absolute target is ignored',
    );
  }),
  check('decided.urls.parameters', { requests: 4, writes: true }, async (t) => {
    const { id } = await t.fixtures.animal();
    await t.each(
      [
        [listPetsAnyhow(t.key, 'colour=red&colour=blue&limit2=0&Limit=0&offset=x&'), 200],
        [getAs(t, `/pets/${id}?limit=0&status=asleep`), (await t.fixtures.getIsRemoved()) ? 410 : 200],
        [{ ...createPetOf(t.key, '{}'), target: '/pets?limit=0' }, 400],
        [other(t.key, 'OPTIONS', '/pets?limit=0'), 204],
      ] as const,
      async ([request, status]) => {
        if (status === 400) await refused(t, request, 400, 'invalid_body', 'the parameter is ignored, and {} no NewPet');
        else await answered(t, request, status, 'the operation does not have these parameters, and ignores them');
      },
    );
  }),
  check('decided.urls.body-ignored', { requests: 3 }, async (t) => {
    await t.each(
      [
        ['GET', 200],
        ['HEAD', 200],
        ['OPTIONS', 204],
      ] as const,
      async ([method, status]) => {
        await answered(t, withBody(other(t.key, method, '/pets?limit=1'), '{"limit":0'), status, 'the body is thrown away');
      },
    );
  }),
];

/** A check that each of these paths, below the base path, is nothing. */
function notFound(id: Parameters<typeof check>[0], paths: (animal: bigint) => readonly string[], because: string): Check {
  return check(id, { requests: 3 }, async (t) => {
    const animal = await t.fixtures.animal();
    await t.each(paths(animal.id), async (path) => {
      await refused(t, other(t.key, 'GET', path), 404, 'not_found', because);
    });
  });
}

/** GET of a path that may or may not name an animal. */
function getAs(t: CheckContext, target: string): Request {
  const { petId: _, ...request } = getPet(t.key, 0n);
  return { ...request, target, open: true };
}
