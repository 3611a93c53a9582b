/** What the checks of our own decisions share. */
import type { Credential, Request } from '../../client/request.ts';
import type { Response } from '../../client/response.ts';
import { createPetOf, other } from '../../client/requests.ts';
import { codeOf } from '../../verdicts/rules-reference.ts';
import type { CheckContext } from '../../session/context.ts';

/** The most bytes a body may have (decisions.md, `payload_too_large`). */
export const maxBodyBytes = 64 * 1024;

/** Paths outside the base path that anybody may ask for. */
export const publicPaths = ['/healthz', '/readyz', '/openapi.json'] as const;

/** Sends a request that must be refused with that status and code. */
export async function refused(t: CheckContext, request: Request, status: number, code: string, because: string): Promise<Response> {
  const response = await t.send(request);
  const found = codeOf(response);
  // A HEAD has no body to hold the code.
  const kept = response.status === status && (found === code || request.method === 'HEAD');
  t.require(kept, response, `${status} ${code}, since ${because}`, inShort(response));
  return response;
}

/** Sends a request that must be answered with that status. */
export async function answered(t: CheckContext, request: Request, status: number, because: string): Promise<Response> {
  const response = await t.send(request);
  t.require(response.status === status, response, `${status}, since ${because}`, inShort(response));
  return response;
}

/** `404 not_found`. */
export function inShort(response: Response): string {
  const code = codeOf(response);
  return code === undefined ? `${response.status}` : `${response.status} ${code}`;
}

/** The path of the base URL. */
export function basePath(t: CheckContext): string {
  return new URL(t.client.baseUrl).pathname;
}

/** A request to a path at the server's root. */
export function outside(credential: Credential, method: string, target: string): Request {
  return { ...other(credential, method, target), outside: true };
}

/** `POST /pets` with a body and just these headers. */
export function postWith(t: CheckContext, headers: Request['headers'], body: string | Uint8Array, query = ''): Request {
  return { ...createPetOf(t.key, body), target: `/pets${query}`, headers };
}

/** A request with these headers. */
export function withHeaders(request: Request, ...headers: Request['headers']): Request {
  return { ...request, headers: [...request.headers, ...headers] };
}

/** A request whose body goes with another method than POST. */
export function withBody(request: Request, body: string): Request {
  return { ...request, body: Buffer.from(body) };
}

export const json = ['Content-Type', 'application/json'] as const;
export const text = ['Content-Type', 'text/plain'] as const;

/** A message that no HTTP library would send. */
export interface Message {
  readonly credential: Credential;
  readonly method: string;
  /** Path and query below the base URL, in words: what a report calls the request. */
  readonly target: string;
  /** As it stands in the request line; unless told, the path of the base URL with `target`. */
  readonly requestTarget?: string;
  readonly version?: string;
  /** Unless told, one for the base URL. */
  readonly hosts?: readonly string[];
  readonly headers?: Request['headers'];
  /** Whether it asks for the end of the connection: unless told, yes. */
  readonly close?: boolean;
  readonly body?: string;
  readonly outside?: true;
}

/** The request of a message, written out. */
export function raw(t: CheckContext, message: Message): Request {
  const {
    credential,
    method,
    target,
    version = 'HTTP/1.1',
    hosts = [new URL(t.client.baseUrl).host],
    headers = [],
    close = true,
    body = '',
  } = message;
  const lines = [
    `${method} ${message.requestTarget ?? basePath(t) + target} ${version}`,
    ...hosts.map((host) => `Host: ${host}`),
    ...(credential.header === undefined ? [] : [`Authorization: ${credential.header}`]),
    ...headers.map((header) => header.join(': ')),
    ...(close ? ['Connection: close'] : []),
  ];
  return {
    ...other(credential, method, target),
    raw: `${lines.join('\r\n')}\r\n\r\n${body}`,
    ...(message.outside && { outside: true }),
  };
}

/** The methods in Allow, sorted, or undefined where it does not stand there once. */
function allowed(response: Response): string | undefined {
  const [value, ...more] = response.all('allow');
  return value === undefined || more.length > 0 ? undefined : methodList(value.split(','));
}

/** Requires the methods in Allow. */
export function requireAllow(t: CheckContext, response: Response, methods: readonly string[]): void {
  t.require(
    allowed(response) === methodList(methods),
    response,
    `Allow: ${methods.join(', ')}`,
    `Allow: ${response.all('allow').join(' and ') || 'missing'}`,
  );
}

function methodList(methods: readonly string[]): string {
  return methods
    .map((m) => m.trim())
    .filter((m) => m !== '')
    .sort()
    .join(', ');
}

/** The targets of the links of one relation, in order. */
export function links(response: Response, relation: string): readonly string[] {
  const found = response
    .all('link')
    .join(', ')
    .matchAll(/<([^>]*)>((?:\s*;\s*[^;,"]+(?:"[^"]*")?)*)/g);
  return [...found]
    .filter(([, , parameters = '']) => new RegExp(`;\\s*rel="?${relation}"?\\s*(;|$)`).test(parameters))
    .map(([, target = '']) => target);
}
