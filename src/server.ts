/** `petstore serve`: reads the configuration, listens, reads the data folder, and stops on a signal. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ServedCertificate } from './certificate.ts';
import { readConfig, requestedLogFormat, serverHelp, type Config } from './config.ts';
import { respondToCommand, type Accounts } from './control/commands.ts';
import { contentsOf } from './control/contents.ts';
import { describeHolder, FolderLock } from './control/folder-lock.ts';
import { statusOf } from './control/status.ts';
import { readSamples, startDemo } from './demo.ts';
import { messageOf, OperatorError } from './domain/operator-error.ts';
import { removeStaleSocket } from './files/stale-socket.ts';
import { storeIdOf } from './files/store-id.ts';
import { inTurns } from './files/turns.ts';
import type { Handler } from './http/connection.ts';
import { Listener, socketPathIn } from './http/listener.ts';
import { KeyRing } from './keys/key-ring.ts';
import { isActive } from './keys/key.ts';
import { UsageFile } from './limits/usage-file.ts';
import { Exposition } from './observe/exposition.ts';
import { MetricsServer } from './observe/metrics-server.ts';
import { Metrics } from './observe/metrics.ts';
import { Observed } from './observe/observed.ts';
import { ProcessFigures, writeServer, type Sources } from './observe/server-figures.ts';
import { ServerLog } from './observe/server-log.ts';
import { stderrSink } from './observe/stderr.ts';
import { clearLine, runProgram, version } from './program.ts';
import { Service } from './service.ts';
import { LineTable } from './store/line-table.ts';
import { orderSteps } from './store/orders.ts';
import { PetStore } from './store/pet-store.ts';
import { Progress } from './tools/progress.ts';

const headTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
/** Longer than the 60 s for which proxies keep idle connections, so that the proxies close them. */
const idleTimeoutMs = 65_000;
/** The time that requests under way have to finish when the server stops. */
const stopGraceMs = 10_000;
/** The same if the animals have not been read: requests are only refused then. */
const startGraceMs = 500;
/** When a server that stops ends in any case. Nothing confirmed is lost then: the next start reads the journal. */
const stopDeadlineMs = stopGraceMs + 500;

/** The time to write the end of the log to a reader that is slow. */
const logEndMs = 500;
/** A loopback address as `URL` writes it: IPv4, the same as IPv6, or IPv6. */
const loopback = /^(127\.|\[::ffff:7f[0-9a-f]{2}:|\[::1\]$)/;

const args = process.argv.slice(2);
const format = requestedLogFormat(args, process.env) ?? (process.stderr.isTTY ? 'text' : 'json');
const serverLog = new ServerLog(stderrSink(format === 'json' ? 'latin1' : 'utf8'), format, clearLine, Date.now);
const log = serverLog.event;
process.on('uncaughtException', (error) => {
  serverLog.last(`the server ends because of a bug: ${error instanceof Error ? error.stack : String(error)}`);
  process.kill(process.pid, 'SIGKILL'); // process.exit would wait for a disk that hangs
});

await runProgram(async () => {
  const config = readConfig(args, process.env);
  if (config === 'help') process.stdout.write(serverHelp);
  else if (config === 'version') process.stdout.write(`${version()}\n`);
  else await serve(config);
}, log, exit);

/** Ends the process when the log is written. */
async function exit(exitCode: number): Promise<never> {
  await serverLog.flushed(logEndMs);
  process.exit(exitCode);
}

async function serve(config: Config): Promise<void> {
  const { folder, basePath, trustedProxies } = config;
  const page = config.docs ? readFileSync(new URL('page.html', import.meta.url), 'utf8') : null;
  const samples = config.demo ? readSamples(new URL('sample/', import.meta.url)) : null;

  const certificate = config.tls === null ? null : await ServedCertificate.read(config.tls, log);
  const acquiring = FolderLock.acquire(folder, 'server');
  // Until the server listens, there is nothing to finish. But if the disk hangs, only the deadline can end the process.
  let stop = (): Promise<boolean> => acquiring.then(() => true, () => true);
  stopOnSignal(certificate === null ? ['SIGTERM', 'SIGINT', 'SIGHUP'] : ['SIGTERM', 'SIGINT'], () => stop());
  if (certificate !== null) process.on('SIGHUP', () => void certificate.reload());
  const lock = await acquiring;
  if (!(lock instanceof FolderLock)) {
    const advice = 'stop that process, or choose another folder with --data';
    throw new OperatorError(`the data folder ${folder} is in use by ${describeHolder(lock)}; ${advice}`);
  }
  const checkLock = (): Promise<void> => lock.check();
  const store = storeIdOf(folder);
  const keys = new KeyRing(folder, checkLock, store);
  const usage = new UsageFile(folder, Date.now, log, checkLock, store);
  keys.checkChanges(usage.recorded.keyChanges);
  const pets = new PetStore(folder, log, { store, recorded: usage.recorded.durable, checkLock });
  const orders = new LineTable();

  const { limiter } = usage;
  const service = new Service({ basePath, trustedProxies, keys, limiter, pets, orders, now: Date.now, log, page });
  const metrics = config.metrics === null ? null : new Metrics(service.operations);
  const access = config.accessLog ? serverLog.access : null;
  const isObserved = metrics !== null || access !== null;
  const handler = isObserved ? new Observed(service, { access, metrics, trustedProxies }) : service;
  let listening: { readonly address: string; readonly connections: Sources['connections'] } | null = null;
  let stoppingSince: number | null = null;
  const sources: Sources = {
    version: version(),
    maxConnections: config.maxConnections,
    connections: () => listening?.connections() ?? { open: 0, accepted: 0, refused: 0, failedHandshakes: 0 },
    certificateExpiresAt: () => certificate?.current.expiresAt ?? null,
    keys: () => ({ banned: limiter.bannedKeys(Date.now()), bans: service.bans }),
    animals: () => pets.table.count,
    orders: () => orders.count,
    files: () => pets.figures,
    droppedLogLines: () => serverLog.dropped,
  };
  const stores = { store, keys, usage, orders, pets };
  const server = { ...stores, sources, address: () => listening?.address ?? null, stoppingSince: () => stoppingSince };
  const accounts: Accounts = {
    keys,
    usage,
    contents: (withPets) => contentsOf(stores, withPets),
    status: (now) => statusOf(server, now),
  };
  const respond = (command: unknown): Promise<unknown> => respondToCommand(accounts, command);
  const failed = async (error: unknown): Promise<never> => {
    await lock.release(); // after responding to commands under way
    throw error;
  };
  const onLost = (reason: string): void => log(reason, 'error');
  lock.serve(null, respond, onLost); // already now, because a million orders take seconds
  await inTurns(orderSteps(folder, orders)).catch(failed);
  const listener = await listen(handler, config, certificate).catch(failed);
  const { address } = listener; // it has none any more when it stops
  warnOfPlainHttp(address);
  listening = { address, connections: () => ({ open: listener.connections, ...listener.counts }) };
  const metricsServer = metrics === null ? null : await serveMetrics(config, metrics, sources).catch(failed);
  lock.serve(address, respond, onLost);
  const start = new AbortController();
  const loading = load(pets, start.signal);
  stop = async () => {
    stoppingSince = Date.now();
    service.stop();
    start.abort();
    const wasLoaded = pets.progress === 100;
    const graceMs = wasLoaded ? stopGraceMs : startGraceMs;
    const completed = await listener.stop(graceMs);
    service.end();
    if (!completed) log(`stopped after ${graceMs / 1000} s although some requests had no response yet`, 'warn');
    await loading.catch(() => {});
    try {
      await usage.close();
    } finally {
      if (wasLoaded) await pets.snapshot(); // otherwise the files have everything
      if (pets.progress === 100) await pets.close();
    }
    metricsServer?.close();
    await lock.release(); // last, because another process may then use the folder
    return completed;
  };

  try {
    await loading;
  } catch (error) {
    if (start.signal.aborted) return; // `stop` ends the process
    return failed(error);
  }
  usage.follow(pets, keys);
  const demo = { folder, store, basePath, address, checkLock, keys, orders, pets };
  const greeting = samples === null ? '' : await startDemo(samples, demo);
  process.stdout.write(`petstore listening on ${address}\n${greeting}`);
  log(`${pets.table.count} animals in ${folder}`, 'info', { animals: pets.table.count, folder, address });
  if (!keys.keys.some((key) => isActive(key, Date.now()))) {
    const cli = shellWord(fileURLToPath(new URL('cli.js', import.meta.url)));
    const command = `node ${cli} keys create --name me --plan free --data ${shellWord(folder)}`;
    log(`there is no valid API key; create one: ${command}`, 'warn');
  }
}

/** Reads the animals, and shows the progress. Rejects also if `signal` is aborted meanwhile. */
async function load(pets: PetStore, signal: AbortSignal): Promise<void> {
  const progress = new Progress('reading the animals', log);
  try {
    await pets.load(() => {
      signal.throwIfAborted();
      progress.show(pets.progress);
    });
    signal.throwIfAborted();
  } finally {
    progress.end();
  }
}

async function listen(handler: Handler, config: Config, served: ServedCertificate | null): Promise<Listener> {
  const { host, port, maxConnections } = config;
  const path = socketPathIn(host);
  const limits = { maxConnections, headTimeoutMs, requestTimeoutMs, idleTimeoutMs };
  const certificate = served?.current ?? null;
  try {
    if (path !== null) await removeStaleSocket(path);
    const at = { host, port, certificate, monotonic: () => performance.now() };
    const listener = await Listener.open(handler, { ...at, ...limits });
    served?.follow((replacement) => listener.setCertificate(replacement));
    return listener;
  } catch (error) {
    const advice = path === null
      ? 'choose an address of this machine with --host, or another port with --port (0 chooses a free one)'
      : 'choose another path with --host, in a folder in which this user may write';
    throw new OperatorError(`cannot listen on ${path ?? `${host}, port ${port}`} (${messageOf(error)}): ${advice}`);
  }
}

/** Warns the operator if clients send their keys unencrypted over a network. */
function warnOfPlainHttp(address: string): void {
  if (!address.startsWith('http:') || loopback.test(new URL(address).hostname)) return;
  const advice = 'use --tls-cert and --tls-key, or listen on a loopback address behind a proxy with TLS';
  log(`clients send their keys unencrypted over the network to ${address}: ${advice}`, 'warn', { address });
}

async function serveMetrics({ metrics: at }: Config, metrics: Metrics, sources: Sources): Promise<MetricsServer> {
  const { host, port } = at!;
  const figures = new ProcessFigures();
  const read = (): string => {
    const exposition = new Exposition();
    metrics.writeTo(exposition);
    writeServer(exposition, sources);
    figures.writeTo(exposition, sources.version);
    return exposition.text;
  };
  try {
    const server = await MetricsServer.open(host, port, read);
    log(`metrics at ${server.address}`, 'info', { metrics: server.address });
    return server;
  } catch (error) {
    const advice = 'choose an address of this machine and a free port with --metrics';
    throw new OperatorError(`cannot serve metrics on ${host}, port ${port} (${messageOf(error)}): ${advice}`);
  }
}

/** Quotes a word for a shell if necessary. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Calls `stop` on one of the signals and ends the process: exit code 0 if `stop` returns true, otherwise 1. If
 * `stop` takes too long, SIGKILL ends it, because `process.exit` waits for a disk that hangs.
 */
function stopOnSignal(signals: readonly NodeJS.Signals[], stop: () => Promise<boolean>): void {
  const end = async (): Promise<never> => {
    setTimeout(() => {
      const what = `the files could not be saved within ${stopDeadlineMs / 1000} s`;
      serverLog.last(`${what}; the next start reads the journal instead`);
      process.kill(process.pid, 'SIGKILL');
    }, stopDeadlineMs);
    try {
      return await exit((await stop()) ? 0 : 1);
    } catch (error) {
      log(`stopping failed: ${(error as Error).message}`, 'error');
      return exit(1);
    }
  };
  let ending: Promise<never> | undefined;
  for (const signal of signals) process.on(signal, () => void (ending ??= end()));
}
