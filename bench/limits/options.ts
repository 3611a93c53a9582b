/** The command line of the rate-limit bench: turns flags and environment into options, or into an error of one line. */
import {
  filesIn, givenBy, integer, isLoopback, keyOf, oneOf, parseFlags, serverOf, UsageError, wordIn, type GivenServer,
} from '../../conformance/options.ts';
import { plans, type Plan } from '../../conformance/client/pacing.ts';
import { isBundle } from '../../harness/bundle.ts';
import { operations, type LoadOperation } from './operations.ts';
import { scenarios } from './scenarios.ts';
import { thresholds, type Settings, type Threshold, type Thresholds } from './settings.ts';

export interface Options extends Settings, GivenServer {
  readonly neighbourKey?: string;
  /** In the order in which they run. */
  readonly names: readonly string[];
  readonly report?: string;
  /** An earlier limits.json. */
  readonly compare?: string;
}

/** The highest values for a server on this machine, and for one on another machine. */
const local = { connections: 1_000, duration: 600, rate: 100_000 };
const elsewhere: typeof local = { connections: 20, duration: 60, rate: 200 };

export const help = `Usage: ${isBundle ? 'petstore-limits' : 'npm run bench:limits --'} [options] [scenario …]

Measures how a server of the Pet Store Service Specification behaves at its rate limits. Without --base-url it starts
this project's own server on a free port, in a temporary folder, with keys of its own.

The server and its keys
  --base-url URL        the base URL, which ends in /v1                    or BASE_URL
  API_KEY               in the environment: the key to measure, which nobody else may use during the run
  NEIGHBOUR_KEY         in the environment: a second key, for the scenario neighbour
  --api-key KEY, --neighbour-key KEY
                        the same as flags; but other users of this machine can read command lines, and npm prints them
  --plan PLAN           the plan of the key: free, pro or business (default: business for this project's own server;
                        for other servers, the limits that the headers show)
  --remote              allow a server that is not on this machine; the bench then opens at most 20 connections, and its
                        floods send at most 200 requests a second for 60 s

What is sent
  scenario …            run only these scenarios (default: all, one after the other)
  --operation NAME      the operation that is sent: ${Object.keys(operations).join(', ')} (default
                        listPets); the animals that createPet creates remain
  --connections N       number of connections of each load and flood (default 10)
  --duration S          maximum duration of the floods of neighbour and strangers, in seconds (default 10)
  --rate N              requests per second of these floods (default 100), whether or not the server keeps up: a latency
                        is measured from the time at which its request was due
  --until-ban           run the scenario ban: continue until the key is banned, and wait for the end of the ban

Reports
  --report DIR          write limits.json, limits.html and limits-junit.xml
  --compare FILE        show what has changed since an earlier limits.json

Thresholds of neighbour and strangers
  --max-p50-ratio N, --max-p99-ratio N
                        fail if this latency of the quiet client is more than N times as long with the flood as without
  --max-p99-ms N        fail if its p99 with the flood is more than N milliseconds

  --help

Scenarios
${scenarios.map(({ name, text }) => `  ${name.padEnd(20)}  ${text}`).join('\n')}

Exit code: 0 every demand was met, 1 a demand was not met, 2 the command line is wrong, or the server could not be
tested to the end.
`;

const flags = {
  'base-url': { type: 'string' },
  'api-key': { type: 'string' },
  'neighbour-key': { type: 'string' },
  plan: { type: 'string' },
  remote: { type: 'boolean' },
  operation: { type: 'string', default: 'listPets' },
  connections: { type: 'string', default: '10' },
  duration: { type: 'string', default: '10' },
  rate: { type: 'string', default: '100' },
  'until-ban': { type: 'boolean', default: false },
  report: { type: 'string' },
  compare: { type: 'string' },
  'max-p50-ratio': { type: 'string' },
  'max-p99-ratio': { type: 'string' },
  'max-p99-ms': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/**
 * The options from flags and environment, or `help` if --help is given.
 *
 * @throws UsageError that names the flag and the rule
 */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): Options | 'help' {
  const { values: given, positionals } = parseFlags({ args: [...args], options: flags, allowPositionals: true });
  if (given.help === true) return 'help';
  const server = serverOf(given, environment);
  const { baseUrl, apiKey } = server;
  const neighbourKey = keyOf(givenBy('--neighbour-key', given['neighbour-key'], 'NEIGHBOUR_KEY', environment));
  const names = namesOf(positionals);
  if (neighbourKey !== undefined && baseUrl === undefined) {
    const reason = "the keys of this project's own server are created as needed";
    throw new UsageError(`--neighbour-key is for --base-url: ${reason}`);
  }
  if (neighbourKey !== undefined && neighbourKey === apiKey) {
    throw new UsageError('--neighbour-key must be another key than --api-key');
  }
  const remote = baseUrl !== undefined && !isLoopback(baseUrl);
  if (remote && given.remote !== true) {
    throw new UsageError(`${new URL(baseUrl).host} is not this machine: --remote allows driving it to its limits`);
  }
  const limits = thresholdsIn(given);
  const [limited] = Object.keys(limits);
  const hasNeighbour = baseUrl === undefined || neighbourKey !== undefined;
  if (limited !== undefined && !names.includes('strangers') && !(hasNeighbour && names.includes('neighbour'))) {
    throw new UsageError(`--${limited} needs the scenario strangers, or neighbour with a second key`);
  }
  const planText = given.plan ?? (baseUrl === undefined ? 'business' : undefined);
  const plan = planText === undefined ? undefined : oneOf('--plan', planText, Object.keys(plans) as Plan[]);
  const ceilings = remote ? elsewhere : local;
  const upTo = (flag: keyof typeof local) => integer(`--${flag}`, given[flag], 1, ceilings[flag]);
  const fileOf = filesIn(environment, 'bench:limits');
  return {
    ...server,
    ...(neighbourKey !== undefined && { neighbourKey }),
    ...(plan !== undefined && { plan }),
    operation: oneOf('--operation', given.operation, Object.keys(operations) as LoadOperation[]),
    connections: upTo('connections'),
    duration: upTo('duration'),
    rate: upTo('rate'),
    untilBan: given['until-ban'],
    thresholds: limits,
    remote,
    names,
    ...(given.report !== undefined && { report: fileOf(given.report) }),
    ...(given.compare !== undefined && { compare: fileOf(given.compare) }),
  };
}

/** The named scenarios, or all of them, in the order in which they run. */
function namesOf(words: readonly string[]): readonly string[] {
  const all = scenarios.map(({ name }) => name);
  const unknown = words.find((word) => !all.includes(word));
  if (unknown === undefined) return all.filter((name) => words.length === 0 || words.includes(name));
  throw new UsageError(`${wordIn(unknown)} is no scenario: there are ${all.join(', ')}`);
}

function thresholdsIn(given: Readonly<Partial<Record<Threshold, string>>>): Thresholds {
  return Object.fromEntries((Object.keys(thresholds) as Threshold[]).flatMap((flag) => {
    const text = given[flag];
    if (text === undefined) return [];
    if (/^\d{1,9}(\.\d{1,9})?$/.test(text) && Number(text) > 0) return [[flag, Number(text)]];
    throw new UsageError(`--${flag} must be a number above 0, such as 2.5, not ${text}`);
  }));
}
