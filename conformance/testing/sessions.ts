/** Test support: whole runs of the kit in this process. */
import { groups, runChecks } from '../checks/suite.ts';
import type { Client } from '../client/client.ts';
import { systemClock, type Clock } from '../client/clock.ts';
import type { Request } from '../client/request.ts';
import type { Response } from '../client/response.ts';
import { Session, type SessionOptions } from '../session/session.ts';
import type { RequirementResult } from '../verdicts/results.ts';

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
      only: [],
      seed: 42,
      runs: 20,
      thoroughAuth: false,
      strict: false,
      write: true,
      readOnly: false,
      exhaust: false,
      ...options,
    },
    clock,
  );
}

/** A whole run, from the first request to the last verdict. */
export async function run(session: Session, suite = groups): Promise<readonly RequirementResult[]> {
  try {
    await session.open();
    await runChecks(session, undefined, suite);
  } finally {
    session.client.close();
  }
  return session.results();
}

/** The verdict on each requirement: `create.name` → `passed`. */
export function verdicts(of: readonly RequirementResult[]): Record<string, string> {
  return Object.fromEntries(of.map(({ id, verdict }) => [id, verdict]));
}

/** The failures as readable text, for the message of an assertion. */
export function failuresText(of: readonly RequirementResult[]): string {
  return of
    .flatMap(({ id, failures }) =>
      failures.map(({ required, received, smallestCase }) => `${id}: ${required}; ${received}; ${smallestCase}`),
    )
    .join('\n');
}

/** Sends a request as a session does, without judging the responses; returns the last one. */
export async function send(client: Client, request: Request): Promise<Response> {
  let last: Response | undefined;
  for await (const response of client.attempts(request)) last = response;
  return last!;
}
