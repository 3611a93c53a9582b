import { randomBytes } from 'node:crypto';
import { decimal } from '../json/decimal.ts';

/** What the ids of one process begin with, so that they differ from those of any other. */
const prefix = randomBytes(8).toString('hex');
let count = 0;

/** An id for an answer (`X-Request-Id`), never given twice. */
export function newRequestId(): string {
  return `${prefix}-${decimal(++count)}`;
}
