/** How long a start takes, and how much memory it leaves in use. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atExit } from '../measure/at-exit.ts';
import { pinServer } from '../measure/cores.ts';
import type { Ratio } from '../measure/figures.ts';
import { median, quantile } from '../measure/statistics.ts';
import { openShop, type Stock } from './shop.ts';

/** How long something took. */
export interface Took {
  readonly ms: number;
  /** In its own code and in the kernel. */
  readonly cpuMs: number;
}

export interface Start extends Took {
  /** Resident memory of the started server, in bytes. */
  readonly resident: number;
}

export interface StartUps {
  readonly small: readonly Start[];
  readonly large: readonly Start[];
  /** `JSON.parse` of the large shop's snapshot. */
  readonly parse: readonly Took[];
}

/** From the address line until its memory is read: by then it does not change any more. */
const settleMs = 500;

/** Starts each shop so many times, in turn, and parses the large one's snapshot. All on the server's core. */
export async function measureStartUps(small: Stock, large: Stock, times: number): Promise<StartUps> {
  const all = { small: [] as Start[], large: [] as Start[], parse: [] as Took[] };
  const snapshot = join(large.folder, 'pets.json');
  await parse(snapshot); // not counted: it reads the file into the kernel's memory
  for (let time = 0; time < times; time++) {
    all.small.push(await start(small));
    all.large.push(await start(large));
    all.parse.push(await parse(snapshot));
  }
  return all;
}

async function start(stock: Stock): Promise<Start> {
  const { program } = await openShop(stock);
  const { user, system } = await program.usage();
  await sleep(settleMs);
  const { resident } = await program.usage();
  await program.stop();
  return { ms: program.startMs, cpuMs: (user + system) / 1000, resident };
}

async function parse(path: string): Promise<Took> {
  const child = fork(fileURLToPath(new URL('parse.mjs', import.meta.url)), [path], { execArgv: [] });
  const ended = atExit(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  pinServer(child.pid!);
  child.send('begin');
  const told = await Promise.race([once(child, 'message'), exited.then(() => undefined)]);
  await exited;
  ended();
  if (told === undefined) throw new Error(`JSON.parse of ${path} failed: there may be too little memory`);
  return told[0] as Took;
}

/**
 * What the animals add to a start, against `JSON.parse` of them: the large shop's start less the small one's, which is what any
 * start takes. Of the medians; the spread is the quartiles of each time's own ratio.
 */
export function startRatio({ small, large, parse }: StartUps, figure: (took: Took) => number): Ratio {
  const all = (times: readonly Took[]) => median(times.map(figure));
  const single = large.map((took, i) => (figure(took) - figure(small[i]!)) / figure(parse[i]!));
  return { ratio: (all(large) - all(small)) / all(parse), low: quantile(single, 0.25), high: quantile(single, 0.75) };
}
