/** A server on a storage engine: what it serves, and how it starts and stops. */
import { getHeapStatistics } from 'node:v8';
import type { ServedCertificate } from './certificate.ts';
import type { Config } from './config.ts';
import { execute, type Administered } from '../control/commands.ts';
import { statusOf } from '../control/status.ts';
import { counted } from '../domain/counted.ts';
import { messageOf, OperatorError } from '../domain/operator-error.ts';
import { mapSoon, type Engine, type Soon } from '../engine.ts';
import { requireParent } from '../file-engine/files/new-folder.ts';
import {
  nameSocket, removeSocket, removeStaleSocket, temporarySocketPath, type NamedSocket,
} from '../files/stale-socket.ts';
import { capacityOf, oldSpaceMiB, type Capacity } from '../http/capacity.ts';
import type { Handler } from '../http/connection.ts';
import { Listener, socketPathIn } from '../http/listener.ts';
import { isLoopback } from '../http/loopback.ts';
import type { SingleRequestServer } from '../http/single-request-server.ts';
import { Exposition } from '../observe/exposition.ts';
import { serveMetrics } from '../observe/metrics-server.ts';
import { Metrics } from '../observe/metrics.ts';
import { Observed } from '../observe/observed.ts';
import { ProcessFigures, writeServer, type Sources } from '../observe/server-figures.ts';
import type { ServerLog } from '../observe/server-log.ts';
import { version } from '../program/program.ts';
import { Service } from '../operations/service.ts';

const headTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
/** Longer than the 60 s for which proxies keep idle connections, so that the proxies close them. */
const idleTimeoutMs = 65_000;
/** The time that requests under way have to finish when the server stops. */
export const stopGraceMs = 10_000;
/** The same if the animals have not been read: requests are only refused then. */
const startGraceMs = 500;

/** The counts before a server listens. */
const noConnections: Listener['counts'] = { accepted: 0, refused: 0, dropped: 0, failedHandshakes: 0 };

/** What a server needs besides its configuration. */
export interface ServerParts {
  readonly engine: Engine;
  /** null: plain HTTP. */
  readonly certificate: ServedCertificate | null;
  /** The reference page; null if there is none. */
  readonly page: string | null;
  readonly serverLog: ServerLog;
}

export class RunningServer {
  /** What it listens on: `http://127.0.0.1:8080`. '' until it listens. */
  address = '';
  readonly #config: Config;
  readonly #parts: ServerParts;
  readonly #service: Service;
  readonly #metrics: Metrics | null;
  readonly #handler: Handler;
  readonly #administered: Administered;
  readonly #sources: Sources;
  readonly #capacity: Capacity;
  readonly #start = new AbortController();
  #listener: Listener | null = null;
  /** null if it listens on a port. */
  #socket: NamedSocket | null = null;
  #metricsServer: SingleRequestServer | null = null;
  #loading = Promise.resolve();

  /** The server responds to commands of `petstore` from now on. */
  constructor(config: Config, parts: ServerParts) {
    this.#config = config;
    this.#parts = parts;
    const { engine, page, serverLog } = parts;
    const { basePath, trustedProxies, origins } = config;
    this.#capacity = capacityOf(getHeapStatistics().heap_size_limit, config.maxConnections);
    const log = serverLog.event;
    const service = new Service({ basePath, trustedProxies, origins, engine, now: Date.now, log, page });
    this.#service = service;
    this.#metrics = config.metrics === null ? null : new Metrics(service.operations);
    const observers = { access: config.accessLog ? serverLog.access : null, metrics: this.#metrics, trustedProxies };
    const isObserved = observers.access !== null || observers.metrics !== null;
    this.#handler = isObserved ? new Observed(service, observers) : service;
    this.#sources = {
      version: version(),
      maxServed: this.#capacity.maxServed,
      connections: () => ({ open: this.#listener?.connections ?? 0, ...(this.#listener?.counts ?? noConnections) }),
      certificateExpiresAt: () => parts.certificate?.current.expiresAt ?? null,
      bans: () => service.bans,
      droppedLogLines: () => serverLog.dropped,
    };
    const state = {
      sources: this.#sources, engine,
      address: () => this.address || null,
      stoppingSince: () => service.stoppingSince,
    };
    this.#administered = { keys: engine.keys, status: (now) => statusOf(state, now) };
    this.#serveCommands(null);
  }

  /** Listens, and serves the metrics if that is configured. Rejects with OperatorError. */
  async listen(): Promise<void> {
    // First, because a failure after the listener has a Unix socket would leave that behind.
    if (this.#metrics !== null) this.#metricsServer = await this.#serveMetrics(this.#metrics);
    this.#listener = await this.#openListener();
    this.address = this.#socket === null ? this.#listener.address : `unix:${this.#socket.path}`;
    this.#warnOfPlainHttp();
    this.#warnOfSmallHeap();
    this.#serveCommands(this.address);
    this.#loading = this.#parts.engine.load(this.#start.signal);
  }

  /** Resolves to true when the animals are read, and to false if the server is stopped before. */
  async loaded(): Promise<boolean> {
    try {
      await this.#loading;
      return true;
    } catch (error) {
      if (this.#start.signal.aborted) return false;
      throw error;
    }
  }

  /**
   * Responds to the requests under way, saves everything and releases the data. Resolves to whether all requests were
   * responded to. Rejects with OperatorError.
   */
  async stop(): Promise<boolean> {
    const { engine, serverLog } = this.#parts;
    this.#service.stop();
    this.#start.abort();
    const graceMs = engine.progress === 100 ? stopGraceMs : startGraceMs;
    const completed = await this.#listener!.stop(graceMs);
    if (this.#socket !== null) this.#removeSocket(this.#socket);
    this.#service.end();
    const problem = `stopped after ${graceMs / 1000} s although some requests had no response yet`;
    if (!completed) serverLog.event(problem, 'warn');
    await this.#loading.catch(() => {});
    await engine.close();
    this.#metricsServer?.close();
    await engine.release(); // last, because another process may then use the data
    return completed;
  }

  #serveCommands(address: string | null): void {
    const { engine, serverLog } = this.#parts;
    const executeHere = (command: unknown): Promise<unknown> => execute(this.#administered, command, Date.now());
    engine.serveCommands(address, executeHere, (problem) => serverLog.event(problem, 'error'));
  }

  async #openListener(): Promise<Listener> {
    const { host, port } = this.#config;
    const { certificate } = this.#parts;
    const path = socketPathIn(host);
    const limits = { ...this.#capacity, headTimeoutMs, requestTimeoutMs, idleTimeoutMs };
    const at = { port, certificate: certificate?.current ?? null, monotonic: () => performance.now() };
    if (path !== null) requireParent(path);
    let temporary: string | null = null;
    try {
      if (path !== null) {
        await removeStaleSocket(path);
        temporary = temporarySocketPath(path);
      }
      const listenAt = temporary === null ? host : `unix:${temporary}`;
      const listener = await Listener.open(this.#handler, { ...at, ...limits, host: listenAt });
      if (path !== null) this.#socket = await nameOf(listener, temporary!, path);
      certificate?.follow((replacement) => listener.setCertificate(replacement));
      return listener;
    } catch (error) {
      const advice = path === null
        ? 'choose an address of this machine with --host, or another port with --port (0 chooses a free one)'
        : 'choose another path with --host, at which there is nothing, in a folder in which this user may write';
      const reason = messageOf(error).replaceAll(temporary ?? host, path ?? host);
      throw new OperatorError(`cannot listen on ${path ?? `${host}, port ${port}`} (${reason}): ${advice}`);
    }
  }

  /** Removes the socket's path, so that clients see that no server listens. The next start would do it as well. */
  #removeSocket(socket: NamedSocket): void {
    try {
      removeSocket(socket);
    } catch (error) {
      this.#parts.serverLog.event(`cannot remove ${socket.path}: ${messageOf(error)}`, 'warn');
    }
  }

  /** Warns the operator if clients send their keys unencrypted over a network. */
  #warnOfPlainHttp(): void {
    const { address } = this;
    if (!address.startsWith('http:') || isLoopback(new URL(address).host)) return;
    const advice = 'use --tls-cert and --tls-key, or listen on a loopback address behind a proxy with TLS';
    const problem = `clients send their keys unencrypted over the network to ${address}`;
    this.#parts.serverLog.event(`${problem}: ${advice}`, 'warn', { address });
  }

  /** Warns the operator if fewer connections are served than the configuration asks for. */
  #warnOfSmallHeap(): void {
    const { maxConnections } = this.#config;
    const { maxServed: served } = this.#capacity;
    if (maxConnections === null || served === maxConnections) return;
    const advice = `start Node with --max-old-space-size=${oldSpaceMiB(maxConnections)}, or lower --max-connections`;
    const room = counted(served, 'connection');
    const problem = `the heap has room for ${room}, not for ${maxConnections}; further ones receive 503`;
    this.#parts.serverLog.event(`${problem}: ${advice}`, 'warn', { served, maxConnections });
  }

  async #serveMetrics(metrics: Metrics): Promise<SingleRequestServer> {
    const { host, port } = this.#config.metrics!;
    const figures = new ProcessFigures();
    const read = (): Soon<string> => mapSoon(this.#parts.engine.figures(), (engineFigures) => {
      const exposition = new Exposition();
      metrics.writeTo(exposition);
      writeServer(exposition, this.#sources, engineFigures);
      figures.writeTo(exposition, this.#sources.version);
      return exposition.text;
    });
    try {
      const server = await serveMetrics(host, port, read);
      const at = `${server.address}/metrics`;
      this.#parts.serverLog.event(`metrics at ${at}`, 'info', { metrics: at });
      return server;
    } catch (error) {
      const advice = 'choose an address of this machine and a free port with --metrics';
      throw new OperatorError(`cannot serve metrics on ${host}, port ${port} (${messageOf(error)}): ${advice}`);
    }
  }
}

/** Gives the socket of a listener its path. If that is taken, closes the listener, and rejects as `listen` would. */
async function nameOf(listener: Listener, temporary: string, path: string): Promise<NamedSocket> {
  try {
    return nameSocket(temporary, path);
  } catch (error) {
    await listener.stop(0);
    const isTaken = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw isTaken ? new Error(`EADDRINUSE: something else has the path ${path}`) : error;
  }
}
