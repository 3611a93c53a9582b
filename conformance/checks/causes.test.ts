/** A fault fails the requirement that it violates, and no other requirement whose check only encounters the fault. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Owner } from '../../harness/owner.ts';
import { fakeClock } from '../testing/responses.ts';
import { proxy, smallServer, type Server } from '../testing/servers.ts';
import { failuresText, run, session } from '../testing/sessions.ts';

const mutant = (id: string) => (t: Owner) => smallServer(t, { mutant: id });

const notJson = async (t: Owner): Promise<Server> =>
  proxy(t, await smallServer(t), (_, response) => {
    if (response.status === 201) response.body = Buffer.from('<pet/>');
  });

for (const [fault, server, fails, others] of [
  ['a name that every response shows in lower case', mutant('name-lower'), 'create.name', ['animals.agree']],
  ['an id that is given twice', mutant('id-by-name'), 'pet.unique-id', ['animals.agree']],
  ['a 201 that is not JSON', notJson, 'service.json', ['pet.id', 'pet.name', 'pet.category']],
  ['a path with a slash at its end needs no key', mutant('auth-path-slash'), 'auth.path', ['auth.missing']],
] as const) {
  test(fault, async (t) => {
    const results = await run(session(await server(t), { only: [fails, ...others] }));
    const failed = results.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
    assert.deepEqual(failed, [fails], failuresText(results));
  });
}

for (const [text, variant, only] of [
  ['a Retry-After that is longer than necessary', 'patient', ['limits.retry-after', 'limits.resets']],
  ['422 for a body that is not JSON', 'picky', ['create.not-json', 'create.empty', 'create.fraction']],
  ['a petId that is not an integer is an unknown path', 'picky', ['auth.invalid-request', 'get.not-found']],
] as const) {
  test(`no fault: ${text}`, async (t) => {
    const clock = fakeClock();
    const server = await smallServer(t, { variant, plan: 'free', clock });
    const results = await run(session(server, { only, exhaust: true }, clock));
    assert.deepEqual(results.map(({ verdict }) => verdict), only.map(() => 'passed'), failuresText(results));
  });
}
