import { performance } from 'node:perf_hooks'; // the global `performance` is a getter, called on each use
import type { ApiError } from '../http/api-error.ts';
import { clientAddress } from '../http/client-address.ts';
import type { Handler } from '../http/connection.ts';
import { lengthOf, type Reply } from '../http/reply.ts';
import { Request, type Sender } from '../http/request.ts';
import type { Access } from './line.ts';
import type { Metrics } from './metrics.ts';

export interface Observers {
  /** Logs a request whose head had this length; null without an access log. */
  readonly access: ((access: Access, headBytes: number) => void) | null;
  /** null if nobody can ask for them. */
  readonly metrics: Metrics | null;
  readonly trustedProxies: number;
}

/**
 * Reports each reply of another handler to the access log and the metrics. The reply is made then, and about to be
 * sent; whether its client still waits for it is not known.
 */
export class Observed implements Handler {
  readonly #handler: Handler;
  readonly #observers: Observers;

  constructor(handler: Handler, observers: Observers) {
    this.#handler = handler;
    this.#observers = observers;
  }

  respond(request: Request, waitedMs: number): Reply | Promise<Reply> {
    const arrivedAt = performance.now() - waitedMs;
    const reply = this.#handler.respond(request, waitedMs);
    if (reply instanceof Promise) return reply.then((late) => this.#report(request, late, arrivedAt));
    return this.#report(request, reply, arrivedAt);
  }

  refuse(sender: Sender, refusal: ApiError, counts: boolean): Reply {
    const reply = this.#handler.refuse(sender, refusal, counts);
    if (sender instanceof Request) return this.#report(sender, reply, performance.now());
    this.#observers.metrics?.noteOther(reply.status);
    if (this.#observers.access !== null) this.#logAccess(this.#observers.access, sender, reply, 0);
    return reply;
  }

  #report(request: Request, reply: Reply, arrivedAt: number): Reply {
    const ms = performance.now() - arrivedAt;
    const { access, metrics } = this.#observers;
    if (metrics !== null) metrics.noteReply(reply, ms / 1000);
    if (access !== null) this.#logAccess(access, request, reply, ms);
    return reply;
  }

  #logAccess(log: NonNullable<Observers['access']>, sender: Sender, reply: Reply, ms: number): void {
    const { status, body, about } = reply;
    const request = sender instanceof Request ? sender : null;
    const method = request?.method ?? null;
    const path = request?.path ?? null;
    const bytes = method === 'HEAD' ? 0 : lengthOf(body);
    const address = clientAddress(sender, this.#observers.trustedProxies);
    const time = Date.now();
    const key = about?.key ?? null;
    log({ time, id: sender.id, key, method, path, status, bytes, ms, address }, request?.headBytes ?? 0);
  }
}
