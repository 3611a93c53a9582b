/** action.yml in a checkout without dist/ and node_modules/, as `uses: OWNER/REPO@v0.1.0` provides it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { root, runStep, steps } from './testing/action.ts';
import { smallServer } from './testing/servers.ts';

test('the kit is built once, and runs', async (t) => {
  const [checkout, tools] = [temporaryFolder(t), temporaryFolder(t)];
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');
  for (const file of files.filter((name) => name !== '' && existsSync(join(root, name))))
    cpSync(join(root, file), join(checkout, file));
  // The dependencies are those of this checkout, so that the test needs no registry.
  const npm = [
    '#!/bin/sh',
    `echo "$@" >> '${join(tools, 'calls')}'`,
    `[ "$1" = ci ] && exec ln -s '${join(root, 'node_modules')}' node_modules`,
    'exec node scripts/build.mjs',
  ];
  writeFileSync(join(tools, 'npm'), `${npm.join('\n')}\n`);
  chmodSync(join(tools, 'npm'), 0o755);
  const environment = { GITHUB_ACTION_PATH: checkout, PATH: [tools, process.env['PATH']].join(delimiter) };
  const { baseUrl, apiKey } = await smallServer(t);
  const given = { 'base-url': baseUrl, 'api-key': apiKey, options: '--only list.answers' };
  for (const step of [...steps, ...steps]) {
    const { code, stdout, stderr } = await runStep(t, step, given, environment).ended;
    assert.equal(code, 0, `${step.name}: ${stdout}${stderr}`);
  }
  assert.match(readFileSync(join(tools, 'calls'), 'utf8'), /^ci --include=dev [^\n]*\nrun build\n$/);
});
