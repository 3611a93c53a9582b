/** The bench of overload as its users run it: a process, its output, its results and its exit code. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { Program } from '../harness/program.ts';

test('a quick run attacks each server once, judges nothing, and leaves nothing behind', async (t) => {
  const [temporary, results] = [temporaryFolder(t), temporaryFolder(t)];
  const command = [process.execPath, '--import', 'tsx', 'bench/overload.ts', '--quick'];
  const { code, stdout, stderr } = await new Program(t, command, { TMPDIR: temporary, BENCH_RESULTS: results }).ended;
  assert.equal(code, 0, stderr);
  const written = JSON.parse(readFileSync(join(results, 'overload.json'), 'utf8')) as {
    readonly results: { scheme: string; heapMb: number | null; latencies: { responses: number; p99Ms: number } }[];
  };
  const servers = written.results.map(({ scheme, heapMb }) => `${scheme} ${heapMb}`);
  assert.deepEqual(servers, ['http 256', 'http null', 'https 256', 'https null']);
  for (const { latencies } of written.results) assert.ok(latencies.responses >= 100 && latencies.p99Ms > 0);
  assert.match(stdout, /^At most \S+ times; 10 times are allowed\.$/m);
  assert.deepEqual(readdirSync(temporary).filter((name) => name.startsWith('petstore-')), []);
});
