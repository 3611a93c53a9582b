import { IncomingMessage } from 'node:http';
import { ApiError } from '../domain/api-error.ts';
import { firstLineOf } from './header-lines.ts';

/** The most bytes a request's body may have (decisions.md, `payload_too_large`). */
export const maxBodyBytes = 64 * 1024;

/** The body of a request that has none. */
export const emptyBody = Buffer.alloc(0);

/**
 * A message as Node's parser hands it over, whose body takes no way through a stream.
 *
 * To make a short body flow, and to end the stream of a message that has none, takes Node a tenth of a request's time. Here the
 * parser's pieces go straight to the body, of which one can have all or nothing; so the message is no stream to read from.
 */
export class Message extends IncomingMessage {
  /** What has come of the body: its first `#size` bytes. */
  #body: Buffer = emptyBody;
  #size = 0;
  #fault: ApiError | null = null;
  #bodyRead = false;
  /** Whether so much has come that the rest waits in the socket, until the body is asked for. */
  #held = false;
  #reader: { readonly resolve: (body: Buffer) => void; readonly reject: (fault: ApiError) => void } | null = null;

  /** The whole body, once it is there. Rejects with ApiError: 413 as soon as it has more than 64 KiB, and what `break` was told. */
  body(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
      if (this.#fault !== null) reject(this.#fault);
      else if (this.complete) this.#give();
      else if (this.#held) this.socket.resume();
    });
  }

  /** Whether the body has been given. */
  get bodyRead(): boolean {
    return this.#bodyRead;
  }

  /** Told by the connection that the rest of the body cannot be had, and why: whoever reads it gets this error. */
  break(fault: ApiError): void {
    this.#fault ??= fault;
    this.#body = emptyBody;
    this.#reader?.reject(this.#fault);
  }

  /** What the parser calls with each piece of the body, and with null at its end. Gives whether it may go on. */
  override push(piece: Buffer | null): boolean {
    if (piece === null) {
      if (this.#reader !== null) this.#give();
      return true;
    }
    const start = this.#size;
    this.#size += piece.length;
    if (this.#size > maxBodyBytes) this.break(tooLarge());
    else if (start === 0) this.#body = piece;
    else this.#append(piece, start);
    this.#held = this.#reader === null && this.#size >= this.readableHighWaterMark;
    return !this.#held;
  }

  /** What Node calls at the end of an answer, to throw away what nobody has read: nothing flows here. */
  override resume(): this {
    return this;
  }

  /** What Node calls when the connection has closed before the answer. */
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // Nobody is left to read this answer; it only ends the wait.
    if (!this.complete) this.break(new ApiError('malformed_request', 'The connection closed within the body.'));
    super._destroy(error, callback);
  }

  /** Into one buffer: kept each for itself, pieces of a byte would take 200 times as much memory as they hold. */
  #append(piece: Buffer, start: number): void {
    if (this.#size > this.#body.length) {
      const longer = Buffer.allocUnsafe(Math.min(2 * this.#size, maxBodyBytes));
      this.#body.copy(longer, 0, 0, start);
      this.#body = longer;
    }
    piece.copy(this.#body, start);
  }

  #give(): void {
    if (this.#fault !== null) return;
    this.#bodyRead = true;
    this.#reader!.resolve(this.#size === this.#body.length ? this.#body : this.#body.subarray(0, this.#size));
    this.#reader = null;
    this.#body = emptyBody; // the answer may take a while
  }
}

Object.defineProperties(Message.prototype, {
  /** Node asks it whether anything is left to come: else it would wait for an 'end' of the stream. */
  readableEnded: {
    get(this: Message) {
      return this.complete;
    },
  },
  /** Those that Node asks for, `te` in HTTP/1.0: it would make an object of all for that. For whoever else asks there is `rawHeaders`. */
  headers: {
    get(this: Message) {
      return { expect: firstLineOf(this.rawHeaders, 'expect'), te: firstLineOf(this.rawHeaders, 'te') };
    },
  },
});

/** A body over 64 KiB. */
export function tooLarge(): ApiError {
  return new ApiError('payload_too_large', `The body is larger than ${maxBodyBytes} bytes.`);
}
