/**
 * From a fresh window one answer says how many requests remain. That many, and three more, are sent at once over many connections:
 * as many as were promised must be admitted, and `Remaining` must have taken every value on the way down once.
 *
 * Where windows move (they slide, or are buckets that fill), room comes back while the requests are under way: then as many more
 * may be admitted as a minute's limit gives in that time, and one; and the values of `Remaining` are told, not judged.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { count } from '../../../conformance/report/words.ts';
import { isAdmitted, isRefused, wrongOf, type Answer, type Told } from '../answer.ts';
import { freshCost, withStanding, type Bench } from '../bench.ts';
import type { Finding, Scenario } from '../scenario.ts';
import { comingBack, unsteady, windowsOf, windowTurned } from '../windows.ts';

/** Requests beyond what remains. */
const overdraft = 3;

/** How often it is tried, where the window turned or somebody else used the key meanwhile. */
const attempts = 2;

/** So long nothing is sent, to see whether somebody else uses the key. */
const idleMs = 2_000;

export const exact = {
  name: 'exact',
  text: 'from a fresh window, as many requests as remain and three more at once: how many are admitted',
  demanded:
    'as many requests admitted as Remaining said, and the rest answered 429; Remaining took every value on the way down once',
  cost: ({ limit, plenty }) => ({ withKey: attempts * (limit + overdraft + freshCost), seconds: plenty ? 3 : 40 }),

  async run(bench) {
    const known = bench.told(bench.keys.main);
    const unpromised = known && bench.unpromised(known);
    if (unpromised !== undefined) return { seen: 'nothing more was sent', failures: [unpromised], figures: {} };
    let why = '';
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const told = await bench.fresh(bench.keys.main);
      const start = await undisturbed(bench, told);
      if (start === undefined) {
        why = 'somebody else used the key meanwhile';
        continue;
      }
      const { connections } = bench.settings;
      bench.doing(`${start.standing.remaining + overdraft} requests at once over ${count(connections, 'connection')}`);
      const { answers, lost } = await bench.send({
        key: bench.keys.main,
        amount: start.standing.remaining + overdraft,
        connections,
      });
      const windows = windowsOf([told, start, ...answers], bench.serverClock);
      const turned = windows === 'fixed' && windowTurned([start, ...answers]);
      const wrong = [...wrongOf(answers), ...(windows === 'unsteady' ? [unsteady] : [])];
      // What is wrong with an answer by itself is certain, whatever became of the others.
      if (wrong.length > 0 && (lost > 0 || turned))
        return { seen: 'not how many requests are admitted', failures: wrong, figures: {} };
      if (lost > 0) throw new Inconclusive(`${count(lost, 'request')} got no answer`);
      if (!turned) return judged(start, answers, windows === 'move', wrong);
      why = 'the window turned while the requests were under way';
    }
    throw new Inconclusive(`${why}, ${attempts} times`);
  },
} as const satisfies Scenario<'exact'>;

/** What was admitted against what was promised. */
function judged(
  { standing: { limit, remaining } }: Told,
  answers: readonly Answer[],
  moves: boolean,
  wrong: readonly string[],
): Finding {
  const [admitted, refused] = [answers.filter(isAdmitted).length, answers.filter(isRefused).length];
  const { requests: back, seconds } = comingBack(limit, answers);
  const tolerance = moves ? back : 0;
  const values = answers.filter(isAdmitted).flatMap(({ standing }) => standing?.remaining ?? []);
  const expected = Array.from({ length: remaining }, (_, i) => remaining - 1 - i);
  const missing = expected.filter((value) => !values.includes(value));
  const repeated = [...new Set(values.filter((value, i) => values.indexOf(value) !== i))];

  const failures = [...wrong];
  if (admitted > remaining + tolerance) failures.push(`${admitted} requests were admitted, where ${remaining} remained`);
  if (admitted < remaining) failures.push(`only ${count(admitted, 'request')} of the ${remaining} that remained were admitted`);
  if (!moves && missing.length > 0) failures.push(`Remaining never said ${listed(missing)}`);
  if (!moves && repeated.length > 0) failures.push(`Remaining said ${listed(repeated)} more than once`);
  return {
    seen: [
      `${admitted} of ${remaining} admitted, ${count(refused, 'request')} refused`,
      moves
        ? `the window moves: up to ${tolerance} more may be admitted in ${seconds.toFixed(1)} s, and the values of Remaining are not judged`
        : missing.length + repeated.length === 0
          ? `Remaining took every value from ${remaining - 1} to 0 once`
          : `of ${remaining} values Remaining took ${remaining - missing.length}`,
    ].join('; '),
    failures,
    figures: {
      remained: remaining,
      admitted,
      refused,
      'values of Remaining missing': missing.length,
      'values of Remaining repeated': repeated.length,
      windows: moves ? 'move' : 'fixed',
    },
  };
}

/** Where the key stands after a pause in which nobody used it; undefined where somebody did. */
async function undisturbed(bench: Bench, told: Told): Promise<Told | undefined> {
  if (bench.keys.main.own) return told;
  await bench.sleep(idleMs, 'to see whether somebody else uses the key');
  const after = withStanding(await bench.probe(bench.keys.main));
  const { reset, remaining } = after.standing;
  const taken = told.standing.remaining - remaining;
  // Room may come back meanwhile, where windows move; and a server that counts twice shows itself below.
  return reset === told.standing.reset && taken > 2 ? undefined : after;
}

/** `59, 58, 57 and 9 more`. */
function listed(values: readonly number[]): string {
  const [shown, rest] = [values.slice(0, 3), values.length - 3];
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ');
}
