/** Section 5: authentication. Every kind of wrong credential, on every operation. */
import * as fc from 'fast-check';
import { check, observe, type Check } from '../session/check.ts';
import { changedAt, inQuery, invalid, lengthened, nobody, otherCaseAt, swappedAt, token, withoutAt } from '../client/credentials.ts';
import type { Credential } from '../client/request.ts';
import { getPet, listPets } from '../client/requests.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import type { CheckContext } from '../session/context.ts';

/**
 * How many requests without a valid key there are beyond one of each kind on each operation: in a default run so many that with
 * the scheme in lower case, which a server may refuse, there are 40 in all; with more --runs more, until every case has met every operation.
 */
const nearMisses = 6;

export const authChecks: readonly Check[] = [
  check('auth.valid', { requests: 4, creates: 1 }, async (t) => {
    for (const request of await t.fixtures.operations()) await t.send(request(t.key));
  }),
  check('auth.missing', { keyless: 5 }, async (t) => {
    const requests = (await t.fixtures.operations()).map((request) => request(nobody));
    // Nor does it tell whether an animal exists.
    if (requests.some(({ operation }) => operation === 'getPet')) requests.push(getPet(nobody, t.fixtures.unknownId()));
    await t.each(requests, async (request) => {
      const response = await t.send(request);
      t.require(response.status === 401, response, '401, since there is no Authorization header');
      t.observe('auth.challenge', response.all('www-authenticate').length > 0 ? 'yes' : 'no', response);
    });
  }),
  refused('auth.empty', 'the token is empty', () => invalid('Bearer', 'Bearer')),
  check('auth.other-scheme', { perCase: { requests: 0, keyless: 1, share: 4 / 20, most: 4 * 4 } }, async (t) => {
    const key = t.secret;
    const basic = invalid(
      `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
      `Basic $(printf %s "$API_KEY:" | base64 | tr -d '\\n')`,
    );
    await refuseAll(
      t,
      [basic, ...['Token', 'Basic', 'ApiKey'].map((scheme) => invalid(`${scheme} ${key}`, `${scheme} $API_KEY`))],
      'the scheme is not Bearer',
    );
  }),
  refused('auth.no-scheme', 'there is no scheme', (key) => invalid(key, '$API_KEY')),
  refused('auth.changed', 'one character of the key was changed', (key) => changedAt(key, Math.floor((key.length * 5) / 6))),
  refused('auth.cut', 'the last character of the key is missing', (key) => token(key.slice(0, -1), '${API_KEY%?}')),
  refused('auth.lengthened', 'a character follows the key', (key) => lengthened(key, 'x')),
  check('auth.query', { keyless: 4 }, async (t) => {
    const names = ['access_token', 'api_key', 'apiKey', 'key', 'token'];
    await t.each(await t.fixtures.operations(), async (request) => {
      const asked = request(nobody);
      const query = (key: string) =>
        `${asked.target}${asked.target.includes('?') ? '&' : '?'}${names.map((name) => `${name}=${key}`).join('&')}`;
      const { text, shell } = inQuery(t.secret);
      const response = await t.send({ ...asked, target: query(text), shellTarget: query(shell) });
      t.require(response.status === 401, response, '401, since the key stands in the query only');
    });
  }),
  check('auth.near-miss', { perCase: { requests: 0, keyless: 1, share: nearMisses / 20, most: 4 * 11 } }, async (t) => {
    // Drawn by the seed, one of each kind: their number is bounded, and there is nothing to shrink.
    await refuseAll(
      t,
      fc.sample(nearMissesOf(t.secret), { seed: t.options.seed, numRuns: 1 })[0]!,
      'the key is not quite the right one',
    );
  }),

  observe(['auth.lower-case'], { requests: 1 }, async (t) => {
    const { mustBe: _, ...asked } = listPets({ ...t.key, header: `bearer ${t.secret}`, shell: 'bearer $API_KEY' });
    const response = await t.send({ ...asked, operation: 'other' });
    t.observe('auth.lower-case', response.status === 200 ? 'yes' : `no: ${response.status}`, response);
  }),
];

/** A check that every operation responses 401 to a credential made from the key. */
function refused(id: RequirementId, because: string, credential: (key: string) => Credential): Check {
  return check(id, { keyless: 4 }, async (t: CheckContext) => {
    await t.each(await t.fixtures.operations(), async (request) => {
      const response = await t.send(request(credential(t.secret)));
      t.require(response.status === 401, response, `401, since ${because}`);
    });
  });
}

/** Every operation gets one credential after the other, as many as --runs allows: first each credential once, then the next operation. */
async function refuseAll(t: CheckContext, credentials: readonly Credential[], because: string): Promise<void> {
  const requests = await t.fixtures.operations();
  const pairs = requests.flatMap((_, turn) =>
    credentials.map((credential, i) => requests[(i + turn) % requests.length]!(credential)),
  );
  await t.each(pairs.slice(0, t.cases), async (request) => {
    const response = await t.send(request);
    t.require(response.status === 401, response, `401, since ${because}`);
  });
}

/** Bearer tokens that differ from the key in one small way, each in its own; those first that are likelier to be let in. */
function nearMissesOf(key: string): fc.Arbitrary<Credential[]> {
  // The last character of a token in three parts (RFC 7519) may have bits that say nothing.
  const end = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(key) ? key.length - 2 : key.length;
  const somewhere = (make: (index: number) => Credential | undefined) => {
    const made = Array.from({ length: end }, (_, i) => make(i)).filter((credential) => credential !== undefined);
    return fc.constantFrom(...(made.length > 0 ? made : [changedAt(key, 0)]));
  };
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
    fc.constant(token(key.slice(0, Math.ceil(key.length / 2)), `$(printf %s "$API_KEY" | cut -c1-${Math.ceil(key.length / 2)})`)),
    fc.constantFrom(
      ...(key === key.toUpperCase() ? [] : [token(key.toUpperCase(), '$(printf %s "$API_KEY" | tr a-z A-Z)')]),
      ...(key === key.toLowerCase() ? [] : [token(key.toLowerCase(), '$(printf %s "$API_KEY" | tr A-Z a-z)')]),
      withoutAt(key, 0),
    ),
  );
}
