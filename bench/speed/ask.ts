/** One request and its answer, header by header as they came. */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Answer {
  readonly status: number;
  /** Name, value, name, value, as they came. */
  readonly rawHeaders: readonly string[];
  /** By name, in small letters. */
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Question {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Asks on a connection of its own, as one who would keep it open. Rejects if no answer comes within 10 s. */
export async function ask(url: string, { method = 'GET', headers = {}, body }: Question = {}): Promise<Answer> {
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
  const outgoing = request(url, {
    method,
    headers: { ...headers, ...length, Connection: 'keep-alive' },
    agent: false,
    signal: AbortSignal.timeout(10_000),
  });
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: answer.statusCode!, rawHeaders: answer.rawHeaders, headers: answer.headers, body: await text(answer) };
}
