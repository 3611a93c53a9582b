/** action.yml: its steps are run against a server. action.slow.test.ts runs it in a checkout that is not built. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { inputs, runStep, steps } from './testing/action.ts';
import { assertNoKey } from './testing/kit.ts';
import { smallServer } from './testing/servers.ts';

const [, check] = steps;

test('every step uses bash and declared inputs, and has no expression in its script', () => {
  assert.deepEqual(inputs, ['base-url', 'api-key', 'exhaust-key', 'options']);
  assert.equal(steps.length, 2);
  for (const { name, shell, env, script } of steps) {
    assert.equal(shell, 'bash', name);
    assert.ok(script !== '' && !script.includes('${{'), name);
    for (const [, input] of env) assert.ok(inputs.includes(input), input);
  }
});

describe('the step that runs the kit', { concurrency: 2 }, () => {
  const options = '--only list.answers,get.not-found\n  --report build/out ';

  for (const [mutant, code] of [[undefined, 0], ['list-201', 1]] as const) {
    test(`exit ${code}, reports in the workspace, a job summary, and no key`, async (t) => {
      const { baseUrl, apiKey } = await smallServer(t, mutant === undefined ? {} : { mutant });
      const { ended, workspace } = runStep(t, check!, { 'base-url': baseUrl, 'api-key': apiKey, options });
      const { code: found, stdout, stderr } = await ended;
      assert.equal(found, code, stdout + stderr);
      const [summary, report] = [join(workspace, 'summary'), join(workspace, 'build/out/report.json')];
      assert.match(readFileSync(summary, 'utf8'), code === 0 ? /^## ✓ No violation found/ : /^## ✗ Does not conform/);
      assert.equal(/\n::error title=list\.answers::/.test(stdout), code === 1);
      assertNoKey([stdout, stderr, readFileSync(summary, 'utf8'), readFileSync(report, 'utf8')]);
    });
  }

  test('a missing URL or key is an error, and not a run against the server of the kit', async (t) => {
    for (const given of [{}, { 'base-url': 'http://127.0.0.1:1/v1' }, { 'api-key': 'test_abcdef' }]) {
      const { ended, workspace } = runStep(t, check!, given);
      const { code, stdout, stderr } = await ended;
      assert.equal(code, 2, stdout + stderr);
      assert.match(stdout, /^::error title=Conformance::--base-url /);
      assert.ok(existsSync(join(workspace, 'summary')));
    }
  });
});
