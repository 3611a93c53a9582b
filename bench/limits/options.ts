/** What the user tells the bench: flags and environment -> options, or one clear line. */
import { parseArgs } from 'node:util';
import { baseUrlOf, integer, isLoopback, oneOf, UsageError } from '../../conformance/options.ts';
import { plans, type Plan } from '../../conformance/client/pacing.ts';
import { isScenarioName, scenarios, type ScenarioName } from './scenarios.ts';
import type { Promised, Settings } from './settings.ts';

export interface Options extends Settings {
  /** Absent: this project's own server. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly neighbourKey?: string;
  /** In the order in which they run. */
  readonly names: readonly ScenarioName[];
  readonly report?: string;
}

export const help = `Usage: npm run bench:limits -- [options] [scenario …]

Measures how a server of the Pet Store Service Specification behaves at its rate limits. Without --base-url it starts this project's
own server on a free port, in a temporary folder, with keys of its own.

The server and its keys
  --base-url URL        where the interface stands, ending in /v1          or BASE_URL
                          --base-url http://127.0.0.1:8080/v1
  API_KEY               in the environment: the key to measure, used by nobody else meanwhile
                          API_KEY=… npm run bench:limits -- --base-url http://127.0.0.1:8080/v1
  NEIGHBOUR_KEY         likewise: a second key, for the scenario neighbour
  --api-key KEY, --neighbour-key KEY
                        the same as flags; but npm prints its command line, keys and all, before the bench can hide them
  --plan PLAN           what the key is promised: free, pro or business (our own server: the plan of its keys, free unless told)
                          --plan pro
  --per-minute N --per-day N
                        the same for any other plan; with neither, what the headers say is believed
  --remote              the server is not on this machine, and may be driven to its limits all the same

What is sent
  --scenario NAME,…     these scenarios only (or as words of their own); all in turn unless told
                          --scenario exact,recovery
  --connections N       how many connections drive the key (default 10)
  --duration S          how many seconds the floods of neighbour and strangers last, at most (default 10)
  --rate N              how many requests a second they send (default 100)
  --until-ban           with the scenario ban: goes on after the refusals until the key is banned, and waits for the ban's end

Reports
  --report DIR          write limits.json and limits.html
                          --report build/limits

  --help

Scenarios
${scenarios.map(({ name, text }) => `  ${name.padEnd(20)}  ${text}`).join('\n')}

Exit code: 0 every demand was met, 1 one was not, 2 it could not be tested (to the end).
`;

const flags = {
  'base-url': { type: 'string' },
  'api-key': { type: 'string' },
  'neighbour-key': { type: 'string' },
  plan: { type: 'string' },
  'per-minute': { type: 'string' },
  'per-day': { type: 'string' },
  remote: { type: 'boolean' },
  scenario: { type: 'string', multiple: true },
  connections: { type: 'string' },
  duration: { type: 'string' },
  rate: { type: 'string' },
  'until-ban': { type: 'boolean' },
  report: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/**
 * The options that flags and environment give, or that the help was asked for.
 *
 * @throws UsageError that names the flag and the rule
 */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): Options | 'help' {
  let parsed;
  try {
    parsed = parseArgs({ args: [...args], options: flags, allowPositionals: true });
  } catch (error) {
    // Node's message names the flag first, and then explains itself at length.
    throw new UsageError(`${(error as Error).message.split(/\. |\n/)[0]!.replace(/\.$/, '')}; --help shows all options`);
  }
  const { values: given, positionals } = parsed;
  if (given.help === true) return 'help';

  if (given['base-url'] === '') throw new UsageError('--base-url is empty: it needs the address of a server, ending in /v1');
  const baseUrlText = given['base-url'] ?? (environment['BASE_URL'] || undefined);
  const apiKey = given['api-key'] ?? (environment['API_KEY'] || undefined);
  const neighbourKey = given['neighbour-key'] ?? (environment['NEIGHBOUR_KEY'] || undefined);
  if (baseUrlText !== undefined && apiKey === undefined)
    throw new UsageError('--base-url needs a key: API_KEY in the environment, or --api-key KEY');
  if (baseUrlText === undefined && apiKey !== undefined)
    throw new UsageError('a key without a server: --base-url URL, or BASE_URL in the environment');
  if (baseUrlText === undefined && neighbourKey !== undefined)
    throw new UsageError("--neighbour-key is for --base-url: this project's own server makes its keys itself");
  for (const [flag, key] of [
    ['--api-key', apiKey],
    ['--neighbour-key', neighbourKey],
  ] as const) {
    if (key !== undefined && !/^[\x21-\x7e]{6,}$/.test(key))
      throw new UsageError(`${flag} must be 6 or more printable ASCII characters without spaces`);
  }
  if (apiKey !== undefined && apiKey === neighbourKey) throw new UsageError('--neighbour-key must be another key than --api-key');
  const baseUrl = baseUrlText === undefined ? undefined : baseUrlOf(baseUrlText);
  if (baseUrl !== undefined && !isLoopback(baseUrl) && given.remote !== true)
    throw new UsageError(
      `${new URL(baseUrl).host} is not this machine: --remote says that it may be driven to its limits all the same`,
    );

  const untilBan = given['until-ban'] ?? false;
  const words = [...(given.scenario ?? []).flatMap((list) => list.split(',')), ...positionals];
  const names = namesOf(words);
  const named = (name: ScenarioName) => words.includes(name);
  if (named('ban') && !untilBan)
    throw new UsageError('--scenario ban needs --until-ban: it goes on after the refusals until the key is banned');
  if (named('neighbour') && baseUrl !== undefined && neighbourKey === undefined)
    throw new UsageError('--scenario neighbour needs a second key: NEIGHBOUR_KEY in the environment, or --neighbour-key KEY');
  const promised = promisedBy(given.plan, given['per-minute'], given['per-day'], baseUrl === undefined);
  return {
    ...(baseUrl !== undefined && { baseUrl }),
    ...(apiKey !== undefined && { apiKey }),
    ...(neighbourKey !== undefined && { neighbourKey }),
    ...(promised !== undefined && { promised }),
    connections: integer('--connections', given.connections ?? '10', 1, 1_000),
    duration: integer('--duration', given.duration ?? '10', 1, 600),
    rate: integer('--rate', given.rate ?? '100', 1, 100_000),
    untilBan,
    names,
    ...(given.report !== undefined && { report: given.report }),
  };
}

/** The keys in flags and environment, whether or not the rest of them makes sense. */
export function secretsIn(args: readonly string[], environment: NodeJS.ProcessEnv): readonly string[] {
  const flagged = args.flatMap((word, i) => {
    const joined = /^--(?:api|neighbour)-key=(.*)$/.exec(word)?.[1];
    return joined ?? (/^--(?:api|neighbour)-key$/.test(args[i - 1] ?? '') ? word : []);
  });
  return [...flagged, environment['API_KEY'] ?? '', environment['NEIGHBOUR_KEY'] ?? ''].filter(({ length }) => length >= 6);
}

/** The scenarios named, all if none is, in the order in which they run. */
function namesOf(words: readonly string[]): readonly ScenarioName[] {
  const unknown = words.find((word) => !isScenarioName(word));
  if (unknown !== undefined)
    // What is no word at all may be a key that lost its flag, and is not repeated.
    throw new UsageError(
      `--scenario ${/^[a-z]{1,20}$/.test(unknown) ? unknown : 'NAME'}: there are ${scenarios.map(({ name }) => name).join(', ')}`,
    );
  return scenarios.map(({ name }) => name).filter((name) => words.length === 0 || words.includes(name));
}

function promisedBy(
  plan: string | undefined,
  perMinute: string | undefined,
  perDay: string | undefined,
  ownServer: boolean,
): Promised | undefined {
  if (plan !== undefined) {
    if (perMinute !== undefined || perDay !== undefined)
      throw new UsageError('--plan and --per-minute exclude each other: a plan has its own numbers');
    const name = oneOf('--plan', plan, Object.keys(plans) as Plan[]);
    return { plan: name, ...plans[name] };
  }
  if (perMinute === undefined && perDay === undefined) return ownServer ? { plan: 'free', ...plans.free } : undefined;
  if (perMinute === undefined || perDay === undefined)
    throw new UsageError('--per-minute and --per-day belong together: the key is promised both');
  return {
    perMinute: integer('--per-minute', perMinute, 1, 1_000_000_000),
    perDay: integer('--per-day', perDay, 1, 1_000_000_000),
  };
}
