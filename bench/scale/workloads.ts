/** The workloads of the scale bench, all over 64 connections. */
import { create, get, list, make, type Workload } from '../speed/workloads.ts';

const connections = 64;
/** One for each connection. */
export const keys = 64;

/**
 * Requests that cost no more than their admission: they are admitted before their `limit`, which is too large, is
 * refused.
 */
const admission: Workload = {
  ...{ id: 'admission', title: 'admission', method: 'GET', connections, key: 'full' },
  exchanges: make(1_000, (random) => ({ path: `/pets?limit=${random(101, 1_000_000)}`, status: 400 })),
};

const withOneKey = (workload: Workload): Workload => ({ ...workload, connections, title: `${workload.id}, one key` });
const withKeys = (workload: Workload): Workload =>
  ({ ...workload, connections, title: `${workload.id}, ${keys} keys`, key: 'each' });

const creates = { ...create, id: 'create' };

export const admissions = { oneKey: withOneKey(admission), manyKeys: withKeys(admission) };
export const lists = withOneKey(list);
export const gets = withOneKey(get);
export const created = { oneKey: withOneKey(creates), manyKeys: withKeys(creates) };
