/**
 * `npm run test:clients [-- NAME…]`: generates clients from the openapi.json that the built server serves, builds them,
 * and lets each do a round trip with the server. A client whose toolchain cannot be installed is skipped.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { exitOnSignals, temporaryFolder, thisProcess } from '../harness/owner.ts';
import { NotStarted, outputOf, Program } from '../harness/program.ts';
import { buildIfNeeded, makeKey, startServer } from '../harness/server.ts';

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
];

/** Runs commands one after the other; throws NotStarted with the reason if one fails. */
async function runAll(commands: readonly (readonly string[])[], env: NodeJS.ProcessEnv = {}): Promise<void> {
  const own = { HOME: process.env['HOME'], GOBIN: fileURLToPath(new URL(`../${built}/bin`, import.meta.url)) };
  for (const command of commands) await outputOf(new Program(thisProcess, command, { ...own, ...env }).ended);
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

exitOnSignals();
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
mkdirSync(built, { recursive: true });
await buildIfNeeded(thisProcess);
const server = await startServer(thisProcess, temporaryFolder(thisProcess));
writeFileSync(document, await (await fetch(`${server.address}/openapi.json`)).text());
await server.stop();

const words = process.argv.slice(2);
let [passed, failed] = [0, 0];
for (const client of clients) {
  const { name, install, needsJar, copies = [], build } = client;
  if (words.length > 0 && !words.some((word) => name.toLowerCase().includes(word.toLowerCase()))) continue;
  try {
    if (needsJar) await downloadJar();
    await runAll(install);
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    console.log(`– ${name}: skipped, because its toolchain cannot be installed: ${error.message}`);
    continue;
  }
  try {
    for (const [from, to] of copies) {
      mkdirSync(new URL('.', new URL(`../${to}`, import.meta.url)), { recursive: true });
      copyFileSync(from, to);
    }
    await runAll(build);
    await roundTrip(client);
    passed++;
    console.log(`✓ ${name}`);
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    failed++;
    console.log(`✗ ${name}: ${error.message}`);
  }
}
process.exit(failed > 0 ? 1 : passed > 0 ? 0 : 2);
