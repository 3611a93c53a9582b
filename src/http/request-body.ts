import type { IncomingMessage } from 'node:http';
import { ApiError } from './api-error.ts';

/** The maximum size of a request's body (decisions.md, "Error codes", `payload_too_large`). */
export const maxBodyBytes = 64 * 1024;

/** The body of a request that has none. */
export const emptyBody = Buffer.alloc(0);

/** The body of one request. Buffers at most 64 KiB until they are read, or discards what is received. */
export class RequestBody {
  readonly #message: IncomingMessage;
  /** The value of Content-Length; null for a chunked body. */
  readonly #declaredBytes: number | null;
  /** Whether the client may wait for a response to its `Expect` before it sends the body, or not send it at all. */
  #isExpecting: boolean;
  #sendContinue: (() => void) | null;
  /** A buffer that begins with the received bytes; null if they are discarded. */
  #kept: Buffer | null = emptyBody;
  #receivedBytes = 0;
  #error: ApiError | null = null;
  /** Settles what `read` returned, if the body is complete or refused. */
  #settle = (): void => {};
  #onExcess = (): void => {};
  readonly #onPiece: () => void;

  /**
   * `sendContinue` requests the body with `100 Continue`; null if the client does not wait for that. `onPiece` is called
   * for each piece that is received.
   */
  constructor(
    message: IncomingMessage, declaredBytes: number | null, sendContinue: (() => void) | null, onPiece: () => void,
  ) {
    this.#onPiece = onPiece;
    this.#message = message;
    this.#declaredBytes = declaredBytes;
    this.#isExpecting = message.headers.expect !== undefined; // whatever it expects
    this.#sendContinue = sendContinue;
    message.on('data', (piece: Buffer) => this.#receive(piece));
    message.on('end', () => {
      message.rawTrailers.length = 0; // nobody reads them, and they may take much memory
      this.#settle();
    });
  }

  /** The size of the buffer in which the body is kept. */
  get keptBytes(): number {
    return this.#kept?.length ?? 0;
  }

  /**
   * Whether the connection can be kept after the response: the body is chunked or at most 64 KiB of it are outstanding,
   * the client sends it in any case, and the body is not broken.
   */
  get isDiscardable(): boolean {
    if (this.#message.complete) return true;
    const excess = this.#declaredBytes === null ? this.#receivedBytes : this.#declaredBytes - this.#receivedBytes;
    return this.#error === null && !this.#isExpecting && excess <= maxBodyBytes;
  }

  /**
   * Resolves when the body is complete: with its bytes, or with none if `keep` is false. May be called once.
   * Rejects with ApiError: 413 over 64 KiB, at once if Content-Length says so; or the one that `fail` was called with.
   */
  read(keep: boolean): Promise<Buffer> {
    if (!keep) this.#kept = null;
    return new Promise((resolve, reject) => {
      this.#settle = () => {
        if (this.#error !== null) reject(this.#error);
        else if ((this.#declaredBytes ?? this.#receivedBytes) > maxBodyBytes) {
          reject(new ApiError('payload_too_large', `The body is larger than ${maxBodyBytes} bytes.`));
        } else if (this.#message.readableEnded) resolve(this.#kept?.subarray(0, this.#receivedBytes) ?? emptyBody);
        else {
          this.#sendContinue?.();
          this.#sendContinue = null;
          this.#isExpecting = false;
        }
      };
      this.#settle();
    });
  }

  /** Discards the whole body. Calls `onExcess` if a chunked body turns out to be larger than 64 KiB. */
  discard(onExcess: () => void): void {
    this.#kept = null;
    this.#onExcess = onExcess;
  }

  /** Called when the connection is closed. */
  closed(): void {
    if (!this.#message.complete) this.fail(new ApiError('malformed_request', 'The connection closed within the body.'));
  }

  /** Marks the body as broken: the rest will not arrive. */
  fail(error: ApiError): void {
    this.#error ??= error;
    this.#kept = null;
    this.#settle();
  }

  #receive(piece: Buffer): void {
    this.#receivedBytes += piece.length;
    this.#onPiece();
    if (this.#receivedBytes > maxBodyBytes) {
      this.#kept = null;
      this.#settle();
      if (this.#declaredBytes === null) this.#onExcess();
    } else if (this.#kept !== null) {
      const start = this.#receivedBytes - piece.length;
      if (this.#receivedBytes > this.#kept.length) { // a Buffer for each chunk would take more memory
        const longer = Buffer.allocUnsafe(Math.min(2 * this.#receivedBytes, maxBodyBytes));
        this.#kept.copy(longer, 0, 0, start);
        this.#kept = longer;
      }
      piece.copy(this.#kept, start);
    }
  }
}
