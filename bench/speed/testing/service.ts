/** Test support: what the specification states about the responses to a workload besides their status and animals. */
import assert from 'node:assert/strict';
import { requestsOf, responsesTo, send, type Response, type RunningTarget } from '../running-target.ts';
import { get, type Workload } from '../workloads.ts';

/**
 * Checks the headers of some responses to a workload, and what belongs to it: that a wrong key is 401, and an invalid
 * create 400.
 */
export async function checkService(target: RunningTarget, workload: Workload): Promise<void> {
  for (const response of await responsesTo(target, workload, 10)) {
    const { status } = response;
    const headers = byName(response);
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
      assert.match(String(headers[name]), /^\d+$/, `a ${status} must have a number in ${name}`);
    }
    if (workload === get) {
      assert.match(`${headers['deprecation']} ${headers['sunset']}`, /^@\d+ \w{3}, .* GMT$/, 'getPet is deprecated');
    }
    if (status !== 429) continue;
    assert.ok(Number(headers['retry-after']) >= 1, 'a 429 must have a Retry-After');
    assert.equal(headers['x-ratelimit-remaining'], '0', 'a 429 must have no requests remaining');
  }
  if (workload.key === 'none') {
    const wrong = await send(`${target.baseUrl}/pets`, { headers: { Authorization: 'Bearer wrong' } });
    checkError(wrong, 401, 'a wrong key');
  }
  if (workload.method === 'POST') {
    const [create] = requestsOf(target, workload, new Map());
    const invalid = await send(`${target.baseUrl}/pets`, { ...create, body: '{"name":"Rex"}' });
    checkError(invalid, 400, 'a create without a category');
  }
}

/** The headers of a response by their names in lower case. */
export function byName({ headers }: Response): Readonly<Record<string, string>> {
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
}

function checkError({ status, body }: Response, right: number, what: string): void {
  assert.equal(status, right, `${what} must return ${right}`);
  const error = JSON.parse(body) as Readonly<Record<string, unknown>>;
  assert.deepEqual([typeof error['code'], typeof error['message'], error['status']], ['string', 'string', right], body);
}
