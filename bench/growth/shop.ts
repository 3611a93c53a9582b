/** A server of ours with so many animals. */
import { randomInt } from 'node:crypto';
import { fill, makeKey, startOwnServer, temporaryFolder } from '../measure/own-server.ts';
import type { Program } from '../measure/program.ts';

/** What no bench comes near: limits are not what is measured here. */
const keyLimits = { perMinute: 1_000_000_000, perDay: 1_000_000_000 };

/** A data folder with animals 1 … `animals` and a key. */
export interface Stock {
  readonly folder: string;
  readonly animals: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** A server on a stock. */
export interface Shop extends Stock {
  readonly program: Program;
  /** Where its interface stands: `http://127.0.0.1:8080/v1`. */
  readonly url: string;
}

/** Makes a stock in a temporary folder. */
export async function makeStock(animals: number): Promise<Stock> {
  const folder = temporaryFolder();
  await fill(folder, animals);
  return { folder, animals, headers: { authorization: `Bearer ${await makeKey(folder, keyLimits)}` } };
}

/** Starts the server. */
export async function openShop(stock: Stock): Promise<Shop> {
  const program = await startOwnServer(stock.folder);
  return { ...stock, program, url: `${program.address}/v1` };
}

/** How many animals a page has. */
export const pageLength = 20;

/** What is asked of both shops. */
export type ReadName = 'first page' | 'random page' | 'filtered page' | 'last page';

export interface Read {
  readonly name: ReadName;
  /** The page's query: a new one each time, where it is random. */
  readonly query: (animals: number) => PageQuery;
}

export interface PageQuery {
  readonly after?: number;
  readonly status?: 'sold';
}

/** Every third animal is sold: so many behind `after` have a full page of them. */
const filteredSpan = 3 * pageLength;

export const reads: readonly Read[] = [
  { name: 'first page', query: () => ({}) },
  { name: 'random page', query: (animals) => ({ after: randomInt(animals - pageLength + 1) }) },
  { name: 'filtered page', query: (animals) => ({ status: 'sold', after: randomInt(animals - filteredSpan + 1) }) },
  { name: 'last page', query: (animals) => ({ after: animals - pageLength }) },
];

/** The path of a page, behind the shop's address. */
export function pathOf({ after, status }: PageQuery): string {
  return `/pets?${status === undefined ? '' : `status=${status}&`}limit=${pageLength}${after === undefined ? '' : `&after=${after}`}`;
}
