/**
 * Four built servers on one PostgreSQL under the load of 256 connections. In each round something fails: a server, the
 * database, or one of the connections between them, which a proxy breaks. All responses are checked against what must
 * be true.
 *
 * The seed determines the plans and the faults. Which requests a fault affects depends on the machine.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Owner } from '../../harness/owner.ts';
import { createDatabase, startCluster } from '../../harness/postgres.ts';
import type { Cluster } from '../../harness/postgres-cluster.ts';
import { cutAfter, loseCommit, PostgresProxy, stallInStatement } from '../../harness/postgres-proxy.ts';
import { outputOf, Program, reasonIn } from '../../harness/program.ts';
import { makeKey, petstore, startServer, type RunningServer } from '../../harness/server.ts';
import type { UsageReport } from '../control/commands.ts';
import { readJson } from '../json/read.ts';
import { limitsOf } from '../limits/plans.ts';
import { connectTo } from './database.ts';
import { codeOf, type HttpResponse } from './http-response.ts';
import { OpenApiDocument } from './openapi.ts';
import { randomNumbers } from './random.ts';
import { Animals, pick } from './scale-animals.ts';
import { Round } from './scale-round.ts';
import { send, type CallOptions } from './service.ts';

/** What fails in a round. `snapshot` opens an MVCC snapshot, which stays open until the next round with that fault. */
export const faults = [
  'none', 'server killed', 'database killed', 'request cut', 'response cut', 'response lost', 'stall in a statement',
  'database suspended', 'snapshot',
] as const;
export type Fault = (typeof faults)[number];

const serverCount = 4;
const clientCount = 256;
/** Only a round that hangs takes longer. */
const hangMs = 120_000;
/** How often to ask a server that has responded with 503 whether it is ready. */
const pauseMs = 250;
/** Few, so that the kit does not take the 503 of a slow machine for that of a server that is down. */
const clientCountBesideKit = 32;
/** Within how many bytes a connection is cut, and within how many statements it stalls. */
const maxBytes = 30_000;
const maxStatements = 30;
/** The longest time for which a connection stalls, or the database is suspended. */
const maxStallMs = 4_000;
const noLimits = ['--per-minute', '1000000000', '--per-day', '1000000000'];
const document = new OpenApiDocument(readJson(readFileSync(new URL('../operations/openapi.json', import.meta.url))));

/** A server, and its proxy to the database. */
interface Node {
  readonly proxy: PostgresProxy;
  server: RunningServer;
  /** Settles when a killed server listens again. */
  restart: Promise<void> | null;
  /** Settles when a server that has responded with 503 is ready. */
  recovery: Promise<void> | null;
}

/** One run. Every violation is an AssertionError whose message says in which round. */
export class ScaleRun {
  /** The URL of the database, without a proxy. */
  url = '';
  readonly #owner: Owner;
  readonly #random: () => number;
  readonly #clientRandom: () => number;
  readonly #print: (line: string) => void;
  readonly #animals: Animals;
  #cluster!: Cluster;
  #nodes: Node[] = [];
  /** A key without limits, for creates and lists. */
  #key = '';
  /** How many requests with this key were sent, and how many are counted and on disk. */
  readonly #used = { most: 0, least: 0 };
  readonly #day = today();
  #endSnapshot: () => unknown = () => {};
  #isFailed = false;

  /** `print` receives a line for each round. */
  constructor(owner: Owner, seed: number, print: (line: string) => void = () => {}) {
    this.#owner = owner;
    this.#random = randomNumbers(seed);
    this.#clientRandom = randomNumbers(seed + 1); // clients call it in any order
    this.#animals = new Animals(this.#clientRandom);
    this.#print = print;
  }

  /** Starts the database and the servers. Resolves to false if there is no PostgreSQL. */
  async start(): Promise<boolean> {
    const cluster = await startCluster(this.#owner);
    if (cluster === null) return false;
    this.#cluster = cluster;
    this.url = await createDatabase(cluster.url);
    this.#key = await makeKey(this.#owner, this.url, 'enterprise', ...noLimits);
    this.#nodes = await Promise.all(Array.from({ length: serverCount }, async () => {
      const proxy = await PostgresProxy.start(this.#owner, this.url);
      return { proxy, server: await startServer(this.#owner, proxy.url), restart: null, recovery: null };
    }));
    return true;
  }

  /** Runs rounds, each fault equally often, and then reads all animals. Rejects at the first violation. */
  async run(rounds: number, only: readonly Fault[] = faults): Promise<void> {
    let left: Fault[] = [];
    for (let number = 1; number <= rounds; number++) {
      if (left.length === 0) left = [...only];
      const fault = left.splice(Math.floor(this.#random() * left.length), 1)[0]!;
      await this.#named(`round ${number}, ${fault}`, () => this.#round(fault));
    }
    await this.#named('all animals', async () => {
      this.#animals.forgetListed();
      await this.#follow(() => true);
      this.#animals.checkListed();
      return `${this.#animals.size} are listed`;
    });
    await this.#endSnapshot();
  }

  /** Runs the conformance kit with --exhaust on one server, while the others are under load. */
  async checkConformance(): Promise<void> {
    const [free, pro] = await Promise.all(['free', 'pro'].map((plan) => makeKey(this.#owner, this.url, plan)));
    const flags = ['--base-url', `${this.#nodes[0]!.server.address}/v1`, '--exhaust', '--plan', 'free'];
    const command = [process.execPath, '--import', 'tsx', 'conformance/run.ts', ...flags];
    const kit = new Program(this.#owner, command, { API_KEY: pro, EXHAUST_KEY: free });
    const round = new Round('', 0);
    let isRunning = true;
    void kit.ended.then(() => (isRunning = false));
    await this.#named('the kit under load', async () => {
      await this.#clients(this.#nodes.slice(1), async (node, agent) => {
        while (isRunning && !this.#isFailed) {
          await this.#create(round, node, agent);
          await this.#ask(node, 'GET', '/v1/pets', { key: this.#key, agent });
        }
      }, clientCountBesideKit);
      const { code, stdout, stderr } = await kit.ended;
      assert(code === 0, `exit code ${code}: ${stdout}${stderr}`);
      return `${round.created} animals created meanwhile; ${/^CONFORMS.*/m.exec(stdout)?.[0]}`;
    });
  }

  /** Prints the result of a step, or adds to the message of its error where it occurred. */
  async #named(step: string, run: () => Promise<string>): Promise<void> {
    try {
      this.#print(`${step}: ${await run()}`);
    } catch (error) {
      this.#isFailed = true;
      (error as Error).message = `${step}: ${(error as Error).message}`;
      throw error;
    }
  }

  async #round(fault: Fault): Promise<string> {
    const plan = pick(['free', 'pro'] as const, this.#random);
    const limit = limitsOf({ name: plan }).perMinute;
    const round = new Round(await makeKey(this.#owner, this.url, plan), limit);
    const waiting = new Map(this.#nodes.map((node) => [node, 0]));
    const isDone = (): boolean => round.phase === 'after' && [...waiting.values()].every((count) => count === 0);
    const clients = this.#clients(this.#nodes, async (node, agent) => {
      waiting.set(node, waiting.get(node)! + 1);
      await this.#client(round, node, agent);
      waiting.set(node, waiting.get(node)! - 1);
    });
    const failing = round.reached(Math.floor(this.#random() * limit * 0.8)).then(async () => {
      round.phase = 'fault';
      await this.#inject(fault, round);
      round.phase = 'after';
      round.overAt = performance.now();
    });
    await notHanging(Promise.all([clients, failing, this.#follow(isDone)]), () =>
      `${round.phase === 'after' ? 'service has not resumed' : 'the fault has not ended'} after ${hangMs / 1000} s; `
      + `clients that still wait, by server: ${[...waiting.values()].join(', ')}`);
    this.#animals.checkListed();
    const reports = JSON.parse(await outputOf(petstore(this.#owner, this.url, 'usage', '--json'))) as UsageReport[];
    round.check(reports.at(-1)!.day.used);
    const { used } = reports[0]!.day;
    const { most, least } = this.#used;
    const isRight = (used >= least && used <= most) || today() !== this.#day;
    assert(isRight, `petstore usage says ${used} for the key without limits, not ${least} to ${most}`);
    return `plan ${plan}, ${round}`;
  }

  /** Makes something fail. Resolves when the fault is over. */
  async #inject(fault: Fault, round: Round): Promise<void> {
    const node = pick(this.#nodes, this.#random);
    const part = this.#random();
    if (fault === 'server killed') {
      await (node.restart = this.#restart(node));
    } else if (fault === 'database killed') {
      round.database = 'crashed';
      await this.#cluster.stop('SIGKILL');
      round.database = 'restarted';
      await this.#cluster.start();
    } else if (fault === 'request cut' || fault === 'response cut') {
      const from = fault === 'request cut' ? 'client' : 'database';
      await node.proxy.inject(cutAfter(1 + Math.floor(part * maxBytes), from));
    } else if (fault === 'response lost') {
      await node.proxy.inject(loseCommit);
    } else if (fault === 'stall in a statement') {
      const resume = await node.proxy.inject(stallInStatement(Math.floor(part * maxStatements)));
      await delay(this.#random() * maxStallMs);
      resume();
    } else if (fault === 'database suspended') {
      this.#cluster.suspend();
      await delay(part * maxStallMs);
      this.#cluster.resume();
    } else if (fault === 'snapshot') {
      await this.#endSnapshot();
      const connection = await connectTo({ after: (end) => (this.#endSnapshot = end) }, this.url);
      await connection.query('begin isolation level repeatable read');
      await connection.query('select count(*) from petstore.usage');
    }
  }

  async #restart(node: Node): Promise<void> {
    await node.server.kill();
    node.server = await startServer(this.#owner, node.proxy.url);
    node.restart = null;
  }

  /**
   * Asks a server until it is ready, as a load balancer does. All clients wait for that: their requests would take the
   * time that the proxies in this process need to connect the servers.
   */
  async #recovery(node: Node): Promise<void> {
    const { server } = node;
    for (let isReady = false; !isReady && !server.child.killed && !this.#isFailed; ) {
      await delay(pauseMs);
      isReady = (await send(server.address, 'GET', '/readyz').catch(() => null))?.status === 200;
    }
    node.recovery = null;
  }

  /** Runs clients, each with a connection of its own to one of these servers. */
  async #clients(
    nodes: readonly Node[], run: (node: Node, agent: Agent) => Promise<void>, count = clientCount,
  ): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, client) =>
      withAgent((agent) => run(nodes[client % nodes.length]!, agent))));
  }

  /** Sends requests until one with the key of the round was refused and an animal was created after the fault. */
  async #client(round: Round, node: Node, agent: Agent): Promise<void> {
    let isRefused = false;
    let isUnknown = false;
    let hasResumed = false;
    while (!this.#isFailed && !(isRefused && hasResumed)) {
      const { phase } = round;
      // After an unknown result, the client waits for the end of the fault, so that few results are unknown.
      if (!isRefused && (phase !== 'fault' || !isUnknown) && this.#clientRandom() < 0.5) {
        const isBeforeRestart = round.database !== 'restarted';
        const response = await this.#ask(node, 'GET', '/v1/pets?limit=1', { key: round.key, agent });
        const window = response?.headers.get('x-ratelimit-reset') ?? '';
        if (response?.status === 200) {
          const remaining = response.headers.get('x-ratelimit-remaining')!;
          round.noteAdmitted({ window, remaining, isBeforeRestart });
        } else if (response?.status === 429) {
          isRefused = true;
          if (codeOf(response) === 'rate_limited') round.noteRefused(window); // else the key is banned
        } else {
          isUnknown = true;
          round.unknown++;
        }
      } else if (await this.#create(round, node, agent) && phase === 'after') {
        hasResumed = true;
        if (!round.resumedAt.has(node)) round.resumedAt.set(node, performance.now());
      }
    }
  }

  /** Creates an animal. Resolves to whether it was confirmed. */
  async #create(round: Round, node: Node, agent: Agent): Promise<boolean> {
    const before = round.admitted.length;
    const options = { key: this.#key, agent, body: this.#animals.next() };
    const response = await this.#ask(node, 'POST', '/v1/pets', options);
    if (response?.status !== 201) {
      round.unknownCreates++;
      return false;
    }
    this.#animals.noteCreated(response.body);
    this.#used.least++;
    round.created++;
    if (round.database === 'running') round.onDisk = Math.max(round.onDisk, before);
    return true;
  }

  /** Reads the list after `last`, on all servers in turn, until it was read to its end once after `isDone` was true. */
  async #follow(isDone: () => boolean): Promise<void> {
    await withAgent(async (agent) => {
      let turn = 0;
      for (let isLastTime = false; !isLastTime && !this.#isFailed; ) {
        isLastTime = isDone();
        let path: string | undefined = `/v1/pets?limit=100&after=${this.#animals.last}`;
        while (path !== undefined && !this.#isFailed) {
          const page = await this.#ask(this.#nodes[turn++ % serverCount]!, 'GET', path, { key: this.#key, agent });
          if (page?.status !== 200) continue;
          this.#animals.noteListed(page.body);
          path = /^<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
        }
      }
    });
  }

  /** Sends a request, and checks that the response is permitted. Resolves to null if the server was killed. */
  async #ask(node: Node, method: 'GET' | 'POST', path: string, options: CallOptions): Promise<HttpResponse | null> {
    await node.restart;
    const { server } = node;
    const isUnlimited = options.key === this.#key;
    if (isUnlimited) this.#used.most++;
    const response = await send(server.address, method, path, options).catch((error: Error) => {
      if (server.child.killed || this.#isFailed) return null;
      const reason = reasonIn(server.stderr) ?? '';
      const problem = `a server that was not killed did not respond: ${error.message}`;
      return assert.fail(`${method} ${path}: ${problem}; ${reason}`);
    });
    if (response === null) return null;
    const { status, body } = response;
    const deviations = document.check({ method, path: '/pets', ...response });
    const permitted = [method === 'GET' ? 200 : 201, 503, ...(isUnlimited ? [] : [429])];
    const isKnown = status !== 503 || ['storage_unavailable', 'not_ready'].includes(codeOf(response) as string);
    if (!isKnown || !permitted.includes(status)) deviations.unshift(`${status} ${body}`);
    assert(deviations.length === 0, `${method} ${path}: ${deviations.join('; ')}`);
    if (status === 503) await (node.recovery ??= this.#recovery(node));
    return response;
  }
}

/** Runs something with an agent that keeps one connection to each server. */
async function withAgent(run: (agent: Agent) => Promise<void>): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await run(agent).finally(() => agent.destroy());
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** Waits for `work`, and rejects with `problem()` if it takes longer than `hangMs`. */
async function notHanging(work: Promise<unknown>, problem: () => string): Promise<void> {
  const abort = new AbortController();
  const late = delay(hangMs, undefined, { signal: abort.signal }).then(() => assert.fail(problem()));
  try {
    await Promise.race([work, late]);
  } finally {
    late.catch(() => {});
    abort.abort();
  }
}
