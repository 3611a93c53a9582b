/**
 * Requests at a steady pace, whether the server keeps up or not. autocannon sends the requests of a second all at its beginning,
 * and none while it waits for an answer: a server that stands still for a while would not be noticed.
 */
import { Agent, request } from 'node:http';

export interface PacedRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** What it must be answered with. */
  readonly status: number;
}

/** One answer. Times in milliseconds of `performance.now()`. */
export interface Sample {
  readonly sentAt: number;
  readonly latency: number;
}

/** As many connections as it takes while the server stands still for a moment, and no more than a process may have. */
const mostSockets = 256;
/** More at a time only shows that the server no longer answers. */
const mostUnderWay = 10_000;

export class PacedLoad {
  readonly samples: Sample[] = [];
  readonly #url: string;
  readonly #next: (number: number) => PacedRequest;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: mostSockets });
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout;
  readonly #failed: Promise<never>;
  #fail!: (error: Error) => void;
  #sent = 0;
  #underWay = 0;

  /** Begins to send `perSecond` requests a second to `url`: number 0, 1, 2, … of what `next` gives. */
  constructor(url: string, perSecond: number, next: (number: number) => PacedRequest) {
    this.#url = url;
    this.#next = next;
    this.#failed = new Promise((_, reject) => (this.#fail = reject));
    this.#failed.catch(() => {}); // it is told to whoever is in `during`
    this.#timer = setInterval(() => {
      const due = ((performance.now() - this.#startedAt) / 1000) * perSecond;
      while (this.#sent < due) this.#send(this.#next(this.#sent++));
    }, 1);
  }

  /** What `task` gives. Rejects as soon as an answer is not what it must be. */
  during<T>(task: Promise<T>): Promise<T> {
    return Promise.race([task, this.#failed]);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#agent.destroy();
  }

  #send({ method, path, headers, body, status }: PacedRequest): void {
    if (this.#underWay >= mostUnderWay) return this.#fail(new Error(`${mostUnderWay} requests are without an answer`));
    this.#underWay++;
    const sentAt = performance.now();
    const sent = request(this.#url + path, { method, headers, agent: this.#agent }, (response) => {
      const came = response.statusCode;
      if (came !== status) this.#fail(new Error(`${method} ${path} must be answered with ${status}, and was with ${came}`));
      response.resume().once('end', () => {
        this.#underWay--;
        this.samples.push({ sentAt, latency: performance.now() - sentAt });
      });
    });
    sent.once('error', (error) => this.#fail(new Error(`${method} ${path} was not answered: ${error.message}`)));
    sent.end(body);
  }
}
