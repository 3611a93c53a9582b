/**
 * `npm run test:servers`: runs the kit against servers of other frameworks (bench/peers/), and compares the
 * requirements that fail with those that README.md expects. Options of the kit can follow, for example
 * `-- --exhaust --plan business`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitOnSignals, temporaryFolder, thisProcess } from '../../harness/owner.ts';
import { NotStarted, outputOf, Program } from '../../harness/program.ts';
import type { Report } from '../report/report.ts';
import { differences, expectedFailures } from './expected.ts';

/** Virtual environments, binaries and reports. */
const built = 'build/servers';

const servers = [
  {
    name: 'fastapi',
    install: [
      ['python3', '-m', 'venv', `${built}/venv`],
      [`${built}/venv/bin/pip`, 'install', '--quiet', '-r', 'bench/peers/fastapi/requirements.txt'],
    ],
    start: [`${built}/venv/bin/python`, 'bench/peers/fastapi/server.py'],
    prints: 'stderr',
  },
  {
    name: 'go',
    install: [['go', 'build', '-C', 'bench/peers/go', '-o', `../../../${built}/petstore-go`]],
    start: [`${built}/petstore-go`],
    prints: 'stdout',
  },
  {
    name: 'fastify',
    install: [[process.execPath, '--import', 'tsx', 'bench/peers/install.ts']],
    start: ['env', 'PEER_VALIDATION=default', process.execPath, 'bench/peers/fastify.mjs'],
    prints: 'stdout',
  },
  {
    name: 'express',
    install: [[process.execPath, '--import', 'tsx', 'bench/peers/install.ts']],
    start: [process.execPath, 'bench/peers/express.mjs'],
    prints: 'stdout',
  },
  {
    name: 'php',
    // Nothing is installed, but what is missing is named: see README.md.
    install: [['php', '-d', 'display_errors=stderr', 'bench/peers/php/packages.php']],
    start: ['php', '-S', '127.0.0.1:0', 'bench/peers/php/server.php'],
    prints: 'stderr',
  },
] as const;

const [businessKey, freeKey] = ['test_Kb7rT2xVq9KdLw4sHc8NpZa3', 'free_Xg5uJ8eRy1WfMk6tBv0DnSq9'];
const noPets = `${built}/no-pets.json`;
/** See bench/peers/contract.mjs and bench/peers/fastify.mjs. */
const environment = {
  PEER_KEYS: JSON.stringify([
    { key: businessKey, perMinute: 1_000, perDay: 100_000 },
    { key: freeKey, perMinute: 60, perDay: 1_000 },
  ]),
  PEER_PETS: noPets,
  PEER_STORE: 'memory',
};

/** @returns how the failed requirements differ from the expected ones */
async function test({ name, start, prints }: (typeof servers)[number], options: readonly string[]): Promise<readonly string[]> {
  const server = new Program(thisProcess, start, { ...environment, PEER_DATA: temporaryFolder(thisProcess) });
  try {
    const pattern = /(?:listening on |running on |Development Server \()(http:[^\s)]+)/;
    const [, address] = await server.printed(pattern, prints);
    const report = `${built}/report-${name}`;
    const command = [process.execPath, '--import', 'tsx', 'conformance/run.ts', '--report', report, ...options];
    const target = { API_KEY: businessKey, EXHAUST_KEY: freeKey, BASE_URL: new URL('/v1', address).href };
    const { code, stderr } = await new Program(thisProcess, command, target).ended;
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
writeFileSync(noPets, '[]');
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
