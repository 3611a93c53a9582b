/** Test support: what the specification states about the responses to a workload besides their status and animals. */
import { must, objectIn } from '../check.ts';
import { send, type Response, type Session } from '../session.ts';
import type { Workload } from '../workloads.ts';

/**
 * Checks a response to a workload, and what belongs to it: that a wrong key is 401, and an invalid create 400.
 *
 * @throws Error that says what is wrong
 */
export async function checkService({ baseUrl, key }: Session, workload: Workload, response: Response): Promise<void> {
  const what = `a ${workload.status}`;
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    must(/^\d+$/.test(String(response.headers[name])), `${what} must have a number in ${name}`);
  }
  if (workload.status >= 400) checkError(response);
  if (workload.status === 429) {
    must(Number(response.headers['retry-after']) >= 1, `${what} must have a Retry-After`);
    must(response.headers['x-ratelimit-remaining'] === '0', `${what} must have no requests remaining`);
  }
  if (workload.status === 401) {
    const wrong = await send(`${baseUrl}/pets`, { headers: { Authorization: 'Bearer wrong' } });
    must(wrong.status === 401, `a wrong key must return 401, not ${wrong.status}`);
  }
  if (workload.status === 201) {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const invalid = await send(`${baseUrl}/pets`, { method: 'POST', headers, body: '{"name":"Rex"}' });
    must(invalid.status === 400, `a create without a category must return 400, not ${invalid.status}`);
    checkError(invalid);
  }
}

function checkError(response: Response): void {
  const { code, message, status } = objectIn(response, `a ${response.status}`);
  const isError = typeof code === 'string' && typeof message === 'string' && status === response.status;
  must(isError, `a ${response.status} must have an Error as its body: ${response.body}`);
}
