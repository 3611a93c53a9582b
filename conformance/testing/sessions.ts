/** Test support: whole runs of the kit in this process, without node:test's reports of them. */
import { systemClock, type Clock } from '../client/clock.ts';
import type { RequirementResult } from '../report/report.ts';
import { Session, type SessionOptions } from '../session/session.ts';
import { groups, results, runChecks, type Register } from '../suite.ts';

/** Runs a test, and says nothing of how it ended: the session knows. */
export const quietly: Register = async (_, body) => {
  try {
    await body({ test: quietly, skip: () => {} });
  } catch {
    // What failed stands in the ledger.
  }
};

/** A session with the options of a default run, or others. */
export function session(
  server: { readonly baseUrl: string; readonly apiKey: string },
  options: Partial<SessionOptions> = {},
  clock: Clock = systemClock,
): Session {
  return new Session(
    {
      baseUrl: server.baseUrl,
      apiKey: server.apiKey,
      profile: 'spec',
      only: [],
      seed: 42,
      runs: 20,
      strict: false,
      write: true,
      readOnly: false,
      exhaust: false,
      ...options,
    },
    clock,
    (ms) => clock.sleep(ms),
  );
}

/** A whole run, from the first request to the last verdict. */
export async function run(session: Session, suite = groups): Promise<readonly RequirementResult[]> {
  try {
    await session.open();
    await runChecks(session, undefined, suite, quietly);
  } finally {
    session.client.close();
  }
  return results(session);
}

/** What came of each requirement: `create.name` → `passed`. */
export function verdicts(of: readonly RequirementResult[]): Record<string, string> {
  return Object.fromEntries(of.map(({ id, verdict }) => [id, verdict]));
}

/** The failures as one reads them, for the message of an assertion. */
export function told(of: readonly RequirementResult[]): string {
  return of
    .flatMap(({ id, failures }) =>
      failures.map(({ required, came, smallestCase }) => `${id}: ${required}; ${came}; ${smallestCase}`),
    )
    .join('\n');
}
