import type { IncomingMessage } from 'node:http';
import { ApiError } from '../domain/api-error.ts';

/** The most bytes that a request's body may have (decisions.md, `payload_too_large`). */
export const maxBodyBytes = 64 * 1024;

/** The body of a request that has none. */
export const emptyBody = Buffer.alloc(0);

/** The body of one request. Buffers at most 64 KiB until they are read, or discards what is received. */
export class Body {
  readonly #message: IncomingMessage;
  /** The value of Content-Length; null for a chunked body. */
  readonly #declaredBytes: number | null;
  #sendContinue: (() => void) | null;
  #onExcess = (): void => {};
  /** What has been received, in its first bytes; null when what is received is thrown away. */
  #kept: Buffer | null = emptyBody;
  #receivedBytes = 0;
  #fault: ApiError | null = null;
  #reader: { readonly resolve: (body: Buffer) => void; readonly reject: (fault: ApiError) => void } | null = null;

  /** `sendContinue` asks for the body with `100 Continue`; null where the client does not wait for that. */
  constructor(message: IncomingMessage, declaredBytes: number | null, sendContinue: (() => void) | null) {
    this.#message = message;
    this.#declaredBytes = declaredBytes;
    this.#sendContinue = sendContinue;
    message.on('data', (piece: Buffer) => this.#receive(piece));
    message.on('end', () => this.#reader?.resolve(this.#kept?.subarray(0, this.#receivedBytes) ?? emptyBody));
    message.on('close', () => {
      if (!message.complete) this.fail(new ApiError('malformed_request', 'The connection closed within the body.'));
    });
  }

  /** The size of the buffer in which the body is kept. */
  get keptBytes(): number {
    return this.#kept?.length ?? 0;
  }

  /**
   * Whether the connection can be kept when the request has been answered: at most 64 KiB of the body are outstanding (or it is
   * chunked), the client does not wait for 100 Continue, and the body is not broken.
   */
  get isDiscardable(): boolean {
    const outstandingBytes = this.#declaredBytes === null ? this.#receivedBytes : this.#declaredBytes - this.#receivedBytes;
    return this.#message.complete || (this.#fault === null && this.#sendContinue === null && outstandingBytes <= maxBodyBytes);
  }

  /**
   * Gives the body when it is complete. May be called once.
   * Rejects with ApiError: 413 over 64 KiB, at once where Content-Length says so; and what `fail` was called with.
   */
  read(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (this.#fault !== null) return reject(this.#fault);
      if ((this.#declaredBytes ?? this.#receivedBytes) > maxBodyBytes) return reject(tooLarge());
      this.#reader = { resolve, reject };
      if (this.#message.readableEnded) return resolve(this.#kept?.subarray(0, this.#receivedBytes) ?? emptyBody);
      this.#sendContinue?.();
      this.#sendContinue = null;
    });
  }

  /** Resolves when the body is complete, which is thrown away as it is received. Rejects as `read` does. */
  skip(): Promise<Buffer> {
    this.#kept = null;
    return this.read();
  }

  /** Throws away what has been received and what will be. Calls `onExcess` if a chunked body turns out to be larger than 64 KiB. */
  discard(onExcess: () => void): void {
    this.#kept = null;
    this.#onExcess = onExcess;
  }

  /** Marks the body as broken: the rest will not arrive. */
  fail(fault: ApiError): void {
    this.#fault ??= fault;
    this.#kept = null;
    this.#reader?.reject(this.#fault);
  }

  #receive(piece: Buffer): void {
    const start = this.#receivedBytes;
    this.#receivedBytes += piece.length;
    if (this.#receivedBytes > maxBodyBytes) {
      this.#kept = null;
      this.#reader?.reject(tooLarge());
      if (this.#declaredBytes === null) this.#onExcess();
    } else if (this.#kept !== null) {
      this.#kept = appended(this.#kept, start, piece);
    }
  }
}

/** Puts `piece` behind the first `length` bytes of `buffer`, or of a longer copy. A separate Buffer for each chunk of one byte would take 200 times the memory. */
function appended(buffer: Buffer, length: number, piece: Buffer): Buffer {
  const needed = length + piece.length;
  const target = needed <= buffer.length ? buffer : Buffer.allocUnsafe(length === 0 ? needed : Math.min(2 * needed, maxBodyBytes));
  if (target !== buffer) buffer.copy(target, 0, 0, length);
  piece.copy(target, length);
  return target;
}

function tooLarge(): ApiError {
  return new ApiError('payload_too_large', `The body is larger than ${maxBodyBytes} bytes.`);
}
