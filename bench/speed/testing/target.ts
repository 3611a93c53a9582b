/** Test support: a target in this process that responds correctly, until a test changes its responses. */
import type { Owner } from '../../../harness/owner.ts';
import { scriptedServer, type ReceivedRequest } from '../../../harness/proxy.ts';
import { animal } from '../../measure/animal.mjs';
import { petsOn } from '../../measure/pages.ts';
import type { ServerProcess } from '../../measure/server-process.ts';
import type { RunningTarget } from '../running-target.ts';
import { animals } from '../workloads.ts';

export interface TargetResponse {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Responder = (request: ReceivedRequest, body: string) => TargetResponse;

const limits = { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1795262460' };

const deprecated = { Deprecation: '@1764892800', Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT' };

export function errorResponse(status: number): TargetResponse {
  return { status, body: { code: 'some_code', message: 'Why.', status } };
}

/** The responses of a correct target, which stores created animals. */
export function right(): Responder {
  const pets: object[] = Array.from({ length: animals }, (_, i) => ({ id: i + 1, ...animal(i + 1) }));
  return ({ method, url, headers }, body) => {
    const key = headers.authorization;
    if (key === 'Bearer spent') return { ...errorResponse(429), headers: { 'Retry-After': '7' } };
    if (key !== 'Bearer full') return errorResponse(401);
    if (method === 'POST') {
      if (!body.includes('categoryId')) return errorResponse(400);
      const pet = { id: pets.length + 1, status: 'available', ...(JSON.parse(body) as object) };
      pets.push(pet);
      return { status: 201, body: pet };
    }
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (pathname === '/v1/pets') {
      const number = (name: string) => (searchParams.has(name) ? { [name]: Number(searchParams.get(name)) } : {});
      const status = searchParams.get('status');
      const query = { ...number('limit'), ...number('after'), ...(status !== null && { status }) };
      return { status: 200, body: petsOn(query, animals) };
    }
    const pet = pets[Number(/^\/v1\/pets\/(\d+)$/.exec(pathname)?.[1]) - 1];
    return { ...(pet === undefined ? errorResponse(404) : { status: 200, body: pet }), headers: deprecated };
  };
}

/** Starts a target that responds in this way and reports no resources. */
export async function serve(t: Owner, respond: Responder): Promise<RunningTarget> {
  const { baseUrl } = await scriptedServer(t, (request, response) => {
    const { status, body, headers } = respond(request, request.body.toString());
    const text = JSON.stringify(body);
    const length = Buffer.byteLength(text);
    response.writeHead(status, { ...limits, ...headers, 'Content-Length': String(length) }).end(text);
  });
  const process = {
    usage: async () => ({ user: 0, system: 0, resident: 0 }),
    during: <T>(task: Promise<T>) => task,
    stop: async () => {},
  } as unknown as ServerProcess;
  return { baseUrl, keys: { full: ['full'], spent: ['spent'] }, process };
}
