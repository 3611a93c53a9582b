/** Test support: servers of every kind, on free ports, ended with the test. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock, type Clock } from '../client/clock.ts';
import type { Plan } from '../client/pacing.ts';
import { mutants } from '../mutants/mutants.ts';
import { startSmallServer } from '../mutants/small-server.ts';

/** Whoever calls what ends with a test. */
interface Ending {
  after(end: () => unknown): void;
}

export interface Server {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** A key of the form that many services use. */
export const apiKey = 'test_Kb7rT2xVq9KdLw4sHc8NpZa3';

/** A new empty folder, removed when the test has ended. */
export function temporaryFolder(t: Ending): string {
  const folder = mkdtempSync(join(tmpdir(), 'conformance-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * This project's own server, built, as a process of its own, with a key of any numbers: by default so large that they make nobody
 * wait. `host` is the address it listens on.
 */
export async function ownServer(t: Ending, { perMinute = 1_000_000, host = '127.0.0.1' } = {}): Promise<Server> {
  const [server, cli] = ['server', 'cli'].map((name) => fileURLToPath(new URL(`../../dist/${name}.js`, import.meta.url))) as [
    string,
    string,
  ];
  const folder = mkdtempSync(join(tmpdir(), 'conformance-test-'));
  const numbers = ['--plan', 'enterprise', '--per-minute', String(perMinute), '--per-day', '100000000'];
  const apiKey = execFileSync(process.execPath, [cli, 'keys', 'create', '--name', 'test', ...numbers, '--data', folder], {
    encoding: 'utf8',
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
  const child = spawn(process.execPath, [server, '--host', host, '--port', '0', '--data', folder], {
    env: {},
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'close');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  child.stdout.setEncoding('utf8');
  for (let shown = ''; ;) {
    const [text] = (await Promise.race([once(child.stdout, 'data'), ended])) as [unknown];
    if (typeof text !== 'string') throw new Error(`the server ended: ${shown}`);
    const address = /listening on (http:\S+)\n/.exec((shown += text))?.[1];
    if (address !== undefined) return { baseUrl: `${address}/v1`, apiKey };
  }
}

/** The small server: conforming, or a mutant by its id. */
export async function smallServer(
  t: Ending,
  {
    mutant,
    clock = systemClock,
    plan = 'business',
    secret = apiKey,
    animals,
  }: { mutant?: string; clock?: Clock; plan?: Plan; secret?: string; animals?: number } = {},
): Promise<Server> {
  const found = mutants.find(({ id }) => id === mutant);
  if (mutant !== undefined && found === undefined) throw new Error(`there is no mutant ${mutant}`);
  const { baseUrl, close } = await startSmallServer({ clock, keys: [{ secret, plan }], hooks: found?.hooks, animals });
  t.after(close);
  return { baseUrl, apiKey: secret };
}

/** A request as it arrived. */
export interface Arrived {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** What a scripted server has got, and how to end it at once. */
export interface Scripted extends Server {
  readonly arrived: Arrived[];
  readonly port: number;
  stop(): void;
}

/** A server that keeps each request and answers as the script has it. */
export async function scripted(
  t: Ending,
  answer: (request: Arrived, response: ServerResponse) => void | Promise<void>,
  host = '127.0.0.1',
): Promise<Scripted> {
  const arrived: Arrived[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers, rawHeaders } = request;
    const whole = { method, url, headers, rawHeaders, body: Buffer.concat(chunks) };
    arrived.push(whole);
    await answer(whole, response);
  });
  server.listen(0, host);
  await once(server, 'listening');
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  t.after(stop);
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}/v1`, apiKey, arrived, port, stop };
}

/** A server that hands each request on to another one, and keeps it. */
export async function proxy(
  t: Ending,
  behind: Server,
  change?: (request: Arrived, answer: { status: number; headers: [string, string][]; body: Buffer }) => void,
  host?: string,
): Promise<Scripted> {
  const front = await scripted(
    t,
    async (request, response) => {
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => ['authorization', 'content-type'].includes(name)),
      ) as Record<string, string>;
      const path = request.url.replace(/^\/v1/, '');
      const came = await fetch(behind.baseUrl + path, {
        method: request.method,
        headers,
        ...(request.method === 'POST' && { body: new Uint8Array(request.body) }),
      });
      const answer = {
        status: came.status,
        headers: [...came.headers].filter(
          ([name]) => !['connection', 'keep-alive', 'transfer-encoding', 'content-length'].includes(name),
        ),
        body: Buffer.from(await came.arrayBuffer()),
      };
      change?.(request, answer);
      response.sendDate = false;
      response
        .writeHead(answer.status, [...answer.headers.flat(), 'content-length', String(answer.body.length)])
        .end(answer.body);
    },
    host,
  );
  return { ...front, apiKey: behind.apiKey };
}
