import type { Reply } from '../http/reply.ts';

/** Returns the bytes of a reply's body, as they are sent. */
export function bytesOfBody(body: Reply['body']): Buffer {
  return typeof body === 'string' ? Buffer.from(body, 'latin1') : Buffer.concat(body ?? []);
}
