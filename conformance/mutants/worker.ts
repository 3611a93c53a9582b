/**
 * A process that tests one server after the other. The mutant or variant runs in this process beside the kit. Both use
 * one clock that waits move forward.
 */
import { runChecks } from '../checks/suite.ts';
import { systemClock, type Clock } from '../client/clock.ts';
import { Session } from '../session/session.ts';
import { faultOf } from './families/families.ts';
import { mutants } from './mutants.ts';
import { startSmallServer } from './server/small-server.ts';
import { variants } from './variants.ts';

/** One run of the kit. */
export interface Job {
  readonly mutant?: string;
  readonly variant?: string;
  /** A fault of a family. */
  readonly fault?: string;
  readonly seed: number;
  /**
   * `full`: everything is allowed, with a separate key for --exhaust. `free`: a default run with a Free key. `single`:
   * the same with --exhaust, which uses up the limit of the only key.
   */
  readonly mode: 'full' | 'free' | 'single';
  /** Whether to use the system clock, with real waits. */
  readonly realTime: boolean;
}

/** The result of a run. */
export interface Outcome {
  readonly job: Job;
  readonly failed: readonly string[];
  /** Why the server could not be tested. */
  readonly untestable?: string;
  /** The number of 429 responses that the kit did not provoke. */
  readonly unwanted429: number;
}

/** A clock on which waiting takes no time. It starts at noon: shortly before midnight, nothing can be seen of a day. */
function movingClock(): Clock {
  let ahead = Date.UTC(2026, 10, 21, 12) - systemClock.now();
  return {
    now: () => systemClock.now() + ahead,
    sleep: async (ms) => {
      ahead += Math.ceil(ms);
    },
  };
}

const key = 'test_Qm7rT2xVb9KdLw4sHc8NpZa3';
const exhaustKey = 'other_Xg5uJ8eRy1WfMk6tBv0DnSq9';

async function run(job: Job): Promise<Outcome> {
  const clock = job.realTime ? systemClock : movingClock();
  const server =
    mutants.find(({ id }) => id === job.mutant) ??
    variants.find(({ id }) => id === job.variant) ??
    faultOf(job.fault ?? '');
  const full = job.mode === 'full';
  const keys = [
    { secret: key, plan: full ? ('business' as const) : ('free' as const) },
    ...(full ? [{ secret: exhaustKey, plan: 'free' as const }] : []),
  ];
  const { baseUrl, close } = await startSmallServer({ clock, keys, hooks: server?.hooks });
  const session = new Session(
    {
      baseUrl,
      apiKey: key,
      only: [],
      seed: job.seed,
      runs: full && !job.realTime ? 60 : 20,
      thoroughAuth: full,
      strict: false,
      write: true,
      readOnly: false,
      exhaust: job.mode !== 'free',
      ...(full && { exhaustKey, plan: 'free' }),
    },
    clock,
  );
  let untestable: string | undefined;
  try {
    await session.open();
    await runChecks(session);
    untestable = session.lost?.message;
  } catch (error) {
    untestable = (error as Error).message;
  }
  session.client.close();
  await close();
  const failed = session.results().filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
  const { unwanted429 } = session.client.sent;
  return { job, failed, unwanted429, ...(untestable !== undefined && { untestable }) };
}

process.on('message', (job: Job) => void run(job).then((outcome) => process.send!(outcome)));
process.send!('ready');
