/** Attacks a server without a key, and measures meanwhile how it responds to a client that has one. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { certificateFlags, makeCertificate } from './certificates.ts';
import { temporaryFolder, type Owner } from './owner.ts';
import { Program } from './program.ts';
import { makeKey, petstore, serverPath, startServer, type RunningServer } from './server.ts';

/** What every connection of an attack sends: `text`, repeated to about 64 KB. */
export interface Attack {
  readonly name: string;
  readonly text: string;
  /** Whether the attacker reads the responses. */
  readonly reads?: boolean;
  /** Whether it sends the piece again whenever the last one is sent. */
  readonly repeats?: boolean;
}

const header = 'a:\r\n';
const secret = `petstore_${'0'.repeat(36)}`;

/** The attacks that are known: tiny requests, large heads, bodies, chunks, valid refusals and large responses. */
export const attacks: readonly Attack[] = [
  { name: 'tiny requests', text: 'GET / HTTP/1.1\r\nHost:\r\n\r\n' },
  { name: 'tiny requests, read', text: 'GET / HTTP/1.1\r\nHost:\r\n\r\n', reads: true },
  { name: 'HTTP/1.0', text: 'GET / HTTP/1.0\r\n\r\n' },
  { name: 'malformed messages', text: 'A\r\n\r\n' },
  { name: 'large heads', text: `GET / HTTP/1.1\r\nHost:\r\n${header.repeat(3_000)}\r\n` },
  { name: 'requests with bodies', text: 'POST / HTTP/1.1\r\nHost:\r\nContent-Length:1\r\n\r\na' },
  {
    name: 'a body in tiny chunks',
    text: `POST / HTTP/1.1\r\nHost:\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(10_000)}0\r\n\r\n`,
  },
  { name: 'invalid keys', text: `GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\n\r\n` },
  { name: 'requests without a pause', text: 'GET / HTTP/1.1\r\nHost:\r\n\r\n', reads: true, repeats: true },
  { name: 'unread responses', text: 'GET /openapi.json HTTP/1.1\r\nHost:\r\n\r\n', repeats: true },
  { name: 'large responses', text: `GET /openapi.json HTTP/1.1\r\nHost:\r\nA:${'a'.repeat(3_000)}\r\n\r\n` },
];

const pieceBytes = 64 * 1024;

/**
 * Opens connections to a server and sends a piece of 64 KB on each.
 *
 * @param address of the server: `http://127.0.0.1:8080`
 * @param priority of the process for the scheduler
 * @returns the attacker, which keeps the connections open until it is killed, when each was accepted or refused
 * @throws NotStarted
 */
async function attack(
  owner: Owner, address: string, kind: Attack, connections: number, priority: number,
): Promise<Program> {
  const { text, reads = false, repeats = false } = kind;
  const repeat = repeats ? 100 : Math.max(1, Math.floor(pieceBytes / text.length)); // so many are not too many requests
  const attacker = start(owner, 'attacker.mjs', address, { connections, text, repeat, reads, repeats, priority });
  await attacker.printed(/opened\n/);
  return attacker;
}

/** What a client measured: how many responses it received, and their latencies. */
export interface Latencies {
  readonly responses: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** A client with a key, whose connection is open. A request that fails, or has another status than 200, ends it. */
class SteadyClient {
  readonly #program: Program;

  private constructor(program: Program) {
    this.#program = program;
  }

  /**
   * Connects.
   *
   * @param secret of a key whose limits are high enough
   * @param animals the ids from 1 to this one exist
   * @throws NotStarted
   */
  static async connect(owner: Owner, address: string, secret: string, animals: number): Promise<SteadyClient> {
    const program = start(owner, 'steady-client.mjs', address, { secret, animals });
    await program.printed(/connected\n/);
    program.stdout = '';
    return new SteadyClient(program);
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    await this.#program.kill();
  }

  /** Sends requests one after the other until `end`. */
  begin(): void {
    this.#program.child.stdin.write('begin\n');
  }

  /**
   * Ends that after so many further responses, and returns the latencies of all since `begin`.
   *
   * @throws NotStarted if a request has failed
   */
  async end(further: number): Promise<Latencies> {
    this.#program.child.stdin.write(`end ${further}\n`);
    const [line] = await this.#program.printed(/.+\n/);
    this.#program.stdout = '';
    return JSON.parse(line) as Latencies;
  }
}

/** The ids from 1 to this one are those of sample animals. */
const animals = 32;

/** A server with sample animals, and a client with a key whose limits it does not reach. */
export class Overload {
  readonly server: RunningServer;
  /** The priority of the attacker for the scheduler: 19 is the lowest. */
  attackerPriority = 0;
  readonly #owner: Owner;
  readonly #folder: string;
  readonly #secret: string;
  readonly #client: SteadyClient;

  private constructor(owner: Owner, server: RunningServer, folder: string, secret: string, client: SteadyClient) {
    this.#owner = owner;
    this.#folder = folder;
    this.#secret = secret;
    this.server = server;
    this.#client = client;
  }

  /**
   * Starts the built server with a heap of this size (in MiB; null: the default size) and connects the client.
   *
   * @throws NotStarted
   */
  static async start(owner: Owner, scheme: 'http' | 'https', heapMb: number | null): Promise<Overload> {
    const folder = temporaryFolder(owner);
    const store = storeIn(folder);
    const snapshots = ['--heapsnapshot-signal=SIGUSR2', `--diagnostic-dir=${folder}`];
    const heap = heapMb === null ? [] : [`--max-old-space-size=${heapMb}`];
    const command = [process.execPath, ...snapshots, ...heap, serverPath];
    const tls = scheme === 'https' ? certificateFlags(folder, makeCertificate()) : [];
    const server = await startServer(owner, store, ['--demo', ...tls], command, { ACCESS_LOG: 'off' });
    const limits = ['--per-minute', '1000000000', '--per-day', '1000000000'];
    const secret = await makeKey(owner, store, 'enterprise', ...limits);
    const client = await SteadyClient.connect(owner, server.address, secret, animals);
    return new Overload(owner, server, folder, secret, client);
  }

  /** Lets the client send so many requests while nobody attacks. */
  async idle(responses: number): Promise<Latencies> {
    this.#client.begin();
    return this.#client.end(responses);
  }

  /**
   * Attacks until the client has so many responses since all connections of the attacker were accepted or refused.
   *
   * @param newcomer whether another client with a key must be able to connect meanwhile
   * @throws NotStarted if a response was wrong or missing, or if the server has ended
   */
  async survive(kind: Attack, connections: number, responses: number, newcomer = false): Promise<Latencies> {
    // The server learns late that connections are closed from which it does not read. Until then they keep others out.
    if (newcomer) await this.#attackerGone();
    this.#client.begin();
    const attacker = await attack(this.#owner, this.server.address, kind, connections, this.attackerPriority);
    if (newcomer) {
      const other = await SteadyClient.connect(this.#owner, this.server.address, this.#secret, animals);
      other.begin();
      await other.end(1);
      await other.close();
    }
    const latencies = await this.#client.end(responses);
    await attacker.kill();
    return latencies;
  }

  /** Waits until the client's connection is the only one that the server has open. */
  async #attackerGone(): Promise<void> {
    for (;;) {
      const { stdout } = await petstore(this.#owner, storeIn(this.#folder), 'status');
      if (Number(/connections +(\d+) of/.exec(stdout)![1]) <= 1) return;
    }
  }

  /**
   * Waits until no attacker is connected, and returns the size of the objects that the server still refers to, in
   * bytes. Unlike resident memory, it does not depend on when V8 collects garbage and how large it lets the heap grow.
   * It is the smallest of three heap snapshots, because the server may process a request when it writes one.
   */
  async retainedBytes(): Promise<number> {
    await this.#attackerGone();
    const sizes = [];
    while (sizes.length < 3) {
      this.server.child.kill('SIGUSR2');
      sizes.push(await this.#snapshotBytes());
    }
    return Math.min(...sizes);
  }

  /** Waits for a heap snapshot, deletes it and returns the size of its objects. */
  async #snapshotBytes(): Promise<number> {
    for (;;) {
      await delay(50); // nothing tells when the file is complete
      const name = readdirSync(this.#folder).find((one) => one.endsWith('.heapsnapshot'));
      if (name === undefined) continue;
      const snapshot = parsed(readFileSync(join(this.#folder, name), 'utf8'));
      if (snapshot === null) continue;
      rmSync(join(this.#folder, name));
      return sizeOf(snapshot);
    }
  }

  /** The memory of the server in bytes; 0 where the system does not tell. */
  get residentBytes(): number {
    const file = `/proc/${this.server.child.pid}/status`;
    return existsSync(file) ? 1024 * Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(file, 'utf8'))![1]) : 0;
  }
}

/** The parts of V8's format of a heap snapshot that tell the size of the objects. */
interface HeapSnapshot {
  readonly snapshot: { readonly meta: { readonly node_fields: readonly string[] } };
  /** For each object, the values of `node_fields`. */
  readonly nodes: readonly number[];
}

/** The snapshot in the file; null while it is not complete. */
function parsed(text: string): HeapSnapshot | null {
  try {
    return JSON.parse(text) as HeapSnapshot;
  } catch {
    return null;
  }
}

function sizeOf({ snapshot: { meta: { node_fields: fields } }, nodes }: HeapSnapshot): number {
  let bytes = 0;
  for (let i = fields.indexOf('self_size'); i < nodes.length; i += fields.length) bytes += nodes[i]!;
  return bytes;
}

function storeIn(folder: string): string {
  return join(folder, 'store');
}

function start(owner: Owner, script: string, address: string, options: object): Program {
  const { port, protocol } = new URL(address);
  const argument = JSON.stringify({ port: Number(port), isTls: protocol === 'https:', ...options });
  return new Program(owner, [process.execPath, fileURLToPath(new URL(script, import.meta.url)), argument]);
}
