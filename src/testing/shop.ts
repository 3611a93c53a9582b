/** Test support: a service, its keys and its clients, for tests of the limits over real sockets. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { limitsOf, type Plan } from '../limits/plans.ts';
import type { HttpResponse } from './http-response.ts';
import { openService, send, type TestService, type TestServiceOptions } from './service.ts';
import { Client } from './wire.ts';

export const noon = Date.parse('2026-11-21T12:00:00Z');
export const second = 1_000;
export const minute = 60_000;
export const freePerMinute = limitsOf({ name: 'free' }).perMinute;

export interface Shop extends TestService {
  /** Creates a key and returns its secret. */
  key(plan: Plan): Promise<string>;
  /** Opens a connection on which the test sends exact bytes. */
  connect(): Client;
  get(secret: string | null, path?: string): Promise<HttpResponse>;
}

/** Opens the service with a clock that shows noon until the test sets it. */
export async function openShop(t: TestContext, options: TestServiceOptions = {}): Promise<Shop> {
  const opened = await openService(t, { now: noon, ...options });
  return Object.assign(opened, {
    key: async (plan: Plan) => (await opened.keys.create('k', plan, null, opened.now)).secret,
    connect: () => {
      const client = new Client(Number(new URL(opened.address).port));
      t.after(() => client.socket.destroy());
      return client;
    },
    get: (secret: string | null, path = '/v1/pets') => opened.call('GET', path, { key: secret }),
  });
}

export const free: Plan = { name: 'free' };
/** Returns the header line that contains a secret. */
export const auth = (secret: string): string => `Authorization: Bearer ${secret}`;
/** Returns a header as a number. */
export const header = ({ headers }: Pick<HttpResponse, 'headers'>, name: string): number =>
  Number(headers.get(name) ?? assert.fail(`no ${name}`));
/** Returns the values of Limit, Remaining and Reset. */
export const limits = (response: Pick<HttpResponse, 'headers'>): number[] =>
  ['limit', 'remaining', 'reset'].map((name) => header(response, `x-ratelimit-${name}`));
/** Returns how many responses have this status. */
export const countStatus = (responses: readonly Pick<HttpResponse, 'status'>[], status: number): number =>
  responses.filter((response) => response.status === status).length;

/** Sends `count` concurrent requests, each on a connection of its own. */
export const burst = (shop: Shop, secret: string | null, count: number): Promise<HttpResponse[]> =>
  Promise.all(Array.from({ length: count }, () => send(shop.address, 'GET', '/v1/pets?limit=1', { key: secret })));
