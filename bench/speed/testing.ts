/** For tests: a server that answers rightly, until a test has it do otherwise. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { animal } from '../measure/animal.mjs';
import type { Program } from '../measure/program.ts';
import type { FieldOptions } from './field.ts';
import { animals, knownId } from './rows.ts';
import { newAnimal, type Site } from './site.ts';

/** One server of each, and none is warmed up. */
export const cold: FieldOptions = { servers: 1, warm: { requests: 0, seconds: 1 }, watch: () => {} };

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Answerer = (request: IncomingMessage, body: string) => Reply;

const limits = { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1795262460' };

export const failure = (status: number): Reply => ({ status, body: { code: 'some_code', message: 'Why.', status } });

/** What a right server answers, which keeps what is created. */
export function right(): Answerer {
  let count = animals;
  return ({ method, url = '', headers }, body) => {
    const key = headers.authorization;
    if (key === 'Bearer spent') return { ...failure(429), headers: { 'Retry-After': '7' } };
    if (key !== 'Bearer full') return failure(401);
    if (method === 'POST') return body.includes('categoryId') ? { status: 201, body: { id: ++count, ...newAnimal } } : failure(400);
    const id = Number(/^\/v1\/pets\/(\d+)$/.exec(url)?.[1]);
    if (id > count) return failure(404);
    if (id > animals) return { status: 200, body: { id, ...newAnimal } };
    if (id === knownId) return { status: 200, body: { ...animal(knownId), id } };
    return { status: 200, body: Array.from({ length: 20 }, (_, i) => ({ id: i + 1, ...animal(i + 1) })) };
  };
}

/** A server that answers as told, and uses nothing. */
export async function serve(t: TestContext, answer: Answerer): Promise<Site> {
  const server = createServer(async (request, response) => {
    const { status, body, headers } = answer(request, await text(request));
    response.writeHead(status, { ...limits, ...headers }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const program = {
    usage: async () => ({ user: 0, system: 0, resident: 0 }),
    during: <T>(task: Promise<T>) => task,
  } as unknown as Program;
  return { baseUrl: `http://127.0.0.1:${port}/v1`, key: 'full', spentKey: 'spent', program };
}
