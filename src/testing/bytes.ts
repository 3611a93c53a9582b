import type { Reply } from '../http/reply.ts';

/** The bytes of a body as they are sent. */
export function bytesOfBody(body: Reply['body']): Buffer {
  return typeof body === 'string' ? Buffer.from(body, 'latin1') : Buffer.concat(body ?? []);
}
