/**
 * Test support: a server that is right but for one thing. It hands every message on to the true server byte by byte, also those
 * that no HTTP library would read, and damages requests or responses on the way.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Server } from './servers.ts';

/** A request as far as it has come, and its response, whole. */
export interface Passing {
  readonly method: string;
  /** As it stands in the request line. */
  readonly target: string;
  /** All of the request that has come, each character a byte. */
  readonly request: string;
  status: number;
  headers: [name: string, value: string][];
  /** Each character a byte. */
  body: string;
}

/** What is done to messages on the way. */
export interface Damage {
  /** A piece of a request that begins with its head, each character a byte. A body keeps its length. */
  readonly request?: (text: string) => string;
  readonly response?: (passing: Passing) => void;
  /** Interim responses (1xx) are lost. */
  readonly dropsInterim?: true;
}

/** Starts the damaged server, which ends with the test. */
export async function damaged(
  t: { after(end: () => unknown): void },
  { baseUrl, apiKey }: Server,
  damage: Damage,
): Promise<Server> {
  const { hostname, port, pathname } = new URL(baseUrl);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect({ host: hostname, port: Number(port) });
    sockets.add(client).add(upstream);
    let request = '';
    let responses = '';
    client.on('data', (chunk: Buffer) => {
      let text = chunk.toString('latin1');
      if (/^\S+ \S+ HTTP\/\d/.test(text)) {
        request = text;
        text = damage.request?.(text) ?? text;
      } else request += text;
      upstream.write(Buffer.from(text, 'latin1'));
    });
    upstream.on('data', (chunk: Buffer) => {
      responses += chunk.toString('latin1');
      for (let next; (next = first(responses, request)) !== undefined;) {
        responses = responses.slice(next.length);
        if (next.passing.status < 200) {
          if (damage.dropsInterim !== true) client.write(Buffer.from(next.text, 'latin1'));
          continue;
        }
        damage.response?.(next.passing);
        client.write(Buffer.from(written(next.passing), 'latin1'));
      }
    });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroySoon());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`, apiKey };
}

/** The first response of a text, if all of it is there. */
function first(
  responses: string,
  request: string,
): { readonly passing: Passing; readonly text: string; readonly length: number } | undefined {
  const end = responses.indexOf('\r\n\r\n') + 4;
  if (end < 4) return undefined;
  const [line = '', ...lines] = responses.slice(0, end - 4).split('\r\n');
  const status = Number(/ (\d{3})/.exec(line)![1]);
  const headers = lines.map((header): [string, string] => [
    header.slice(0, header.indexOf(':')),
    header.slice(header.indexOf(':') + 2),
  ]);
  const [, method = '', target = ''] = /^(\S+) (\S+)/.exec(request) ?? [];
  const promised = Number(headers.find(([name]) => name === 'Content-Length')?.[1] ?? 0);
  const length = end + (method === 'HEAD' ? 0 : promised);
  if (responses.length < length) return undefined;
  return {
    passing: { method, target, request, status, headers, body: responses.slice(end, length) },
    text: responses.slice(0, length),
    length,
  };
}

function written({ method, status, headers, body }: Passing): string {
  const hasLength = status === 204 || headers.some(([name]) => name === 'Content-Length');
  const lines = [...headers, ...(hasLength ? [] : [['Content-Length', '0'] as const])].map(
    ([name, value]) => `${name}: ${name === 'Content-Length' && method !== 'HEAD' ? body.length : value}\r\n`,
  );
  return `HTTP/1.1 ${status} Damaged\r\n${lines.join('')}\r\n${body}`;
}
