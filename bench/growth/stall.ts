/**
 * How long the event loop stands still while a snapshot of all animals is written. The server does that when its journal is longer
 * than its snapshot: so it is given a folder in which that is almost so, and the creates among the requests do the rest.
 */
import { closeSync, cpSync, existsSync, fsyncSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from '../measure/statistics.ts';
import { run, temporaryFolder } from '../measure/own-server.ts';
import { PacedLoad, type PacedRequest } from './paced-load.ts';
import { makeStock, openShop, pathOf, reads, type Shop, type Stock } from './shop.ts';

/** What was seen in a stretch of time. In milliseconds. */
export interface Stretch {
  readonly ms: number;
  /** The longest the event loop stood still. */
  readonly stall: number;
  /** The same, without the time in which another thread had the core; null where the system does not tell. */
  readonly ownStall: number | null;
  /** From request to answer, as the clients saw it. */
  readonly p99: number;
  readonly max: number;
  readonly requests: number;
}

/** One snapshot, and the same time without. */
export interface Fold {
  /** How many animals are in it. */
  readonly animals: number;
  /** From the first byte of the new snapshot until the old journal is gone. */
  readonly ms: number;
  readonly writing: Stretch;
  readonly quiet: Stretch;
}

const perSecond = 1_000;
/** One in so many requests is a create. */
const createEvery = 20;
/** Before it is watched. */
const warmUpMs = 1_000;
/** Room for the creates of more than that: one after the other they take about 175 bytes each. */
const spareBytes = 12 * 1024;
const pollMs = 5;
/** It is due in half a second, and written in one. */
const mostWaitMs = 20_000;
/** The other animals' lines in the journal, longer than these in the snapshot, are together as long. */
const shareOfSnapshot = 0.62;

/** A stock of about `animals`, or as many as it takes, whose snapshot is almost due. */
export async function makeDueStock(animals: number): Promise<Stock> {
  const stock = await makeStock(Math.round(shareOfSnapshot * animals));
  const printed = await run(new URL('fill-journal.mjs', import.meta.url), stock.folder, String(spareBytes));
  return { ...stock, animals: Number(printed) };
}

/** Has the server write its snapshot once, on a copy of the stock. */
export async function measureFold(due: Stock, body: string): Promise<Fold> {
  const folder = temporaryFolder();
  copy(due.folder, folder);
  const shop = await openShop({ ...due, folder });
  const load = new PacedLoad(shop.url, perSecond, (number) => requestOf(shop, number, body));
  try {
    return await shop.program.during(load.during(watchFold(shop, load)));
  } finally {
    load.stop();
    await shop.program.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function watchFold(shop: Shop, load: PacedLoad): Promise<Fold> {
  const { folder } = shop;
  await sleep(warmUpMs);
  const snapshot = join(folder, 'pets.json');
  const before = statSync(snapshot).ino;
  let ms = 0;
  const writing = await stretch(shop, load, async () => {
    const until = performance.now() + mostWaitMs;
    let begunAt: number | undefined;
    for (;;) {
      if (existsSync(`${snapshot}.tmp`)) begunAt ??= performance.now();
      const journals = readdirSync(folder).filter((name) => name.endsWith('.journal'));
      if (statSync(snapshot).ino !== before && journals.length === 1) {
        ms = performance.now() - (begunAt ?? performance.now());
        return;
      }
      if (performance.now() > until) throw new Error(`the server has written no snapshot in ${mostWaitMs / 1000} s`);
      await sleep(pollMs);
    }
  });
  const after = statSync(snapshot).ino;
  const quiet = await stretch(shop, load, () => sleep(writing.ms));
  if (statSync(snapshot).ino !== after) throw new Error('the server has written a second snapshot');
  return { animals: animalsIn(snapshot), ms, writing, quiet };
}

async function stretch({ program }: Shop, load: PacedLoad, task: () => Promise<void>): Promise<Stretch> {
  await program.watch();
  const begunAt = performance.now();
  await task();
  const ms = performance.now() - begunAt;
  const { stall, ownStall } = await program.usage();
  const samples = load.samples.filter(({ sentAt }) => sentAt >= begunAt && sentAt <= begunAt + ms);
  const latencies = samples.map(({ latency }) => latency);
  return {
    ms,
    stall,
    ownStall: Number.isNaN(ownStall) ? null : ownStall,
    p99: quantile(latencies, 0.99),
    max: Math.max(...latencies),
    requests: latencies.length,
  };
}

/** Each kind of page in turn, and now and then a create. */
function requestOf({ headers, animals }: Shop, number: number, body: string): PacedRequest {
  if (number % createEvery === 0) {
    return { method: 'POST', path: '/pets', headers: { ...headers, 'content-type': 'application/json' }, body, status: 201 };
  }
  return { method: 'GET', path: pathOf(reads[number % reads.length]!.query(animals)), headers, status: 200 };
}

/** Copies a stock, to the disk: what the kernel has yet to write would disturb what is measured. */
function copy(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !/^lock\./.test(path.slice(from.length + 1)) });
  for (const name of readdirSync(to)) {
    const file = openSync(join(to, name), 'r');
    fsyncSync(file);
    closeSync(file);
  }
}

/** How many animals the snapshot's first line says it has. */
function animalsIn(snapshot: string): number {
  const file = openSync(snapshot, 'r');
  const head = Buffer.alloc(200);
  readSync(file, head);
  closeSync(file);
  return Number(/"count":(\d+)/.exec(head.toString('latin1'))?.[1]);
}
