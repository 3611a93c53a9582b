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
import { createPetOf, getPet, getPetWithId, listOrders, listPets, listPetsWithQuery } from '../client/requests.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import { check, observe, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';

/** The number of near misses in a default run. Higher --runs combine more of them with more operations. */
const nearMisses = 9;

/** The number of requests with a changed character in a default run: most keys have fewer characters. */
const changes = 40;

/** About how many requests a default run sends, and how many without a key later checks may send. */
const manyRequests = 600;
const reserve = 5;

/** Names under which servers look for a key in the query, a header or a cookie. */
const queryNames = ['access_token', 'api_key', 'apiKey', 'apikey', 'api-key', 'key', 'token', 'auth', 'authorization'];
const headerNames = ['X-API-Key', 'X-API-Token', 'X-Auth-Token', 'X-Access-Token', 'API-Key', 'ApiKey', 'Token'];
const cookieNames = ['api_key', 'apiKey', 'api-key', 'X-API-Key', 'access_token', 'token', 'key', 'auth', 'session'];

export const authChecks: readonly Check[] = [
  check('auth.valid', { requests: 4, creates: 1 }, async (t) => {
    for (const request of await t.fixtures.operations()) await t.send(request(t.key));
  }),
  check('auth.missing', { requests: 2, keyless: 9 }, async (t) => {
    const requests = (await t.fixtures.operations()).map((request) => request(nobody));
    // Without a key, a client must not learn whether an animal exists.
    if (requests.some(({ operation }) => operation === 'getPet')) requests.push(getPet(nobody, t.fixtures.unknownId()));
    await t.each(requests, async (request) => {
      const response = await t.send(request);
      t.require(response.status === 401, response, '401, because there is no Authorization header');
      t.observe('auth.challenge', response.all('www-authenticate').length > 0 ? 'yes' : 'no', response);
    });
    // A server must not confuse requests that it handles at the same time.
    await t.room(2);
    const valid = [listPets(t.key), listOrders(t.key)];
    const invalid = (await t.fixtures.operations()).map((request) => request(nobody));
    const responses = await t.sendTogether([...valid, ...invalid]);
    const keyless = responses.slice(valid.length).filter(({ status }) => status !== 429 && status !== 503);
    await t.each(keyless, async (response) =>
      t.require(response.status === 401, response, '401, because there is no Authorization header'),
    );
  }),
  check('auth.invalid-request', { keyless: 9 }, async (t) => {
    const wrong = token('wrong', 'wrong');
    const create = (credential: Credential, body: string) => createPetOf(credential, body);
    const creates = [
      create(nobody, '{}'),
      create(nobody, 'no JSON'),
      create(wrong, '{"name":1}'),
      create(wrong, '['),
      { ...create(wrong, 'no JSON'), headers: [['Content-Type', 'text/plain']] as const },
    ];
    const gets = [getPetWithId(nobody, 'cat'), getPet(wrong, t.fixtures.unknownId())];
    const requests = [
      listPetsWithQuery(nobody, 'limit=abc'),
      listPetsWithQuery(wrong, 'status=asleep'),
      ...(t.mayWrite ? creates : []),
      ...((await t.fixtures.getIsRemoved()) ? [] : gets),
    ];
    await t.each(requests, async (request) => {
      const response = await t.send(request);
      t.require(response.status === 401, response, '401, because there is no valid key');
    });
  }),
  rejected('auth.empty', 'the token is empty', () => invalid('Bearer', 'Bearer')),
  check('auth.other-scheme', { perCase: { requests: 0, keyless: 1, share: 7 / 20, most: 4 * 5 } }, async (t) => {
    const key = t.secret;
    const basic = [`${key}:`, `:${key}`].map((pair) =>
      invalid(
        `Basic ${Buffer.from(pair).toString('base64')}`,
        `Basic $(printf %s "${pair.replace(key, '$API_KEY')}" | base64 | tr -d '\\n')`,
      ),
    );
    const bare = ['Token', 'Basic', 'ApiKey'].map((scheme) => invalid(`${scheme} ${key}`, `${scheme} $API_KEY`));
    await rejectAll(t, [...basic, ...bare], 'the scheme is not Bearer');
  }),
  rejected('auth.no-scheme', 'there is no scheme', (key) => invalid(key, '$API_KEY')),
  rejected('auth.cut', 'the last character of the key is missing', (key) => token(key.slice(0, -1), '${API_KEY%?}')),
  rejected('auth.lengthened', 'a character follows the key', (key) => lengthened(key, 'x')),
  check('auth.query', { keyless: 4 }, async (t) => {
    const { text, shell } = inQuery(t.secret);
    await t.each(await t.fixtures.operations(), async (operation) => {
      const request = operation(nobody);
      const separator = request.target.includes('?') ? '&' : '?';
      const query = (key: string) => queryNames.map((name) => `${name}=${key}`).join('&');
      const withKey = (key: string) => request.target + separator + query(key);
      const response = await t.send({ ...request, target: withKey(text), shellTarget: withKey(shell) });
      t.require(response.status === 401, response, '401, because the key is in the query only');
    });
  }),
  check('auth.elsewhere', { keyless: 4 }, async (t) => {
    const { text, shell } = inQuery(t.secret);
    const headersWith = (key: string, cookie: string) => [
      ...headerNames.map((name) => [name, key] as const),
      ['X-Authorization', `Bearer ${key}`] as const,
      ['Cookie', cookieNames.map((name) => `${name}=${cookie}`).join('; ')] as const,
    ];
    await t.each(await t.fixtures.operations(), async (operation) => {
      const request = operation(nobody);
      const response = await t.send({
        ...request,
        headers: [...request.headers, ...headersWith(t.secret, text)],
        shellHeaders: [...request.headers, ...headersWith('$API_KEY', shell)],
      });
      t.require(response.status === 401, response, '401, because there is no Authorization header');
    });
  }),
  check('auth.near-miss', { perCase: { requests: 0, keyless: 1, share: nearMisses / 20, most: 4 * 12 } }, async (t) => {
    // One sample of each kind, instead of forAll: their number is limited, and there is nothing to shrink.
    const [credentials] = fc.sample(nearMissesOf(t.secret), { seed: t.options.seed, numRuns: 1 });
    await rejectAll(t, credentials!, 'the key is wrong');
  }),
  // Last, because it leaves few requests without a key.
  check('auth.changed', { perCase: { requests: 0, keyless: 1, share: changes / 20, most: 4 * changes } }, async (t) => {
    const credentials = positions(t.secret, t.options.seed).map((at) => changedAt(t.secret, at));
    // A run that does not have to wait for its key does not wait here either: it tries fewer characters.
    const waitsAnyway = t.client.pacer('main').estimate(t.now(), manyRequests) > 0;
    const mayContinue = () => waitsAnyway || t.client.pacer('none').wait(t.now(), 1 + reserve) === 0;
    await rejectAll(t, credentials, 'one character of the key is changed', mayContinue);
  }),

  // A server may take it for an invalid key, and limit it as such.
  observe(['auth.lower-case'], { keyless: 1 }, async (t) => {
    const { mustBe: _, ...request } = listPets(invalid(`bearer ${t.secret}`, 'bearer $API_KEY'));
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
 * operation. Ends early if it may not continue after the first.
 */
async function rejectAll(
  t: CheckContext,
  credentials: readonly Credential[],
  reason: string,
  mayContinue = () => true,
): Promise<void> {
  const operations = await t.fixtures.operations();
  const requests = operations.flatMap((_, turn) =>
    credentials.map((credential, i) => operations[(i + turn) % operations.length]!(credential)),
  );
  await t.each(requests.slice(0, t.cases), async (request) => {
    if (request !== requests[0] && !mayContinue()) return;
    const response = await t.send(request);
    t.require(response.status === 401, response, `401, because ${reason}`);
  });
}

/** The positions of a key's characters: first those that a faulty server most likely ignores, then in any order. */
function positions(key: string, seed: number): readonly number[] {
  const end = significantEnd(key);
  const likely = [end - 1, 0, end >> 1, Math.floor((end * 5) / 6)];
  const [others = []] = fc.sample(fc.shuffledSubarray([...Array(end).keys()], { minLength: end }), {
    seed,
    numRuns: 1,
  });
  return [...new Set([...likely, ...others])].slice(0, changes);
}

/** The last character of a JSON Web Token (RFC 7519) may have bits without a meaning. */
function significantEnd(key: string): number {
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(key) ? key.length - 2 : key.length;
}

/** Bearer tokens that differ slightly from the key, those first that a faulty server is most likely to accept. */
function nearMissesOf(key: string): fc.Arbitrary<Credential[]> {
  const end = significantEnd(key);
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
    fc.constant(lengthened(key, ',foo')),
    fc.constant(token(`"${key}"`, '\\"$API_KEY\\"')),
    fc.constant(lengthened(key, ' foo')),
    somewhere((i) => otherCaseAt(key, i)),
    somewhere((i) => swappedAt(key, i)),
    somewhere((i) => withoutAt(key, i)),
    fc.constant(token(`x${key}`, 'x$API_KEY')),
    fc.constantFrom('0', '=', '.', '-', '_A', '0'.repeat(32)).map((more) => lengthened(key, more)),
    fc.constantFrom(';foo', ', foo', '%20', '\\').map((more) => lengthened(key, more)),
    fc.constantFrom('foo,', 'foo ', 'Bearer ').map((less) => token(`${less}${key}`, `${less}$API_KEY`)),
    fc.constant(token(key.slice(0, half), `$(printf %s "$API_KEY" | cut -c1-${half})`)),
    fc.constantFrom(...otherCases, withoutAt(key, 0)),
  );
}
