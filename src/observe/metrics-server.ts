import { bytesOf } from '../domain/byte-text.ts';
import type { Soon } from '../engine.ts';
import type { Reply } from '../http/reply.ts';
import { SingleRequestServer, textReply } from '../http/single-request-server.ts';
import { contentType } from './exposition.ts';

/** Making the text takes at most one part in this many of the time: it is reused for 19 times as long. */
const freshFactor = 20;

/**
 * Responds to `GET /metrics` on an address of its own. `metrics` returns the text. Rejects with what `listen` reports.
 */
export function serveMetrics(host: string, port: number, metrics: () => Soon<string>): Promise<SingleRequestServer> {
  const text = reused(metrics);
  return SingleRequestServer.open(host, port, (method, target): Soon<Reply> => {
    if (!/^\/metrics(\?|$)/.test(target)) return textReply(404, 'The metrics are at /metrics.');
    if (method !== 'GET' && method !== 'HEAD') return textReply(405, 'Use GET.', ['Allow', 'GET, HEAD']);
    const made = text();
    if (!(made instanceof Promise)) return replyOf(made);
    return made.then(replyOf, () => textReply(503, 'The metrics cannot be read at the moment.'));
  });
}

function replyOf(text: string): Reply {
  return { status: 200, headers: [], type: contentType, body: bytesOf(text) };
}

/** Returns a text. Makes it again only if that takes at most a twentieth of the time, or if it has to be waited for. */
function reused(make: () => Soon<string>): () => Soon<string> {
  let text = '';
  let freshUntil = -Infinity; // by `performance.now()`
  let pending: Promise<string> | null = null;
  return () => {
    const begin = performance.now();
    if (pending !== null || begin < freshUntil) return pending ?? text;
    const made = make();
    if (made instanceof Promise) return (pending = made.finally(() => (pending = null)));
    text = made;
    const end = performance.now();
    freshUntil = end + (freshFactor - 1) * (end - begin);
    return text;
  };
}
