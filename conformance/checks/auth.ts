/** Section 5: every kind of invalid credential, for every operation. */
import * as fc from 'fast-check';
import {
  changedAt,
  inQuery,
  invalid,
  lengthened,
  nobody,
  otherCaseAt,
  swappedAt,
  token,
  withoutAt,
} from '../client/credentials.ts';
import type { Credential } from '../client/request.ts';
import { getPet, listPets } from '../client/requests.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import { check, observe, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';

/**
 * The number of near misses in a default run. With it, a default run sends 40 requests without a valid key in all,
 * including the one with the scheme in lower case, which a server may reject. Higher --runs combine more near misses
 * with more operations.
 */
const nearMisses = 6;

export const authChecks: readonly Check[] = [
  check('auth.valid', { requests: 4, creates: 1 }, async (t) => {
    for (const request of await t.fixtures.operations()) await t.send(request(t.key));
  }),
  check('auth.missing', { keyless: 5 }, async (t) => {
    const requests = (await t.fixtures.operations()).map((request) => request(nobody));
    // Without a key, a client must not learn whether an animal exists.
    if (requests.some(({ operation }) => operation === 'getPet')) requests.push(getPet(nobody, t.fixtures.unknownId()));
    await t.each(requests, async (request) => {
      const response = await t.send(request);
      t.require(response.status === 401, response, '401, because there is no Authorization header');
      t.observe('auth.challenge', response.all('www-authenticate').length > 0 ? 'yes' : 'no', response);
    });
  }),
  rejected('auth.empty', 'the token is empty', () => invalid('Bearer', 'Bearer')),
  check('auth.other-scheme', { perCase: { requests: 0, keyless: 1, share: 4 / 20, most: 4 * 4 } }, async (t) => {
    const key = t.secret;
    const basic = invalid(
      `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
      `Basic $(printf %s "$API_KEY:" | base64 | tr -d '\\n')`,
    );
    const bare = ['Token', 'Basic', 'ApiKey'].map((scheme) => invalid(`${scheme} ${key}`, `${scheme} $API_KEY`));
    await rejectAll(t, [basic, ...bare], 'the scheme is not Bearer');
  }),
  rejected('auth.no-scheme', 'there is no scheme', (key) => invalid(key, '$API_KEY')),
  rejected('auth.changed', 'one character of the key is changed', (key) =>
    changedAt(key, Math.floor((key.length * 5) / 6)),
  ),
  rejected('auth.cut', 'the last character of the key is missing', (key) => token(key.slice(0, -1), '${API_KEY%?}')),
  rejected('auth.lengthened', 'a character follows the key', (key) => lengthened(key, 'x')),
  check('auth.query', { keyless: 4 }, async (t) => {
    const names = ['access_token', 'api_key', 'apiKey', 'key', 'token'];
    const { text, shell } = inQuery(t.secret);
    await t.each(await t.fixtures.operations(), async (operation) => {
      const request = operation(nobody);
      const separator = request.target.includes('?') ? '&' : '?';
      const withKey = (key: string) => request.target + separator + names.map((name) => `${name}=${key}`).join('&');
      const response = await t.send({ ...request, target: withKey(text), shellTarget: withKey(shell) });
      t.require(response.status === 401, response, '401, because the key is in the query only');
    });
  }),
  check('auth.near-miss', { perCase: { requests: 0, keyless: 1, share: nearMisses / 20, most: 4 * 11 } }, async (t) => {
    // One sample of each kind, instead of forAll: their number is limited, and there is nothing to shrink.
    const [credentials] = fc.sample(nearMissesOf(t.secret), { seed: t.options.seed, numRuns: 1 });
    await rejectAll(t, credentials!, 'the key is wrong');
  }),

  observe(['auth.lower-case'], { requests: 1 }, async (t) => {
    const { mustBe: _, ...request } = listPets({ ...t.key, header: `bearer ${t.secret}`, shell: 'bearer $API_KEY' });
    const response = await t.send({ ...request, operation: 'other' });
    t.observe('auth.lower-case', response.status === 200 ? 'yes' : `no: ${response.status}`, response);
  }),
];

/** A check that every operation returns 401 for a credential made from the key. */
function rejected(id: RequirementId, reason: string, credential: (key: string) => Credential): Check {
  return check(id, { keyless: 4 }, async (t: CheckContext) => {
    await t.each(await t.fixtures.operations(), async (request) => {
      const response = await t.send(request(credential(t.secret)));
      t.require(response.status === 401, response, `401, because ${reason}`);
    });
  });
}

/**
 * Combines credentials with operations, as many as --runs allows: first each credential once, then with the next
 * operation.
 */
async function rejectAll(t: CheckContext, credentials: readonly Credential[], reason: string): Promise<void> {
  const operations = await t.fixtures.operations();
  const requests = operations.flatMap((_, turn) =>
    credentials.map((credential, i) => operations[(i + turn) % operations.length]!(credential)),
  );
  await t.each(requests.slice(0, t.cases), async (request) => {
    const response = await t.send(request);
    t.require(response.status === 401, response, `401, because ${reason}`);
  });
}

/** Bearer tokens that differ slightly from the key, those first that a faulty server is most likely to accept. */
function nearMissesOf(key: string): fc.Arbitrary<Credential[]> {
  // The last character of a JSON Web Token (RFC 7519) may have bits without a meaning.
  const end = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(key) ? key.length - 2 : key.length;
  const somewhere = (make: (index: number) => Credential | undefined) => {
    const made = Array.from({ length: end }, (_, i) => make(i)).filter((credential) => credential !== undefined);
    return fc.constantFrom(...(made.length > 0 ? made : [changedAt(key, 0)]));
  };
  const half = Math.ceil(key.length / 2);
  const otherCases = [
    ...(key === key.toUpperCase() ? [] : [token(key.toUpperCase(), '$(printf %s "$API_KEY" | tr a-z A-Z)')]),
    ...(key === key.toLowerCase() ? [] : [token(key.toLowerCase(), '$(printf %s "$API_KEY" | tr A-Z a-z)')]),
  ];
  return fc.tuple(
    fc.constant(changedAt(key, Math.floor(key.length / 2))),
    fc.constant(changedAt(key, end - 1)),
    fc.constant(changedAt(key, 0)),
    somewhere((i) => otherCaseAt(key, i)),
    somewhere((i) => swappedAt(key, i)),
    somewhere((i) => withoutAt(key, i)),
    fc.constant(token(`x${key}`, 'x$API_KEY')),
    somewhere((i) => changedAt(key, i)),
    fc.constantFrom('0', '=', '.', '-', '_A', '0'.repeat(32)).map((more) => lengthened(key, more)),
    fc.constant(token(key.slice(0, half), `$(printf %s "$API_KEY" | cut -c1-${half})`)),
    fc.constantFrom(...otherCases, withoutAt(key, 0)),
  );
}
