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

/** Starts against reading and parsing the large shop's snapshot by `JSON.parse`. */
export interface StartRatios {
  /** What the animals add: the large shop's start less the small one's, which is what any start takes. */
  readonly added: Ratio;
  /** All of the large shop's start. */
  readonly whole: Ratio;
}

/** Ratios of the medians; their spread is the quartiles of each time's own. */
export function startRatios({ small, large, parse }: StartUps, figure: (took: Took) => number): StartRatios {
  const ratio = (above: (small: number, large: number) => number): Ratio => {
    const single = large.map((took, i) => above(figure(small[i]!), figure(took)) / figure(parse[i]!));
    const [ofSmall, ofLarge, ofParse] = [small, large, parse].map((all) => median(all.map(figure)));
    return { ratio: above(ofSmall!, ofLarge!) / ofParse!, low: quantile(single, 0.25), high: quantile(single, 0.75) };
  };
  return { added: ratio((ofSmall, ofLarge) => ofLarge - ofSmall), whole: ratio((_, ofLarge) => ofLarge) };
}
