/**
 * Bursts: a few hundred requests to one server, then as many to the next one, again and again. All servers run at the
 * same time, so what else the machine does affects each of them, and the bursts that it disturbed least are compared.
 */
import { Connection } from './connection.ts';
import { quantile, WrongResponses, type LoadOptions } from './load.ts';
import type { ServerProcess } from './server-process.ts';

/** How many bursts each server receives, and of how many requests. */
export interface Bursts {
  readonly requests: number;
  /** Bursts that are not counted, because the server is not warm yet. */
  readonly warmUp: number;
  readonly counted: number;
}

/** CPU time per request of one process of a server, in microseconds. */
export interface BurstSample {
  /** The 10th percentile of all bursts, user and system. */
  readonly cpu: number;
  /**
   * Its two parts, by their shares in the CPU time of all bursts. Linux measures their sum, and divides it by samples,
   * often only 250 a second: too few for a single burst.
   */
  readonly userCpu: number;
  readonly systemCpu: number;
}

const percentile = 0.1;

/**
 * Measures servers by bursts of the same requests. Every second round is in reverse order from the second server on:
 * each server follows several others, and never itself, because its code would still be in the processor's caches.
 *
 * @throws WrongResponses
 */
export async function measureBursts(
  servers: readonly { readonly process: ServerProcess; readonly load: LoadOptions }[], bursts: Bursts,
): Promise<readonly BurstSample[]> {
  const clients = servers.map(({ process, load }) => new Client(process, load));
  try {
    for (let round = 0; round < bursts.warmUp + bursts.counted; round++) {
      if (round === bursts.warmUp) for (const client of clients) client.forget();
      const order = round % 2 === 0 ? clients : [...clients.slice(0, 1), ...clients.slice(1).toReversed()];
      for (const client of order) await client.burst(bursts.requests);
    }
    return clients.map((client) => client.sample);
  } finally {
    for (const client of clients) client.close();
  }
}

/** Sends bursts to one server, on connections that stay open. */
class Client {
  readonly #process: ServerProcess;
  readonly #load: LoadOptions;
  readonly #connections: readonly Connection[];
  readonly #messages: readonly Buffer[];
  #next = 0;
  #bursts: { readonly user: number; readonly system: number }[] = [];

  constructor(process: ServerProcess, load: LoadOptions) {
    const port = Number(new URL(load.url).port);
    this.#process = process;
    this.#load = load;
    this.#connections = Array.from({ length: load.connections }, () => new Connection(port));
    this.#messages = messagesOf(load);
  }

  async burst(requests: number): Promise<void> {
    const end = this.#next + requests;
    const before = await this.#process.usage();
    await this.#process.during(Promise.all(this.#connections.map(async (connection) => {
      while (this.#next < end) await this.#exchange(connection, this.#next++ % this.#messages.length);
    })));
    const after = await this.#process.usage();
    this.#bursts.push({
      user: (after.user - before.user) / requests,
      system: (after.system - before.system) / requests,
    });
  }

  async #exchange(connection: Connection, index: number): Promise<void> {
    const { status, expectedBody } = this.#load;
    const response = await connection.exchange(this.#messages[index]!);
    const isRight = response.status === status && (expectedBody === undefined || response.body === expectedBody);
    if (!isRight) throw new WrongResponses(`${this.#load.url} returned ${response.status}: ${response.body}`);
  }

  /** Forgets the bursts so far. */
  forget(): void {
    this.#bursts = [];
  }

  get sample(): BurstSample {
    const sum = (part: 'user' | 'system'): number => this.#bursts.reduce((all, burst) => all + burst[part], 0);
    const cpu = quantile(this.#bursts.map(({ user, system }) => user + system), percentile);
    const userShare = sum('user') / (sum('user') + sum('system'));
    return { cpu, userCpu: cpu * userShare, systemCpu: cpu * (1 - userShare) };
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}

/** The messages of a load, built before it starts. */
function messagesOf({ url, method = 'GET', headers, body = '', requests = [{}] }: LoadOptions): readonly Buffer[] {
  return requests.map((request) => {
    const { host, pathname, search } = new URL(request.path ?? url, url);
    const lines = Object.entries({
      Host: host,
      ...headers,
      ...request.headers,
      ...(method === 'POST' && { 'Content-Length': String(Buffer.byteLength(body)) }),
    }).map((entry) => `${entry.join(': ')}\r\n`);
    return Buffer.from(`${method} ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  });
}
