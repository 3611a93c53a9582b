/**
 * `npm run test:servers`: runs the kit against the servers in this folder, and compares the requirements that fail with
 * those that README.md expects. Options of the kit can follow, for example `-- --exhaust --plan business`.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitOnSignals, thisProcess } from '../../harness/owner.ts';
import { NotStarted, outputOf, Program } from '../../harness/program.ts';
import type { Report } from '../report/report.ts';
import { differences, expectedFailures } from './expected.ts';

const folder = 'conformance/servers';
/** Virtual environments, binaries and reports. */
const built = 'build/servers';

const servers = [
  {
    name: 'fastapi',
    install: [
      ['python3', '-m', 'venv', `${built}/venv`],
      [`${built}/venv/bin/pip`, 'install', '--quiet', '-r', `${folder}/fastapi/requirements.txt`],
    ],
    start: [`${built}/venv/bin/python`, `${folder}/fastapi/server.py`],
  },
  {
    name: 'go',
    install: [['go', 'build', '-C', `${folder}/go`, '-o', `../../../${built}/petstore-go`]],
    start: [`${built}/petstore-go`],
  },
  {
    name: 'fastify',
    install: [['npm', 'ci', '--no-audit', '--no-fund', '--prefix', `${folder}/fastify`]],
    start: [process.execPath, `${folder}/fastify/server.mjs`],
  },
] as const;

const keys = { API_KEY: 'test_Kb7rT2xVq9KdLw4sHc8NpZa3', FREE_KEY: 'free_Xg5uJ8eRy1WfMk6tBv0DnSq9' };

/** @returns how the failed requirements differ from the expected ones */
async function test({ name, start }: (typeof servers)[number], options: readonly string[]): Promise<readonly string[]> {
  const server = new Program(thisProcess, start, keys);
  try {
    // uvicorn reports its address on stderr.
    const pattern = /(?:listening|running) on (http:\S+)/;
    const [, address] = await server.printed(pattern, name === 'fastapi' ? 'stderr' : 'stdout');
    const report = `${built}/report-${name}`;
    const command = [process.execPath, '--import', 'tsx', 'conformance/run.ts', '--report', report, ...options];
    const environment = { API_KEY: keys.API_KEY, EXHAUST_KEY: keys.FREE_KEY, BASE_URL: `${address}/v1` };
    const { code, stderr } = await new Program(thisProcess, command, environment).ended;
    if (code !== 0 && code !== 1) return [`the kit ended with exit code ${code}: ${stderr.trimEnd()}`];
    const { requirements } = JSON.parse(readFileSync(join(report, 'report.json'), 'utf8')) as Report;
    return differences(expectedFailures(name), requirements);
  } finally {
    await server.kill();
  }
}

exitOnSignals();
process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
mkdirSync(built, { recursive: true });
let [tested, different] = [0, 0];
for (const server of servers) {
  try {
    for (const command of server.install) {
      await outputOf(new Program(thisProcess, command, { HOME: process.env['HOME'] }).ended);
    }
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    console.log(`– ${server.name}: skipped, because it cannot be installed: ${error.message}`);
    continue;
  }
  tested++;
  const found = await test(server, process.argv.slice(2));
  if (found.length > 0) different++;
  console.log(found.length === 0 ? `✓ ${server.name}: fails what it should` : `✗ ${server.name}`);
  for (const line of found) console.log(`    ${line}`);
}
process.exit(different > 0 ? 1 : tested > 0 ? 0 : 2);
