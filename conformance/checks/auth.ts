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
import type { Credential, Request } from '../client/request.ts';
import { createPetOf, getPet, getPetWithId, listOrders, listPets, listPetsWithQuery } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { requirements, type RequirementId } from '../requirements/requirements.ts';
import { check, observe, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';
import type { Cost } from '../session/cost.ts';

/** The number of requests with a changed character with --thorough-auth. Most keys have fewer characters. */
const changes = 40;

/** Names under which servers look for a key in the query, a header or a cookie. */
const queryNames = ['access_token', 'api_key', 'apiKey', 'apikey', 'api-key', 'key', 'token', 'auth', 'authorization'];
const headerNames = ['X-API-Key', 'X-API-Token', 'X-Auth-Token', 'X-Access-Token', 'API-Key', 'ApiKey', 'Token'];
const cookieNames = ['api_key', 'apiKey', 'api-key', 'X-API-Key', 'access_token', 'token', 'key', 'auth', 'session'];

/** Makes a request of an operation, without a valid key. */
type Attempt = (operation: (credential: Credential) => Request) => Request;

const rejectedOnce = { keyless: 1, thorough: { keyless: 4 } };

export const authChecks: readonly Check[] = [
  check('auth.valid', { requests: 4, creates: 1 }, async (t) => {
    for (const request of await t.fixtures.operations()) await t.send(request(t.key));
  }),
  check('auth.missing', { requests: 2, keyless: 5, thorough: { keyless: 9 } }, async (t) => {
    const bare = async () => (await t.fixtures.operations()).map((request) => request(nobody));
    const [alone, together] = [await bare(), await bare()];
    // Without a key, a client must not learn whether an animal exists.
    if (alone.some(({ operation }) => operation === 'getPet')) alone.unshift(getPet(nobody, t.fixtures.unknownId()));
    const requireRejected = (response: Response) =>
      t.require(response.status === 401, response, '401, because there is no Authorization header');
    await t.each(alone.slice(0, t.keyless - together.length), async (request) => {
      const response = await t.send(request);
      requireRejected(response);
      t.observe('auth.challenge', response.all('www-authenticate').length > 0 ? 'yes' : 'no', response);
    });
    // A server must not confuse requests that it handles at the same time.
    await t.room(2);
    await t.client.room('none', together.length);
    const valid = [listPets(t.key), listOrders(t.key)];
    const responses = await t.sendTogether([...valid, ...together]);
    const keyless = responses.slice(valid.length).filter(({ status }) => status !== 429 && status !== 503);
    await t.each(keyless, async (response) => requireRejected(response));
  }),
  check('auth.invalid-request', { keyless: 4, thorough: { keyless: 9 } }, async (t) => {
    const wrong = token('wrong', 'wrong');
    const create = (credential: Credential, body: string) => (t.mayWrite ? [createPetOf(credential, body)] : []);
    const hasGet = !(await t.fixtures.getIsRemoved());
    const asText = (request: Request) => ({ ...request, headers: [['Content-Type', 'text/plain']] as const });
    const get = (credential: Credential, id: string) => (hasGet ? [getPetWithId(credential, id)] : []);
    // A router may treat a petId that is not an integer as an unknown path. The response to either is a gap.
    const unknownPaths = [...get(wrong, 'cat'), ...get(nobody, 'cat')];
    // Invalid keys come first: a server may check that there is a key, then validate the request, then check the key.
    const requests = [
      listPetsWithQuery(wrong, 'limit=abc&status=asleep'),
      ...create(wrong, '['),
      ...create(wrong, 'no JSON').map(asText),
      ...unknownPaths,
      ...get(wrong, String(t.fixtures.unknownId())),
      listPetsWithQuery(nobody, 'limit=abc'),
      ...create(nobody, '{}'),
      ...create(wrong, '{"name":1}'),
    ];
    await t.each(requests.slice(0, t.keyless), async (request) => {
      const response = await t.send(request);
      if (unknownPaths.includes(request) && response.status === 404) return;
      t.require(response.status === 401, response, '401, because there is no valid key');
    });
  }),
  rejects('auth.empty', rejectedOnce, 'the token is empty', () => withCredentials([invalid('Bearer', 'Bearer')])),
  rejects(
    'auth.other-scheme',
    { keyless: 2, thorough: { keyless: 7, most: 4 * 5 } },
    'the scheme is not Bearer',
    ({ secret: key }) => {
      const basic = (pair: string) =>
        invalid(
          `Basic ${Buffer.from(pair).toString('base64')}`,
          `Basic $(printf %s "${pair.replace(key, '$API_KEY')}" | base64 | tr -d '\\n')`,
        );
      const bare = (scheme: string) => invalid(`${scheme} ${key}`, `${scheme} $API_KEY`);
      return withCredentials([basic(`${key}:`), bare('Token'), basic(`:${key}`), bare('Basic'), bare('ApiKey')]);
    },
  ),
  rejects('auth.no-scheme', rejectedOnce, 'there is no scheme', ({ secret }) =>
    withCredentials([invalid(secret, '$API_KEY')]),
  ),
  rejects('auth.cut', rejectedOnce, 'the last character of the key is missing', ({ secret }) =>
    withCredentials([token(secret.slice(0, -1), '${API_KEY%?}')]),
  ),
  rejects('auth.lengthened', rejectedOnce, 'a character follows the key', ({ secret }) =>
    withCredentials([lengthened(secret, 'x')]),
  ),
  rejects('auth.query', rejectedOnce, 'the key is in the query only', ({ secret }) => {
    const { text, shell } = inQuery(secret);
    const inTarget: Attempt = (operation) => {
      const request = operation(nobody);
      const separator = request.target.includes('?') ? '&' : '?';
      const query = (key: string) => queryNames.map((name) => `${name}=${key}`).join('&');
      const withKey = (key: string) => request.target + separator + query(key);
      return { ...request, target: withKey(text), shellTarget: withKey(shell) };
    };
    return [inTarget];
  }),
  rejects('auth.elsewhere', rejectedOnce, 'there is no Authorization header', ({ secret }) => {
    const { text, shell } = inQuery(secret);
    const headersWith = (key: string, cookie: string) => [
      ...headerNames.map((name) => [name, key] as const),
      ['X-Authorization', `Bearer ${key}`] as const,
      ['Cookie', cookieNames.map((name) => `${name}=${cookie}`).join('; ')] as const,
    ];
    const inHeaders: Attempt = (operation) => {
      const request = operation(nobody);
      return {
        ...request,
        headers: [...request.headers, ...headersWith(secret, text)],
        shellHeaders: [...request.headers, ...headersWith('$API_KEY', shell)],
      };
    };
    return [inHeaders];
  }),
  // One sample of each kind, instead of forAll: their number is limited, and there is nothing to shrink.
  rejects(
    'auth.near-miss',
    { keyless: 4, thorough: { keyless: 9, most: 4 * 12 } },
    'the key is wrong',
    ({ secret, options: { seed } }) => withCredentials(fc.sample(nearMissesOf(secret), { seed, numRuns: 1 })[0]!),
  ),
  rejects(
    'auth.changed',
    { keyless: 3, thorough: { keyless: changes, most: 4 * changes } },
    'one character of the key is changed',
    ({ secret, options: { seed } }) => withCredentials(positions(secret, seed).map((at) => changedAt(secret, at))),
  ),

  // A server may take it for an invalid key, and limit it as such.
  observe(['auth.lower-case'], { keyless: 1 }, async (t) => {
    const { mustBe: _, ...request } = listPets(invalid(`bearer ${t.secret}`, 'bearer $API_KEY'));
    const response = await t.send({ ...request, operation: 'other' });
    t.observe('auth.lower-case', response.status === 200 ? 'yes' : `no: ${response.status}`, response);
  }),
];

/** An attempt with each credential. */
function withCredentials(credentials: readonly Credential[]): Attempt[] {
  return credentials.map((credential) => (operation) => operation(credential));
}

/**
 * A check that every operation returns 401 for each attempt. It makes each attempt once, with the operations in turn,
 * then each with the next operation, and so on, as far as its cost allows. The seed determines the first operation.
 */
function rejects(
  id: RequirementId,
  cost: Cost,
  reason: string,
  attempts: (t: CheckContext) => readonly Attempt[],
): Check {
  return check(id, cost, async (t) => {
    const operations = await t.fixtures.operations();
    const made = attempts(t);
    const first = Math.abs(t.options.seed) + requirements.findIndex((requirement) => requirement.id === id);
    const requests = operations.flatMap((_, turn) =>
      made.map((attempt, i) => attempt(operations[(first + i + turn) % operations.length]!)),
    );
    await rejectAll(t, requests, reason);
  });
}

/** Sends as many of the requests as the check may send without a valid key, and requires 401 for each. */
async function rejectAll(t: CheckContext, requests: readonly Request[], reason: string): Promise<void> {
  await t.each(requests.slice(0, t.keyless), async (request) => {
    const response = await t.send(request);
    t.require(response.status === 401, response, `401, because ${reason}`);
  });
}

/** The positions of a key's characters: first those that a faulty server most likely ignores, then in any order. */
function positions(key: string, seed: number): readonly number[] {
  const end = significantEnd(key);
  const likely = [end - 1, end >> 1, 0, Math.floor((end * 5) / 6)];
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

/**
 * Bearer tokens that differ slightly from the key: first those that a faulty server is most likely to accept, then the
 * others in any order.
 */
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
  const likely = fc.tuple(
    fc.constant(lengthened(key, ' foo')),
    somewhere((i) => otherCaseAt(key, i)),
    fc.constant(lengthened(key, ',foo')),
  );
  const others = fc.tuple(
    fc.constant(token(`"${key}"`, '\\"$API_KEY\\"')),
    somewhere((i) => swappedAt(key, i)),
    somewhere((i) => withoutAt(key, i)),
    fc.constant(token(`x${key}`, 'x$API_KEY')),
    fc.constantFrom('0', '=', '.', '-', '_A', '0'.repeat(32)).map((more) => lengthened(key, more)),
    fc.constantFrom(';foo', ', foo', '%20', '\\').map((more) => lengthened(key, more)),
    fc.constantFrom('foo,', 'foo ', 'Bearer ').map((less) => token(`${less}${key}`, `${less}$API_KEY`)),
    fc.constant(token(key.slice(0, half), `$(printf %s "$API_KEY" | cut -c1-${half})`)),
    fc.constantFrom(...otherCases, withoutAt(key, 0)),
  );
  const inAnyOrder = others.chain((all) => fc.shuffledSubarray(all, { minLength: all.length }));
  return fc.tuple(likely, inAnyOrder).map(([first, rest]) => [...first, ...rest]);
}
