/**
 * `npm run test:clients [-- NAME…]`: generates clients from the openapi.json that the built server serves, builds them,
 * and lets each do a round trip with the server. Then runs the first calls in docs/clients.md. A client whose toolchain
 * cannot be installed is skipped.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitOnSignals, temporaryFolder, thisProcess } from '../harness/owner.ts';
import { NotStarted, outputOf, Program, reasonIn } from '../harness/program.ts';
import { buildIfNeeded, makeKey, startServer } from '../harness/server.ts';
import { firstCalls, noToolchain, type FirstCall } from './first-calls.ts';

/** Generated clients, and what is downloaded. */
const built = 'build/clients';
const document = `${built}/openapi.json`;
const jar = `${built}/openapi-generator-7.25.0.jar`;
const jarUrl =
  'https://repo1.maven.org/maven2/org/openapitools/openapi-generator-cli/7.25.0/openapi-generator-cli-7.25.0.jar';
const jarHash = '41ce4f6b07f196676439d710759fa1ced7a08066d06ff1bf314681470289efae';
const oapiCodegen = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';

const openApiGenerator = (generator: string, properties: string): string[] => [
  'java', '-jar', jar, 'generate', '-i', document, '-g', generator, '-o', `${built}/${generator}`,
  '--additional-properties', properties,
];

interface Client {
  readonly name: string;
  /** Commands that need a toolchain or a registry: if one fails, the client is skipped. */
  readonly install: readonly (readonly string[])[];
  /** Whether the client needs the jar of openapi-generator. */
  readonly needsJar?: boolean;
  /** Source files to copy into the generated client: from, to. */
  readonly copies?: readonly (readonly [string, string])[];
  /** Commands that generate and build the client: none may fail. */
  readonly build: readonly (readonly string[])[];
  readonly run: readonly string[];
}

const clients: readonly Client[] = [
  {
    name: 'openapi-typescript with openapi-fetch',
    install: [['npm', 'ci', '--no-audit', '--no-fund', '--prefix', 'clients/fetch']],
    build: [
      [process.execPath, 'clients/fetch/generate.mjs', document, 'clients/fetch/types.ts'],
      [process.execPath, 'clients/fetch/node_modules/typescript/bin/tsc', '-p', 'clients/fetch'],
    ],
    run: [process.execPath, 'clients/fetch/dist/round-trip.js'],
  },
  {
    name: 'openapi-generator, Python',
    needsJar: true,
    install: [['java', '-version'], ['python3', '-m', 'venv', `${built}/venv`]],
    build: [
      openApiGenerator('python', 'hideGenerationTimestamp=true'),
      [`${built}/venv/bin/pip`, 'install', '--quiet', `./${built}/python`],
    ],
    run: [`${built}/venv/bin/python`, 'clients/python/round_trip.py'],
  },
  {
    name: 'openapi-generator, Java',
    needsJar: true,
    install: [['java', '-version'], ['mvn', '--version']],
    copies: [['clients/java/RoundTrip.java', `${built}/java/src/main/java/RoundTrip.java`]],
    build: [
      openApiGenerator('java', 'library=native,hideGenerationTimestamp=true'),
      [
        'mvn', '--quiet', '--batch-mode', '-f', `${built}/java/pom.xml`, '-DskipTests', '-Dmaven.javadoc.skip=true',
        'package',
      ],
    ],
    run: ['java', '-cp', `${built}/java/target/classes:${built}/java/target/lib/*`, 'RoundTrip'],
  },
  {
    name: 'openapi-generator, Go',
    needsJar: true,
    install: [['java', '-version'], ['go', 'version']],
    copies: [['clients/go/main.go', `${built}/go/cmd/main.go`]],
    build: [
      [...openApiGenerator('go', 'withGoMod=true,packageName=petstore'),
        '--git-host', 'example.test', '--git-user-id', 'x', '--git-repo-id', 'petstore'],
      ['go', 'build', '-C', `${built}/go`, '-o', 'round-trip', './cmd'],
    ],
    run: [`${built}/go/round-trip`],
  },
  {
    name: 'oapi-codegen',
    install: [['go', 'version'], ['go', 'install', oapiCodegen]],
    copies: [
      ['clients/oapi-codegen/main.go', `${built}/oapi-codegen/main.go`],
      ['clients/oapi-codegen/go.mod', `${built}/oapi-codegen/go.mod`],
    ],
    build: [
      [`${built}/bin/oapi-codegen`, '-generate', 'types,client', '-package', 'main',
        '-o', `${built}/oapi-codegen/client.gen.go`, document],
      ['go', 'mod', '-C', `${built}/oapi-codegen`, 'tidy'],
      ['go', 'build', '-C', `${built}/oapi-codegen`, '-o', 'round-trip', '.'],
    ],
    run: [`${built}/oapi-codegen/round-trip`],
  },
  {
    name: 'openapi-generator, server stub for FastAPI',
    needsJar: true,
    install: [['java', '-version'], ['python3', '-m', 'venv', `${built}/venv-fastapi`]],
    build: [
      openApiGenerator('python-fastapi', 'hideGenerationTimestamp=true'),
      [`${built}/venv-fastapi/bin/pip`, 'install', '--quiet', 'fastapi', 'python-multipart'],
    ],
    run: [
      `${built}/venv-fastapi/bin/python`, '-c',
      `import sys; sys.path.insert(0, '${built}/python-fastapi/src'); import openapi_server.main`,
    ],
  },
];

/** Returns the absolute path of a folder of generated clients. */
function absolute(folder: string): string {
  return fileURLToPath(new URL(`../${built}/${folder}`, import.meta.url));
}

/** The toolchain of a client cannot be installed. */
class NoToolchain extends NotStarted {}

/** Of this process, because tools find registries, proxies and certificates with them. */
const variables = { ...process.env, GOBIN: absolute('bin'), CARGO_TARGET_DIR: absolute('cargo') };

/** Runs commands one after the other; throws NotStarted with the reason if one fails. */
async function runAll(commands: readonly (readonly string[])[], env: NodeJS.ProcessEnv = {}): Promise<void> {
  for (const command of commands) await outputOf(new Program(thisProcess, command, { ...variables, ...env }).ended);
}

/** Downloads openapi-generator unless it is there. Throws NotStarted if that fails. */
async function downloadJar(): Promise<void> {
  if (existsSync(jar)) return;
  const response = await fetch(jarUrl).catch(({ cause, message }: Error) => {
    throw new NotStarted(`${jarUrl}: ${cause instanceof Error ? cause.message : message}`);
  });
  if (!response.ok) throw new NotStarted(`${jarUrl}: status ${response.status}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  const hash = createHash('sha256').update(bytes).digest('hex');
  if (hash !== jarHash) throw new Error(`${jarUrl} has the SHA-256 ${hash}, not ${jarHash}`);
  writeFileSync(jar, bytes);
}

/** Starts the server on an empty folder, and runs the client against it. */
async function roundTrip(client: Client): Promise<void> {
  const folder = temporaryFolder(thisProcess);
  const API_KEY = await makeKey(thisProcess, folder);
  const LIMITED_KEY = await makeKey(thisProcess, folder, 'enterprise', '--per-minute', '1', '--per-day', '1000');
  const server = await startServer(thisProcess, folder);
  const WRONG_KEY = `petstore_${'0'.repeat(36)}`;
  try {
    await runAll([client.run], { BASE_URL: `${server.address}/v1`, API_KEY, LIMITED_KEY, WRONG_KEY });
  } finally {
    await server.stop();
  }
}

/** Runs a first call in an empty folder, on a server with two animals, one of which is available. */
async function callFirst({ script }: FirstCall): Promise<void> {
  const folder = temporaryFolder(thisProcess);
  const KEY = await makeKey(thisProcess, folder);
  const server = await startServer(thisProcess, folder);
  try {
    const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
    for (const animal of [{ name: 'Tom', categoryId: 1, status: 'sold' }, { name: 'Żubr', categoryId: 1 }]) {
      await fetch(`${server.address}/v1/pets`, { method: 'POST', headers, body: JSON.stringify(animal) });
    }
    const env = { ...variables, BASE_URL: server.address, KEY };
    const options = { cwd: temporaryFolder(thisProcess) };
    const { ended } = new Program(thisProcess, ['bash', '-euo', 'pipefail', '-c', script], env, options);
    const { code, stderr } = await ended;
    if (code === noToolchain) throw new NoToolchain(reasonIn(stderr) ?? 'its generator cannot be installed');
    const stdout = await outputOf(ended);
    if (!stdout.endsWith('2 Żubr\n') || stdout.includes('Tom')) throw new NotStarted(`it prints ${stdout}`);
  } finally {
    await server.stop();
  }
}

exitOnSignals();
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
mkdirSync(built, { recursive: true });
await buildIfNeeded(thisProcess);
const server = await startServer(thisProcess, temporaryFolder(thisProcess));
writeFileSync(document, await (await fetch(`${server.address}/openapi.json`)).text());
await server.stop();

const words = process.argv.slice(2).map((word) => word.toLowerCase());
const isChosen = (name: string): boolean =>
  words.length === 0 || words.some((word) => name.toLowerCase().includes(word));
let [passed, failed] = [0, 0];

/** Runs a test, which throws NotStarted if it fails, and prints its result. */
async function test(name: string, run: () => Promise<void>): Promise<void> {
  if (!isChosen(name)) return;
  try {
    await run();
    passed++;
    console.log(`✓ ${name}`);
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    const isSkipped = error instanceof NoToolchain;
    if (!isSkipped) failed++;
    console.log(isSkipped ? `– ${name}: skipped: ${error.message}` : `✗ ${name}: ${error.message}`);
  }
}

for (const client of clients) {
  await test(client.name, async () => {
    try {
      if (client.needsJar) await downloadJar();
      await runAll(client.install);
    } catch (error) {
      throw error instanceof NotStarted ? new NoToolchain(error.message) : error;
    }
    for (const [from, to] of client.copies ?? []) {
      mkdirSync(dirname(to), { recursive: true });
      copyFileSync(from, to);
    }
    await runAll(client.build);
    await roundTrip(client);
  });
}
for (const call of firstCalls('docs/clients.md')) await test(`first call, ${call.language}`, () => callFirst(call));
process.exit(failed > 0 ? 1 : passed > 0 ? 0 : 2);
