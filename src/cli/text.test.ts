/** Keys that an operator has written into keys.json: the server accepts any text as a name, so the commands must too. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { petstore, startServer } from '../../harness/server.ts';
import { command, newKey } from '../testing/command.ts';
import { send } from '../testing/service.ts';

const names = [
  'a\u202eb', '\u001b[2J\u009b31m', 'line\nline', '\u2028\u0085', '\ud800', '', 'x'.repeat(9_000), 'Zoë "the" 👩‍👩‍👧',
];

for (const running of [false, true]) {
  test(`any name is listed and can be changed, ${running ? 'with' : 'without'} a running server`, async (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'keys.json');
    const secret = await newKey(folder);
    for (const _ of names.slice(1)) await newKey(folder);
    let next = 0;
    const edited = readFileSync(path, 'utf8')
      .replaceAll(/"name":"test"/g, () => `"name":${JSON.stringify(names[next++])}`)
      .replace(/"last4":"[^"]*"/, '"last4":"\\u001b[2J"')
      .replace(/,?"crc32":"[^"]*"/, '');
    writeFileSync(path, edited);
    const server = running ? await startServer(t, folder) : null;
    if (server !== null) assert.equal((await send(server.address, 'GET', '/v1/pets', { key: secret })).status, 200);

    const run = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await command(folder, ...args);
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
      for (const line of `${stdout}${stderr}`.split('\n')) {
        assert.doesNotMatch(line, /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufffd]/u, args.join(' '));
      }
      return stdout;
    };
    const table = (await run('keys', 'list')).split('\n');
    assert.equal((await petstore(t, folder, 'keys', 'list')).stdout, table.join('\n'));
    assert.match(table[1]!, /^k1 +a\\u202eb +business +active .* …\\u001b\[2J$/);
    assert.match(table[2]!, /^k2 +\\u001b\[2J\\u009b31m +business /);
    assert.match(table[8]!, /^k8 +Zoë "the" 👩‍👩‍👧 +business /);
    for (const args of [['keys', 'list'], ['usage']]) {
      await run(...args);
      const listed = JSON.parse(await run(...args, '--json')) as { name: string }[];
      assert.deepEqual(listed.map(({ name }) => name), names);
    }
    for (const id of names.map((_, index) => `k${index + 1}`)) {
      assert.match(await run('keys', 'rotate', id), /^petstore_\w+\n$/);
      for (const change of [['set-plan', id, 'free'], ['unban', id], ['revoke', id]]) await run('keys', ...change);
    }
    if (running) await run('status');
  });
}
