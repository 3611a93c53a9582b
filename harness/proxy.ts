/**
 * HTTP servers for tests: one that a test scripts, and a proxy that injects faults into the responses of another
 * server.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Owner } from './owner.ts';

/** A request as the server received it. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** A response that a proxy may change before it is sent. */
export interface ProxiedResponse {
  status: number;
  headers: [name: string, value: string][];
  body: Buffer;
}

export interface ScriptedServer {
  /** Ends in /v1. */
  readonly baseUrl: string;
  readonly port: number;
  /** The requests so far. */
  readonly received: ReceivedRequest[];
  /** Closes the server and its connections. */
  stop(): void;
}

/** Starts a server on a free port that records every request, and responds as `respond` says. */
export async function scriptedServer(
  owner: Owner,
  respond: (request: ReceivedRequest, response: ServerResponse) => void | Promise<void>,
  host = '127.0.0.1',
): Promise<ScriptedServer> {
  const received: ReceivedRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const { method = '', url = '', headers, rawHeaders } = incoming;
    const request = { method, url, headers, rawHeaders, body: await buffer(incoming) };
    received.push(request);
    await respond(request, response);
  });
  server.listen(0, host);
  await once(server, 'listening');
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  owner.after(stop);
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}/v1`, port, received, stop };
}

/** Hop-by-hop headers, and those that the proxy sets itself. */
const ownHeaders = ['connection', 'keep-alive', 'transfer-encoding', 'content-length'];

/**
 * Starts a proxy in front of another server. `change` may modify each response before it is sent, delay it, or return
 * 'cut' to close the connection instead.
 *
 * @param baseUrl the base URL of the other server, ending in /v1
 */
export async function faultProxy(
  owner: Owner,
  baseUrl: string,
  change: (request: ReceivedRequest, response: ProxiedResponse) => void | 'cut' | Promise<void> = () => {},
  host?: string,
): Promise<ScriptedServer> {
  return scriptedServer(
    owner,
    async (request, response) => {
      const { authorization, 'content-type': type } = request.headers;
      const upstream = await fetch(new URL(baseUrl).origin + request.url, {
        method: request.method,
        headers: {
          ...(authorization !== undefined && { authorization }),
          ...(type !== undefined && { 'content-type': type }),
        },
        ...(request.method === 'POST' && { body: new Uint8Array(request.body) }),
      });
      const proxied: ProxiedResponse = {
        status: upstream.status,
        headers: [...upstream.headers].filter(([name]) => !ownHeaders.includes(name)),
        body: Buffer.from(await upstream.arrayBuffer()),
      };
      if (await change(request, proxied) === 'cut') return void response.destroy();
      response.sendDate = false;
      const headers = [...proxied.headers.flat(), 'content-length', String(proxied.body.length)];
      response.writeHead(proxied.status, headers).end(proxied.body);
    },
    host,
  );
}
