/** The scale bench as its users run it: a process, its output, its results and its exit code. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { debian, postgresBinaries } from '../harness/postgres-binaries.ts';
import { noPostgres } from '../harness/postgres.ts';
import { Program } from '../harness/program.ts';
import type { Result } from './measure/experiments.ts';
import { arePeersInstalled } from './peers/install.ts';
import type { ScaleSample } from './speed/check.ts';

const binaries = await postgresBinaries(process.env['CI'] === 'true');

const quickRun = [process.execPath, '--import', 'tsx', 'bench/scale.ts', '--quick'];

test('a quick run measures every target, judges none, and leaves nothing behind', async (t) => {
  if (binaries === null) return t.skip(noPostgres);
  const [temporary, results] = [temporaryFolder(t), temporaryFolder(t)];
  chmodSync(temporary, 0o755); // for the user of the database
  const { code, stdout, stderr } = await new Program(t, quickRun, { TMPDIR: temporary, BENCH_RESULTS: results }).ended;
  assert.equal(code, 0, stderr);
  const written = JSON.parse(readFileSync(join(results, 'scale.json'), 'utf8')) as {
    readonly results: readonly Result<keyof ScaleSample>[];
  };
  const servers = ['', '2 × ', '4 × '].map((count) => `${count}petstore on PostgreSQL`);
  const peer = arePeersInstalled() ? 'fastify + PostgreSQL' : [];
  const others = ['node:http', 'petstore'];
  const expected = Object.entries({
    'admission, one key': servers,
    'admission, 64 keys': servers,
    'list, one key': [...others, ...servers],
    'get, one key': [...others, servers[0]!],
    'create, one key': [...others, ...servers, peer].flat(),
    'create, 64 keys': [servers[0]!, peer].flat(),
  }).flatMap(([workload, targets]) => targets.map((target) => `${workload}: ${target}`));
  const measured = written.results.filter(({ samples }) => samples.length === 1);
  assert.deepEqual(measured.map(({ workload, target }) => `${workload}: ${target}`), expected, stdout);
  for (const { target, samples: [sample] } of measured) {
    assert.ok(sample!.requests > 0 && sample!.userCpu > 0, target);
    const hasDatabase = target.includes('PostgreSQL') && existsSync('/proc/self/stat');
    // It is counted in hundredths of a second, so it may be 0 in a quick run.
    assert.ok(hasDatabase ? sample!.databaseCpu >= 0 : sample!.databaseCpu === null, target);
  }
  const ratio = /^\| user CPU of a \w+ ÷ node:http +\| +\d+\.\d+ \(.* \| +at most \d/gm;
  assert.equal([...stdout.matchAll(ratio)].length, 3);
  assert.match(stdout, /^\| database CPU of an admission with 64 keys, µs +\|[^|]+\| +at most 67 \|$/m);
  assert.match(stdout, /^\| creates\/s ÷ fastify \+ PostgreSQL +\|[^|]+\| +at least 3 \|$/m);
  assert.match(stdout, /^PostgreSQL \d+\.\d+, fastify \d/m);
  assert.deepEqual(readdirSync(temporary).filter((name) => name.startsWith('petstore-')), []);
});

test('without PostgreSQL: exit 1, and one line that says what is missing', async (t) => {
  const script = `if [ -d ${debian} ]; then mount -t tmpfs none ${debian}; fi && exec "$0" "$@"`;
  const hide = ['unshare', '--mount', 'sh', '-c', script];
  const env = { PATH: '/usr/bin:/bin', BENCH_RESULTS: temporaryFolder(t) };
  const isHidden = (await new Program(t, [...hide, 'true'], env).ended).code === 0;
  if (!isHidden || existsSync('harness/postgres/node_modules') || existsSync('/usr/bin/initdb')) {
    return t.skip('PostgreSQL is installed, and cannot be hidden');
  }
  const { code, stdout, stderr } = await new Program(t, [...hide, ...quickRun], env).ended;
  assert.deepEqual([code, stdout], [1, ''], stderr);
  assert.match(stderr, /^bench:scale: needs PostgreSQL 15 or later: [^\n]+\n$/);
});
