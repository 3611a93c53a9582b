/** The whole run, from the empty folder to the last figure. */
import { arePinned, pinGenerator } from '../measure/cores.ts';
import { animal } from '../measure/animal.mjs';
import { rateRatio, userCpu, type Ratio } from '../measure/figures.ts';
import { median } from '../measure/statistics.ts';
import { smallAnimals, type Options } from './options.ts';
import { checkCreate, checkPages, countOf } from './right.ts';
import { costOf, measureRounds, type Cost, type RoundsOptions } from './rounds.ts';
import { makeStock, openShop, pathOf, reads, type ReadName, type Shop } from './shop.ts';
import { makeDueStock, measureFold, type Fold } from './stall.ts';
import { measureStartUps, startRatios, type StartRatios, type StartUps } from './start-up.ts';

/** One kind of request, of both shops. */
export interface RequestFigures extends Ratio {
  readonly name: ReadName | 'create';
  readonly small: Cost;
  readonly large: Cost;
}

/** Resident memory in bytes. */
export interface Memory {
  readonly small: number;
  readonly large: number;
  readonly anAnimal: number;
}

/** All figures. Times in milliseconds, CPU time a request in microseconds. */
export interface Growth {
  readonly animals: { readonly small: number; readonly large: number };
  /** The same once creates have been measured. */
  readonly animalsAfter: { readonly small: number; readonly large: number };
  /** Whether the servers had a core of their own. */
  readonly pinned: boolean;
  readonly quick: boolean;
  readonly requests: readonly RequestFigures[];
  readonly starts: StartUps;
  readonly start: { readonly time: StartRatios; readonly cpu: StartRatios };
  readonly memory: { readonly started: Memory; readonly loaded: Memory };
  readonly folds: readonly Fold[];
}

/** A round of creates must be too short for two snapshots of the small shop: it writes one after some 240,000 creates. */
const lengths = {
  full: { starts: 7, rounds: 8, seconds: 1, creates: { rounds: 16, seconds: 0.5 }, folds: 5 },
  quick: { starts: 1, rounds: 1, seconds: 0.05, creates: { rounds: 1, seconds: 0.05 }, folds: 1 },
};

/** Measures everything, and says what it is about. */
export async function measure({ animals, quick }: Options, say: (doing: string) => void): Promise<Growth> {
  const { starts: times, rounds, seconds, creates, folds: foldCount } = lengths[quick ? 'quick' : 'full'];
  const counts = { small: smallAnimals, large: animals };
  const of = (number: number) => `${number.toLocaleString('en')} animals`;

  say(`filling folders with ${of(counts.small)} and ${of(counts.large)}`);
  const [small, large, due] = await Promise.all([makeStock(counts.small), makeStock(counts.large), makeDueStock(counts.large)]);
  pinGenerator();

  say(`starting each ${times} times, and JSON.parse of the same`);
  const starts = await measureStartUps(small, large, times);

  const shops = [await openShop(small), await openShop(large)] as const;
  const requests: RequestFigures[] = [];
  const ask = async (name: RequestFigures['name'], options: RoundsOptions): Promise<void> => {
    say(`${name}: ${options.rounds} rounds of ${options.seconds} s each`);
    const { small: ofSmall, large: ofLarge } = await measureRounds(...shops, options);
    requests.push({ name, ...rateRatio(ofLarge, ofSmall, userCpu), small: costOf(ofSmall), large: costOf(ofLarge) });
  };
  say('checking the answers of both');
  for (const shop of shops) await checkPages(shop);
  for (const { name, query } of reads) {
    const request = ({ url, headers, animals: count }: Shop) => ({ url, headers, nextPath: () => pathOf(query(count)), status: 200 });
    await ask(name, { rounds, seconds, request });
  }
  const [smallLoaded, largeLoaded] = [await shops[0].program.usage(), await shops[1].program.usage()];
  const body = JSON.stringify(animal(counts.large + 1));
  for (const shop of shops) await checkCreate(shop, body);
  await ask('create', {
    ...creates,
    request({ url, headers }) {
      return { url: `${url}/pets`, method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body, status: 201 };
    },
  });
  const animalsAfter = { small: await countOf(shops[0], body), large: await countOf(shops[1], body) };
  for (const { program } of shops) await program.stop();

  const folds: Fold[] = [];
  for (let fold = 1; fold <= foldCount; fold++) {
    say(`a snapshot under load, ${fold} of ${foldCount}`);
    folds.push(await measureFold(due, body));
  }

  const memory = (ofSmall: number, ofLarge: number): Memory => {
    return { small: ofSmall, large: ofLarge, anAnimal: (ofLarge - ofSmall) / (counts.large - counts.small) };
  };
  const resident = (all: StartUps['small']): number => median(all.map((start) => start.resident));
  return {
    animals: counts,
    animalsAfter,
    pinned: arePinned(),
    quick,
    requests,
    starts,
    start: { time: startRatios(starts, ({ ms }) => ms), cpu: startRatios(starts, ({ cpuMs }) => cpuMs) },
    memory: {
      started: memory(resident(starts.small), resident(starts.large)),
      loaded: memory(smallLoaded.resident, largeLoaded.resident),
    },
    folds,
  };
}
