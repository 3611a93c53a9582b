/** A connection of a client that sends one request at a time, as bytes. */
import { connect, type Socket } from 'node:net';

/** A response, its body with one character for each byte. */
export interface Received {
  readonly status: number;
  readonly body: string;
  /** Whether the server closes the connection after the response. */
  readonly closes: boolean;
}

const timeoutMs = 30_000;

export class Connection {
  readonly #socket: Socket;
  #text = '';
  #isEnded = false;
  #wake = (): void => {};

  /** Connects to a port of 127.0.0.1. */
  constructor(port: number) {
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.#socket.setTimeout(timeoutMs, () => this.#socket.destroy());
    this.#socket.setEncoding('latin1').on('data', (text: string) => {
      this.#text += text;
      this.#wake();
    });
    for (const event of ['error', 'end', 'close']) {
      this.#socket.on(event, () => {
        this.#isEnded = true;
        this.#wake();
      });
    }
  }

  /** Sends a request, and resolves to its response, which must have a Content-Length. Rejects if there is none. */
  async exchange(request: Buffer): Promise<Received> {
    this.#text = '';
    this.#socket.write(request);
    for (;;) {
      const headEnd = this.#text.indexOf('\r\n\r\n') + 4;
      const head = this.#text.slice(0, headEnd);
      const [, length = 0] = /\r\nContent-Length: (\d+)\r\n/i.exec(head) ?? [];
      if (head.startsWith('HTTP/1.1 100 ')) {
        this.#text = this.#text.slice(headEnd);
        continue;
      }
      if (head.includes('\r\nTransfer-Encoding: ')) throw new Error('a response without Content-Length');
      if (headEnd > 4 && this.#text.length >= headEnd + Number(length)) {
        const body = this.#text.slice(headEnd);
        return { status: Number(head.split(' ', 2)[1]), body, closes: head.includes('\r\nConnection: close\r\n') };
      }
      if (this.#isEnded) throw new Error(`no response, but ${JSON.stringify(this.#text.slice(0, 100))}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}
