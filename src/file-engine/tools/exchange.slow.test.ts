/** `petstore export` and `import` as processes. */
import assert from 'node:assert/strict';
import {
  closeSync, existsSync, openSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync, writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import { Program, type Ended } from '../../../harness/program.ts';
import { cliPath, makeKey, petstore, startServer } from '../../../harness/server.ts';

const linesOf = (count: number): string =>
  Array.from({ length: count }, (_, i) => `{"id":${i + 1},"name":"n${i}","categoryId":1,"status":"sold"}\n`).join('');

async function succeeded(command: Promise<Ended>): Promise<Ended> {
  const ended = await command;
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}

/** Runs `petstore import`, which kills itself when a function is called, before or after its effect. */
function killedImport(t: TestContext, folder: string, file: string, call: string, after: boolean): Promise<Ended> {
  const killing = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const owner = ${call.includes('promises') ? 'fs.promises' : 'fs'};
    const original = owner.${call.split('.').at(-1)};
    owner.${call.split('.').at(-1)} = (...args) => {
      if (String(args[0]).endsWith('pets.json.tmp') || ${!call.includes('promises')}) {
        if (${after}) fs.renameSync(...args);
        process.kill(process.pid, 'SIGKILL');
      }
      return original(...args);
    };
    syncBuiltinESMExports();`;
  const node = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(killing)}`];
  return new Program(t, [...node, cliPath, 'import', file, '--data', folder]).ended;
}

test('an import that is killed has changed nothing or is complete', async (t) => {
  const parent = temporaryFolder(t);
  const [folder, file] = [join(parent, 'store'), join(parent, 'animals')];
  writeFileSync(file, linesOf(50_000));
  await succeeded(petstore(t, folder, 'import', file));
  let count = 50_000;
  for (const [call, after] of [['writeSync', false], ['promises.rename', false], ['promises.rename', true]] as const) {
    const { code } = await killedImport(t, folder, file, call, after);
    assert.equal(code, null);
    if (after) count += 50_000;
    const { stdout } = await succeeded(petstore(t, folder, 'export'));
    assert.equal(stdout.split('\n').length - 1, count, `${call} ${after}`);
  }
  const server = await startServer(t, folder);
  const { stderr } = await server.stop();
  assert.ok(stderr.split('\n').includes(`petstore: ${count} animals in ${folder}`), stderr);
});

/** Runs `petstore`, and returns the largest memory that it had, in MiB. */
async function peakOf(t: TestContext, folder: string, ...args: string[]): Promise<number> {
  const reporting = `
    import { writeSync } from 'node:fs';
    process.on('exit', () => writeSync(2, 'peak ' + process.resourceUsage().maxRSS + ' KiB'));`;
  const node = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(reporting)}`];
  const { stderr } = await succeeded(new Program(t, [...node, cliPath, ...args, '--data', folder]).ended);
  return Number(/peak ([0-9]+) KiB$/.exec(stderr)![1]) / 1024;
}

test('an import and an export need little memory, however many animals there are', async (t) => {
  const parent = temporaryFolder(t);
  const [one, many] = [join(parent, 'one'), join(parent, 'many')];
  const [few, file, array] = [join(parent, 'few'), join(parent, 'animals'), join(parent, 'array')];
  const name = 'x'.repeat(1000);
  writeFileSync(few, linesOf(1));
  const descriptor = openSync(file, 'w');
  const count = 300_000;
  for (let id = 1; id <= count; id++) writeSync(descriptor, `{"id":${id},"name":"${name}","categoryId":1}\n`);
  closeSync(descriptor);
  const fileMiB = statSync(file).size / 1024 / 1024;
  const least = await peakOf(t, one, 'import', few);
  const peaks: Record<string, number> = {
    import: await peakOf(t, many, 'import', file),
    export: await peakOf(t, many, 'export', '--format', 'json', array),
    'import of an array to others': await peakOf(t, one, 'import', array),
    'import with the ids': await peakOf(t, join(parent, 'other'), 'import', '--keep-ids', array),
  };
  const server = await startServer(t, many);
  peaks['export of a server'] = await peakOf(t, many, 'export', '--force', file);
  await server.stop();
  const { stderr } = await succeeded(petstore(t, one, 'export', '--force', file));
  assert.equal(stderr, `exported ${count + 1} animals to ${file}\n`);
  const texts = Object.entries(peaks).map(([what, peak]) => `${what}: ${peak.toFixed()}`);
  t.diagnostic(`MiB for a file of ${fileMiB.toFixed()}: one animal: ${least.toFixed()}, ${texts.join(', ')}`);
  // A program that keeps all animals needs at least as much more as the file has.
  for (const [what, peak] of Object.entries(peaks)) assert.ok(peak < least + fileMiB / 2, `${what}: ${peak} MiB`);
});

test('a running server exports, refuses imports in one line, and what was exported can be imported', async (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'store');
  const [file, other] = [join(parent, 'animals'), join(parent, 'other')];
  const server = await startServer(t, folder, ['--demo']);
  const { stderr } = await succeeded(petstore(t, folder, 'export', file));
  assert.equal(stderr, `exported 32 animals to ${file}\n`);
  const piped = await succeeded(petstore(t, folder, 'export'));
  assert.deepEqual([piped.stdout, piped.stderr], [readFileSync(file, 'utf8'), 'exported 32 animals\n']);
  const refused = await petstore(t, folder, 'import', file);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^petstore: \S+ is in use by process \d+ \(server, [^\n]*; stop it before an import\n$/);
  await server.stop();
  const done = await succeeded(petstore(t, other, 'import', file, file));
  assert.equal(done.stderr, 'imported 64 animals, with ids from 1 to 64\n');
  const wrong = join(parent, 'wrong');
  writeFileSync(wrong, `${linesOf(1)}{"name":1}\n`);
  const failed = await petstore(t, join(parent, 'new'), 'import', wrong);
  assert.deepEqual([failed.code, failed.stderr], [1, `petstore: ${wrong}, line 2: the value is not a NewPet: ` +
    'name must be a string; categoryId is required; nothing was imported\n']);
  assert.equal(existsSync(join(parent, 'new')), false);
  for (const [code, message, ...args] of [
    [2, /--format must be ndjson or json, not "csv"/, 'export', '--format', 'csv'],
    [2, /import expects FILE…, received 0/, 'import'],
    [2, /export expects \[FILE\], received 2/, 'export', 'a', 'b'],
    [1, /cannot read \S+\/missing: ENOENT/, 'import', join(parent, 'missing')],
  ] as const) {
    const ended = await petstore(t, folder, ...args);
    assert.equal(ended.code, code, ended.stderr);
    assert.match(ended.stderr, message);
  }
  const missing = await petstore(t, join(parent, 'none'), 'export');
  assert.equal(missing.code, 1);
  assert.equal(existsSync(join(parent, 'none')), false);
});

test('no command destroys a file of a data folder, and an existing file is replaced only with --force', async (t) => {
  const parent = temporaryFolder(t);
  const [folder, other, file] = [join(parent, 'store'), join(parent, 'other'), join(parent, 'animals')];
  const [link, backup] = [join(parent, 'link'), join(parent, 'backup')];
  const server = await startServer(t, folder, ['--demo']);
  await succeeded(petstore(t, other, 'keys', 'create', '--name', 'a', '--plan', 'free'));
  await succeeded(petstore(t, folder, 'backup', backup));
  symlinkSync(join(other, 'keys.json'), link);
  const before = [other, backup].map((one) => readFileSync(join(one, 'keys.json'), 'utf8'));
  const refusals: [path: string, ...command: string[]][] = [
    [join(other, 'lock.9'), 'backup'], [join(other, 'pets.json'), 'salvage'],
    [join(other, 'usage.json'), 'export', '--force'], [join(folder, 'keys.json'), 'export', '--force'],
    [join(backup, 'backup.json'), 'export', '--force', '--orders'], [join(backup, 'keys.json'), 'export'],
  ];
  for (const [path, ...command] of refusals) {
    const { code, stderr } = await petstore(t, folder, ...command, path);
    const place = dirname(path);
    const message = `cannot write ${path}: the data folder ${place} reserves this name; choose another path`;
    assert.deepEqual([code, stderr], [1, `petstore: ${message}\n`]);
  }
  for (const [command, target, name] of [
    [['export', '--force', link], folder, 'keys.json'],
    [['restore', backup], join(other, 'lock.9'), 'lock.9'],
    [['keys', 'create', '--name', 'a', '--plan', 'free'], join(other, 'pets.json/x'), 'pets.json'],
    [['serve', '--log-format', 'text', '--host', `unix:${join(other, 'lock.7')}`], join(parent, 'new'), 'lock.7'],
  ] as const) {
    const { code, stdout, stderr } = await petstore(t, target, ...command);
    assert.deepEqual([code, stdout], [1, ''], command.join(' '));
    const message = `cannot write ${join(other, name)}: the data folder ${other} reserves this name`;
    assert.equal(stderr.split('\n').at(-2), `petstore: ${message}; choose another path`);
  }
  assert.deepEqual([other, backup].map((one) => readFileSync(join(one, 'keys.json'), 'utf8')), before);
  assert.deepEqual(readdirSync(other).filter((name) => /lock\.[79]|pets|usage|tmp/.test(name)), []);

  await succeeded(petstore(t, folder, 'export', file));
  const again = await petstore(t, folder, 'export', file);
  const exists = `petstore: ${file} exists; name another file, or replace it with --force\n`;
  assert.deepEqual([again.code, again.stderr], [1, exists]);
  await succeeded(petstore(t, folder, 'export', '--force', file));
  await server.stop();
});

test('an export to /dev/stdout writes to stdout: a pipe, a file or a file that is appended to', async (t) => {
  const parent = temporaryFolder(t);
  const [folder, file] = [join(parent, 'store'), join(parent, 'out')];
  writeFileSync(join(parent, 'animals'), linesOf(2));
  await succeeded(petstore(t, folder, 'import', join(parent, 'animals')));
  const shell = (redirection: string): Promise<Ended> => {
    const script = `"$0" "$1" export /dev/stdout --data "$2" ${redirection}`;
    return succeeded(new Program(t, ['sh', '-c', script, process.execPath, cliPath, folder, file]).ended);
  };
  assert.deepEqual(await shell(''), { code: 0, stdout: linesOf(2), stderr: 'exported 2 animals\n' });
  await shell('> "$3"');
  assert.equal(readFileSync(file, 'utf8'), linesOf(2));
  await shell('>> "$3"');
  assert.equal(readFileSync(file, 'utf8'), linesOf(2).repeat(2));
  await shell('| cat > "$3"');
  assert.equal(readFileSync(file, 'utf8'), linesOf(2));
});

test('an import with the largest id warns, and the refusals of creates do not say to try again', async (t) => {
  const parent = temporaryFolder(t);
  const [folder, file] = [join(parent, 'store'), join(parent, 'animals')];
  writeFileSync(file, '{"id":999999999999999,"name":"Rex","categoryId":1}');
  const { stderr } = await succeeded(petstore(t, folder, 'import', '--keep-ids', file));
  const [note, warning = '', ...more] = stderr.split('\n');
  assert.equal(note, 'imported 1 animal, with the id 999999999999999');
  assert.match(warning, /^petstore: the id 9{15} has been assigned, .* no animal can be added; export the animals, /);
  assert.deepEqual(more, ['']);
  const secret = await makeKey(t, folder);
  const server = await startServer(t, folder);
  const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' };
  const body = '{"name":"Mia","categoryId":1}';
  const response = await fetch(`${server.address}/v1/pets`, { method: 'POST', headers, body });
  const { code, message } = await response.json() as { code: string; message: string };
  assert.deepEqual([response.status, code], [503, 'storage_unavailable']);
  assert.equal(response.headers.get('Retry-After'), null);
  assert.match(message, /^The animal could not be saved, and no later one can be: .* The operator of this service /);
  assert.equal((await fetch(`${server.address}/v1/pets`, { headers })).status, 200);
  assert.equal((await fetch(`${server.address}/readyz`)).status, 503);
  const status = await succeeded(petstore(t, folder, 'status'));
  assert.match(status.stdout, /^state +refusing creates since .*: the id 9{15} has been assigned/);
  assert.match((await server.stop()).stderr, /^petstore: \S+store: the id 9{15} has been assigned/m);
});
