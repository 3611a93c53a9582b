/**
 * A process that tests servers given to it one by one: a mutant or a variant in this very process, the kit beside it, and one
 * clock for both on which nobody waits.
 */
import { systemClock, type Clock } from '../client/clock.ts';
import { Session } from '../session/session.ts';
import { results, runChecks } from '../suite.ts';
import { faults } from './faults.ts';
import { startServer } from './server.ts';
import { variants } from './variants.ts';

/** One run of the kit. */
export interface Job {
  readonly fault?: string;
  readonly variant?: string;
  readonly seed: number;
  /** `full`: everything allowed, and a key of its own to drive to its limit. `free`: what `npm run conformance` does with a Free key. */
  readonly mode: 'full' | 'free';
  /** On the machine's clock, with real waits. */
  readonly realTime: boolean;
}

/** What came of it. */
export interface Outcome {
  readonly job: Job;
  readonly failed: readonly string[];
  readonly inconclusive: readonly string[];
  /** The run could not be made. */
  readonly untestable?: string;
  readonly requests: number;
  /** 429 that the kit did not ask for. */
  readonly unwanted429: number;
}

/** A clock that is moved on by whoever wants to wait. */
function movingClock(): Clock {
  let ahead = 0;
  return {
    now: () => Date.now() + ahead,
    sleep: async (ms) => {
      ahead += Math.ceil(ms);
    },
  };
}

const key = 'test_Qm7rT2xVb9KdLw4sHc8NpZa3';
const exhaustKey = 'other_Xg5uJ8eRy1WfMk6tBv0DnSq9';

async function run(job: Job): Promise<Outcome> {
  const clock = job.realTime ? systemClock : movingClock();
  const fault = faults.find(({ id }) => id === job.fault);
  const variant = variants.find(({ id }) => id === job.variant);
  const full = job.mode === 'full';
  const keys = [
    { secret: key, plan: full ? ('business' as const) : ('free' as const) },
    ...(full ? [{ secret: exhaustKey, plan: 'free' as const }] : []),
  ];
  const server = await startServer({
    clock,
    keys,
    ...(fault && { fault, animals: fault.animals }),
    ...(variant && { variant }),
  });
  const session = new Session(
    {
      baseUrl: server.baseUrl,
      apiKey: key,
      profile: 'spec',
      only: [],
      seed: job.seed,
      runs: full && !job.realTime ? 60 : 20,
      strict: false,
      write: true,
      readOnly: false,
      exhaust: full,
      ...(full && { exhaustKey, plan: 'free' }),
    },
    clock,
    clock.sleep,
  );
  let untestable: string | undefined;
  try {
    await session.open();
    await runChecks(session);
    untestable = session.lost?.message;
  } catch (error) {
    untestable = (error as Error).message;
  }
  session.target.close();
  await server.close();
  const ids = (verdict: string) =>
    results(session)
      .filter((r) => r.verdict === verdict)
      .map(({ id }) => id);
  const { withKey, withoutKey, unwanted429 } = session.target.sent;
  return {
    job,
    failed: ids('failed'),
    inconclusive: ids('inconclusive'),
    ...(untestable !== undefined && { untestable }),
    requests: withKey + withoutKey,
    unwanted429,
  };
}

process.on('message', (job: Job) => void run(job).then((outcome) => process.send!(outcome)));
process.send!('ready');
