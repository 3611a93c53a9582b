/** Test support: a target in this process that responds correctly, until a test changes its responses. */
import type { Owner } from '../../../harness/owner.ts';
import { scriptedServer, type ReceivedRequest } from '../../../harness/proxy.ts';
import { animal } from '../../measure/animal.mjs';
import type { ServerProcess } from '../../measure/server-process.ts';
import { newAnimal, type Session } from '../session.ts';
import { animals, knownId } from '../workloads.ts';

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Responder = (request: ReceivedRequest, body: string) => Reply;

const limits = { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1795262460' };

export const errorReply = (status: number): Reply => ({ status, body: { code: 'some_code', message: 'Why.', status } });

/** The responses of a correct target, which stores created animals. */
export function right(): Responder {
  let count = animals;
  return ({ method, url, headers }, body) => {
    const key = headers.authorization;
    if (key === 'Bearer spent') return { ...errorReply(429), headers: { 'Retry-After': '7' } };
    if (key !== 'Bearer full') return errorReply(401);
    if (method === 'POST')
      return body.includes('categoryId') ? { status: 201, body: { id: ++count, ...newAnimal } } : errorReply(400);
    const id = Number(/^\/v1\/pets\/(\d+)$/.exec(url)?.[1]);
    if (id > count) return errorReply(404);
    if (id > animals) return { status: 200, body: { id, ...newAnimal } };
    if (id === knownId) return { status: 200, body: { ...animal(knownId), id } };
    return { status: 200, body: Array.from({ length: 20 }, (_, i) => ({ id: i + 1, ...animal(i + 1) })) };
  };
}

/** Starts a target that responds in this way and reports no resources. */
export async function serve(t: Owner, respond: Responder): Promise<Session> {
  const { baseUrl } = await scriptedServer(t, (request, response) => {
    const { status, body, headers } = respond(request, request.body.toString());
    response.writeHead(status, { ...limits, ...headers }).end(JSON.stringify(body));
  });
  const process = {
    usage: async () => ({ user: 0, system: 0, resident: 0 }),
    during: <T>(task: Promise<T>) => task,
    stop: async () => {},
  } as unknown as ServerProcess;
  return { baseUrl, key: 'full', spentKey: 'spent', process };
}
