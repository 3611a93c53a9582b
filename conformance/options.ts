/** The command line of the kit: flags and environment become options, or an error of one line. */
import { resolve } from 'node:path';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { isBundle } from '../harness/bundle.ts';
import { plans, type Plan } from './client/pacing.ts';
import { proxyFor, type Proxy } from './client/proxy.ts';
import { isNamed, requirements, requirementsNamed, type RequirementId } from './requirements/requirements.ts';
import { defaultRuns, type CostOptions } from './session/cost.ts';
import type { SessionOptions } from './session/session.ts';

/** Always the same, so that two runs against the same server have the same verdicts. */
const defaultSeed = 1;

const command = isBundle ? 'petstore-conformance' : 'npm run conformance --';

export const help = `Usage: ${command} [options]

Checks whether a server conforms to the Pet Store Service Specification.
Without --base-url, it checks this project's own server.

The server
  --base-url URL        base URL of the server, ending in /v1          or BASE_URL
                          --base-url https://staging.example/v1
  --api-key KEY         a valid API key; better API_KEY, because other users of this machine can read command lines
                          API_KEY=… ${command} --base-url https://staging.example/v1

What is checked
  --only ID[,ID…]       requirements by id, or by the start of their ids
                          --only list.,get.not-found
  --exclude ID[,ID…]    requirements that are not checked; the run then cannot conclude that the server conforms
                          --exclude create.null,limits.
  --known FILE          known deviations, which do not fail the run: an id, an expiry date and a reason on each line
                          --known known-deviations.txt
  --list                print the requirements that would be checked and, without --only and --exclude, the values that
                        are combined; send nothing
  --runs N              number of generated cases for each check that generates cases (default 20)
                          --runs 200
  --thorough-auth       send each kind of invalid key, and change each character of the key: about 320 requests without
                        a valid key instead of 25, or more with --runs above 20
  --seed N              seed of the combinations and of the generated cases (default 1)
  --path PATH           replay one generated case, with --only and --seed; a failure of such a case prints all three
                          --only create.name --seed 42 --path 3:0:1
  --category-id N       a category that the server accepts (default: those of the listed animals)
                          --category-id 7
  --strict              fail if a requirement was not judged that a run with these options could judge
  --min-judged N        fail if fewer than N requirements are judged
                          --min-judged 55

What is allowed
  --read-only           send no request that could create an animal
  --write               create animals on a remote server (on this machine it is the default); they cannot be deleted
  --max-requests N      send at most N requests
                          --max-requests 200
  --exhaust             use up the limit of a key and wait until it recovers: three to five minutes; also use up the
                        limit of the day if at most 300 requests of it remain
  --exhaust-key KEY     the key for --exhaust (default: the API key); better EXHAUST_KEY
                          API_KEY=… EXHAUST_KEY=… ${command} --base-url https://staging.example/v1 --exhaust
  --plan PLAN           check the limits of the --exhaust key against this plan: free, pro or business
                          --plan free

Reports
  --report DIR          write report.html, report.json and junit.xml
                          --report build/conformance
  --compare FILE        show what has changed since an earlier report.json
                          --compare last-week/report.json

  --help

Exit code: 0 nothing failed except known deviations, 1 a requirement failed, too little was judged or --known is out of
date, 2 the server could not be tested to the end or the command line is wrong, 130 the run was interrupted (Ctrl-C).
`;

/** The command line cannot be executed. The message is one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface Options extends Omit<SessionOptions, 'baseUrl' | 'apiKey' | 'write' | 'known'> {
  /** Absent for this project's own server. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** Whether --write was given. */
  readonly mayWriteElsewhere: boolean;
  readonly report?: string;
  readonly compare?: string;
  /** The file of the known deviations. */
  readonly knownFile?: string;
}

const flags = {
  'base-url': { type: 'string' },
  'api-key': { type: 'string' },
  only: { type: 'string' },
  exclude: { type: 'string' },
  known: { type: 'string' },
  list: { type: 'boolean' },
  runs: { type: 'string' },
  'thorough-auth': { type: 'boolean' },
  seed: { type: 'string' },
  path: { type: 'string' },
  'category-id': { type: 'string' },
  strict: { type: 'boolean' },
  'min-judged': { type: 'string' },
  'read-only': { type: 'boolean' },
  write: { type: 'boolean' },
  'max-requests': { type: 'string' },
  exhaust: { type: 'boolean' },
  'exhaust-key': { type: 'string' },
  plan: { type: 'string' },
  report: { type: 'string' },
  compare: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/**
 * Reads flags and environment. A flag takes precedence over its variable.
 *
 * @returns the options, or which text to print instead
 * @throws UsageError that names the flag
 */
export function readOptions(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Options | 'help' | (CostOptions & { readonly list: readonly RequirementId[] }) {
  const { values: given, positionals } = parseFlags({ args: [...args], options: flags, allowPositionals: true });
  if (given.help === true) return 'help';
  if (positionals[0] !== undefined)
    throw new UsageError(`${wordIn(positionals[0])} is neither a flag nor the value of one; --help shows all options`);
  const [only, exclude] = [idsOf('--only', given.only), idsOf('--exclude', given.exclude)];
  const isSelected = (id: RequirementId) => isNamed(id, only) && !(exclude.length > 0 && isNamed(id, exclude));
  const list = requirements.map(({ id }) => id).filter(isSelected);
  if (list.length === 0) throw new UsageError('--exclude leaves no requirement to check');
  const planned = {
    thoroughAuth: given['thorough-auth'] ?? false,
    runs: integer('--runs', given.runs ?? String(defaultRuns), 1, 100_000),
    seed: integer('--seed', given.seed ?? String(defaultSeed), -(2 ** 31), 2 ** 31 - 1),
  };
  if (given.list === true) return { ...planned, write: given['read-only'] !== true, list };

  const least = given['min-judged'];
  const minJudged = least === undefined ? undefined : integer('--min-judged', least, 1, requirements.length);
  const selected = `${list.length} of ${requirements.length} requirements`;
  if (minJudged !== undefined && minJudged > list.length)
    throw new UsageError(`--min-judged ${minJudged}: only ${selected} are selected`);
  const server = serverOf(given, environment);
  const exhaustKeyGiven = givenBy('--exhaust-key', given['exhaust-key'], 'EXHAUST_KEY', environment);
  const exhaustKey = keyOf(exhaustKeyGiven);
  if (given.write === true && given['read-only'] === true)
    throw new UsageError('--write and --read-only cannot be combined');
  const replayed = given.path;
  if (replayed !== undefined) {
    // The first number is that of a case, of which a check generates as many as --runs.
    if (!/^\d{1,6}(:\d+)*$/.test(replayed))
      throw new UsageError(`--path ${replayed} is not a path; a failure prints one, such as 3:0:1`);
    if (given.seed === undefined || only.length !== 1 || requirementsNamed(only[0]!).length !== 1)
      throw new UsageError('--path needs one requirement and a seed: --only ID --seed N --path PATH');
  }
  const fileOf = filesIn(environment, 'conformance');
  return {
    ...server,
    ...(exhaustKey !== undefined && { exhaustKey, exhaustKeySource: exhaustKeyGiven!.source }),
    only,
    ...(exclude.length > 0 && { exclude }),
    strict: given.strict ?? false,
    readOnly: given['read-only'] ?? false,
    mayWriteElsewhere: given.write ?? false,
    exhaust: given.exhaust ?? false,
    ...planned,
    ...(replayed !== undefined && { path: replayed }),
    ...(given['max-requests'] !== undefined && {
      maxRequests: integer('--max-requests', given['max-requests'], 1, Number.MAX_SAFE_INTEGER),
    }),
    ...(given.plan !== undefined && { plan: oneOf('--plan', given.plan, Object.keys(plans) as Plan[]) }),
    ...(given['category-id'] !== undefined && { categoryId: int64('--category-id', given['category-id']) }),
    ...(minJudged !== undefined && { minJudged }),
    ...(given.report !== undefined && { report: fileOf(given.report) }),
    ...(given.compare !== undefined && { compare: fileOf(given.compare) }),
    ...(given.known !== undefined && { knownFile: fileOf(given.known) }),
  };
}

/**
 * The ids, or beginnings of ids, in the value of a flag.
 *
 * @throws UsageError if no requirement has such an id
 */
function idsOf(flag: string, text = ''): readonly string[] {
  const ids = text.split(',').filter((id) => id !== '');
  const unknown = ids.find((id) => requirementsNamed(id).length === 0);
  if (unknown === undefined) return ids;
  throw new UsageError(`${flag} ${unknown}: no requirement has an id that starts with it; --list shows all`);
}

/**
 * Parses a command line: by default that of this process, without positional arguments.
 *
 * @throws UsageError that names the flag
 */
export function parseFlags<T extends ParseArgsConfig>(config: T) {
  try {
    return parseArgs(config);
  } catch (error) {
    // The first sentence of Node's message names the flag; the rest is advice.
    const [first = ''] = (error as Error).message.split(/\. |\n/);
    const flag = /^Option '(?:-\w, )?(--.*)' argument is ambiguous/.exec(first)?.[1];
    if (flag !== undefined)
      throw new UsageError(`${flag} needs a value; a value that begins with a hyphen is written as ${flag}=-1`);
    throw new UsageError(`${first.replace(/\.$/, '')}; --help shows all options`);
  }
}

/** Names an argument in a message. A text that is not a word may be a key without its flag, and is not repeated. */
export function wordIn(text: string): string {
  return /^[a-z]{1,20}$/.test(text) ? text : 'one of the words';
}

const keyVariables = ['API_KEY', 'EXHAUST_KEY', 'NEIGHBOUR_KEY'];

/** The keys in flags and environment, whether or not the rest of them is valid. */
export function secretsIn(args: readonly string[], environment: NodeJS.ProcessEnv): readonly string[] {
  const flagged = args.flatMap((word, i) => {
    const joined = /^--[a-z]+-key=(.*)$/.exec(word)?.[1];
    return joined ?? (/^--[a-z]+-key$/.test(args[i - 1] ?? '') ? word : []);
  });
  const all = [...flagged, ...keyVariables.map((name) => environment[name] ?? '')];
  return all.filter(({ length }) => length >= 6);
}

/**
 * Returns a function that resolves paths from the folder where the user stands. npm runs a script in the folder of
 * package.json, and puts the user's folder into INIT_CWD.
 */
export function filesIn(environment: NodeJS.ProcessEnv, script: string): (path: string) => string {
  const folder = environment['npm_lifecycle_event'] === script ? environment['INIT_CWD'] : undefined;
  return (path) => (folder === undefined ? path : resolve(folder, path));
}

/** Makes errors of the file system name the flag. */
export function withFlag<T>(flag: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw new UsageError(`${flag} ${(error as Error).message}`);
  }
}

/** Whether the server is on this machine. */
export function isLoopback(baseUrl: string): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(baseUrl).hostname);
}

/** A server that is not this project's own, and its key. */
export type GivenServer = Pick<Options, 'baseUrl' | 'proxy' | 'apiKey' | 'keySource'>;

/**
 * The server that flags and environment name; empty if they name none.
 *
 * @throws UsageError if something is invalid, or if there is a URL without a key or a key without a URL
 */
export function serverOf(
  flags: { readonly 'base-url'?: string | undefined; readonly 'api-key'?: string | undefined },
  environment: NodeJS.ProcessEnv,
): GivenServer {
  const url = givenBy('--base-url', flags['base-url'], 'BASE_URL', environment);
  const key = givenBy('--api-key', flags['api-key'], 'API_KEY', environment);
  const apiKey = keyOf(key);
  if (url === undefined && key === undefined) return {};
  if (key === undefined || apiKey === undefined)
    throw new UsageError('--base-url needs a key: set --api-key KEY, or API_KEY in the environment');
  if (url === undefined)
    throw new UsageError('a key without a server: set --base-url URL, or BASE_URL in the environment');
  const baseUrl = baseUrlOf(url);
  const proxy = proxyOf(baseUrl, environment);
  return { baseUrl, ...(proxy !== undefined && { proxy }), apiKey, keySource: key.source };
}

/** A value of the command line or the environment. */
interface Given {
  readonly text: string;
  /** The flag or the variable that it comes from. */
  readonly source: string;
}

/** The value of a flag, otherwise that of a variable if it is not empty, otherwise undefined. */
export function givenBy(
  flag: string,
  value: string | undefined,
  variable: string,
  environment: NodeJS.ProcessEnv,
): Given | undefined {
  if (value !== undefined) return { text: value, source: flag };
  const text = environment[variable];
  return text === undefined || text === '' ? undefined : { text, source: variable };
}

/** What is wrong with a text that is not a key alone, such as one that was copied together with other texts. */
const keyProblems: readonly (readonly [pattern: RegExp, problem: string])[] = [
  [/^\ufeff/, 'begins with a byte order mark: save its file as UTF-8 without one'],
  [/^(authorization:\s*)?(bearer|basic|token)(\s|$)/i, 'begins with a scheme such as Bearer, which is added to it'],
  [/^(export\s+)?\w*_?KEY=/, 'begins with the name of a variable'],
  [/^["'`“”‘’].*["'`“”‘’]\s*$/su, 'is in quotes'],
  [/^\$(\w+|\{.*\})$|^<.*>$/s, 'is a placeholder, which has not been replaced'],
  [/[\r\n]/, 'contains a line break'],
  [/[ \t]/, 'contains a space or a tab'],
  [/[^\x21-\x7e]/, 'contains a character that is not printable ASCII'],
  [/^.{0,5}$/, 'has fewer than 6'],
];

/**
 * Validates a key, if one is given. Errors name its source, and do not contain the key.
 *
 * @throws UsageError if the key is shorter than 6 characters, or not safe in a header
 */
export function keyOf(given: Given | undefined): string | undefined {
  if (given === undefined) return undefined;
  const { text, source } = given;
  const problem = keyProblems.find(([pattern]) => pattern.test(text))?.[1];
  if (problem === undefined) return text;
  throw new UsageError(`${source} must be 6 or more printable ASCII characters, the key alone, but ${problem}`);
}

/**
 * The proxy that the environment names for a server on another machine.
 *
 * @throws UsageError if its variable is invalid
 */
function proxyOf(baseUrl: string, environment: NodeJS.ProcessEnv): Proxy | undefined {
  if (isLoopback(baseUrl)) return undefined;
  try {
    return proxyFor(baseUrl, environment);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/**
 * Validates a base URL, and removes its trailing slash.
 *
 * @throws UsageError if it is invalid
 */
function baseUrlOf({ text, source }: Given): string {
  let url;
  try {
    url = new URL(text);
  } catch {
    throw new UsageError(`${source} ${text} is not a URL`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new UsageError(`${source} must start with http:// or https://, not ${url.protocol}`);
  if (url.username !== '' || url.password !== '')
    throw new UsageError(`${source} must not contain a user or password: set the key with --api-key`);
  if (url.search !== '' || url.hash !== '') throw new UsageError(`${source} must not have a query or a fragment`);
  const path = url.pathname.replace(/\/$/, '');
  if (!path.endsWith('/v1'))
    throw new UsageError(`${source} must end in /v1 (section 1 of the specification), but is ${text}`);
  return url.origin + path;
}

/**
 * Parses the integer value of a flag.
 *
 * @throws UsageError if it is not an integer from `min` to `max`
 */
export function integer(flag: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || value < min || value > max)
    throw new UsageError(`${flag} must be an integer from ${min} to ${max}, not ${text}`);
  return value;
}

function int64(flag: string, text: string): bigint {
  if (!/^-?\d{1,19}$/.test(text) || BigInt.asIntN(64, BigInt(text)) !== BigInt(text))
    throw new UsageError(`${flag} must be a 64-bit integer, not ${text}`);
  return BigInt(text);
}

/**
 * Parses the value of a flag that has a fixed set of values.
 *
 * @throws UsageError if it is not one of `values`
 */
export function oneOf<T extends string>(flag: string, text: string, values: readonly T[]): T {
  const value = values.find((v) => v === text);
  if (value === undefined) throw new UsageError(`${flag} must be ${values.join(' or ')}, not ${text}`);
  return value;
}
