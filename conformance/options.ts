/** What the user tells the kit: flags and environment -> options, or one clear line. */
import { parseArgs } from 'node:util';
import { plans, type Plan } from './client/pacing.ts';
import { requirementsNamed } from './requirements/requirements.ts';
import type { SessionOptions } from './session/session.ts';

export const help = `Usage: npm run conformance -- [options]

Tests whether a server keeps the Pet Store Service Specification. Without --base-url it tests this project's own server.

The server
  --base-url URL        where the interface stands, ending in /v1      or BASE_URL
                          --base-url https://staging.example/v1
  --api-key KEY         a valid API key                                or API_KEY, which no shell's history keeps
                          API_KEY=… npm run conformance -- --base-url https://staging.example/v1

What is tested
  --profile PROFILE     spec: what the specification states (the default)
                        reference: also what this project has decided where it is silent
                          --profile reference
  --only ID[,ID…]       requirements by id, or by the beginning of ids
                          --only list.,get.not-found
  --list                print the requirements, and send nothing
  --runs N              generated cases for each check that has them (default 20)
                          --runs 200
  --seed N              seed of the generated cases (default: a new one, which is printed)
  --path PATH           replay one generated case, with --only and --seed: each failure prints its own
                          --only create.name --seed 42 --path 3:0:1
  --category-id N       a category that the server knows (default: those of the animals listed)
                          --category-id 7
  --strict              a requirement that stays inconclusive is a failure

What is allowed
  --read-only           send nothing that could create an animal
  --write               create animals on a server elsewhere (on this machine it is the default). They stay: nothing deletes them
  --max-requests N      send no more than N requests
                          --max-requests 200
  --exhaust             drive a key to its limit, and wait for its recovery: about two minutes
  --exhaust-key KEY     the key to drive, if not the API key           or EXHAUST_KEY
                          --exhaust --exhaust-key …
  --plan PLAN           the plan of the driven key, whose numbers are checked: free, pro or business
                          --plan free

Reports
  --report DIR          write report.html, report.json and junit.xml
                          --report build/conformance
  --compare FILE        show what changed since that report.json
                          --compare last-week/report.json

  --help

Exit code: 0 the server conforms, 1 it does not, 2 it could not be tested.
`;

/** A mistake on the command line, or something else that keeps the kit from testing: one line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface Options extends Omit<SessionOptions, 'baseUrl' | 'apiKey' | 'write'> {
  /** Absent: this project's own server. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** --write was given. */
  readonly mayWriteElsewhere: boolean;
  readonly report?: string;
  readonly compare?: string;
}

const flags = {
  'base-url': { type: 'string' },
  'api-key': { type: 'string' },
  profile: { type: 'string' },
  only: { type: 'string' },
  list: { type: 'boolean' },
  runs: { type: 'string' },
  seed: { type: 'string' },
  path: { type: 'string' },
  'category-id': { type: 'string' },
  strict: { type: 'boolean' },
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
 * The options that flags and environment give, or which text was asked for instead.
 *
 * @throws UsageError that names the flag and the rule
 */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): Options | 'help' | 'list' {
  let given;
  try {
    given = parseArgs({ args: [...args], options: flags, allowPositionals: false }).values;
  } catch (error) {
    // Node's message names the flag first, and then explains itself at length.
    throw new UsageError(`${(error as Error).message.split(/\. |\n/)[0]!.replace(/\.$/, '')}; --help shows all options`);
  }
  if (given.help === true) return 'help';
  const profile = oneOf('--profile', given.profile ?? 'spec', ['spec', 'reference'] as const);
  if (given.list === true) return 'list';

  const baseUrlText = given['base-url'] ?? (environment['BASE_URL'] || undefined);
  const apiKey = given['api-key'] ?? (environment['API_KEY'] || undefined);
  const exhaustKey = given['exhaust-key'] ?? (environment['EXHAUST_KEY'] || undefined);
  if (baseUrlText !== undefined && apiKey === undefined)
    throw new UsageError('--base-url needs a key: --api-key KEY, or API_KEY in the environment');
  if (baseUrlText === undefined && apiKey !== undefined)
    throw new UsageError('a key without a server: --base-url URL, or BASE_URL in the environment');
  if (given.write === true && given['read-only'] === true) throw new UsageError('--write and --read-only exclude each other');
  for (const [flag, key] of [
    ['--api-key', apiKey],
    ['--exhaust-key', exhaustKey],
  ] as const) {
    if (key !== undefined && !/^[\x21-\x7e]{6,}$/.test(key))
      throw new UsageError(`${flag} must be 6 or more printable ASCII characters without spaces`);
  }
  const only = (given.only ?? '').split(',').filter((id) => id !== '');
  for (const start of only) {
    if (requirementsNamed(start).length === 0)
      throw new UsageError(`--only ${start}: no requirement has an id that begins so; --list shows them`);
  }
  const path = given.path;
  if (path !== undefined) {
    if (!/^\d+(:\d+)*(@.+)?$/.test(path)) throw new UsageError(`--path ${path} is no path such as a failure prints: 3:0:1`);
    if (given.seed === undefined || only.length !== 1 || requirementsNamed(only[0]!).length !== 1)
      throw new UsageError('--path belongs to one requirement and one seed: --only ID --seed N --path PATH');
  }
  return {
    ...(baseUrlText !== undefined && { baseUrl: baseUrlOf(baseUrlText) }),
    ...(apiKey !== undefined && { apiKey }),
    ...(exhaustKey !== undefined && { exhaustKey }),
    profile,
    only,
    strict: given.strict ?? false,
    readOnly: given['read-only'] ?? false,
    mayWriteElsewhere: given.write ?? false,
    exhaust: given.exhaust ?? false,
    runs: integer('--runs', given.runs ?? '20', 1, 100_000),
    seed: integer('--seed', given.seed ?? String(Math.floor(Math.random() * 2 ** 31)), -(2 ** 31), 2 ** 31 - 1),
    ...(path !== undefined && { path }),
    ...(given['max-requests'] !== undefined && {
      maxRequests: integer('--max-requests', given['max-requests'], 1, Number.MAX_SAFE_INTEGER),
    }),
    ...(given.plan !== undefined && { plan: oneOf('--plan', given.plan, Object.keys(plans) as Plan[]) }),
    ...(given['category-id'] !== undefined && { categoryId: int64('--category-id', given['category-id']) }),
    ...(given.report !== undefined && { report: given.report }),
    ...(given.compare !== undefined && { compare: given.compare }),
  };
}

/** Whether the server is on this machine, so that what is created there harms nobody. */
export function isLoopback(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return (
    hostname === 'localhost' || hostname.endsWith('.localhost') || /^127\.\d+\.\d+\.\d+$/.test(hostname) || hostname === '[::1]'
  );
}

/**
 * The base URL without its trailing slash.
 *
 * @throws UsageError if it is none
 */
export function baseUrlOf(text: string): string {
  let url;
  try {
    url = new URL(text);
  } catch {
    throw new UsageError(`--base-url ${text} is no URL`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new UsageError(`--base-url must begin with http:// or https://, not ${url.protocol}`);
  if (url.username !== '' || url.password !== '')
    throw new UsageError('--base-url must hold no user and no password: the key goes into --api-key');
  if (url.search !== '' || url.hash !== '') throw new UsageError('--base-url must have neither a query nor a fragment');
  const path = url.pathname.replace(/\/$/, '');
  if (!path.endsWith('/v1')) throw new UsageError(`--base-url must end in /v1 (specification, section 1), and ${text} does not`);
  return url.origin + path;
}

/**
 * The whole number that a flag gives.
 *
 * @throws UsageError if it is none from `min` to `max`
 */
export function integer(flag: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || value < min || value > max)
    throw new UsageError(`${flag} must be a whole number from ${min} to ${max}, not ${text}`);
  return value;
}

function int64(flag: string, text: string): bigint {
  if (!/^-?\d{1,19}$/.test(text) || BigInt.asIntN(64, BigInt(text)) !== BigInt(text))
    throw new UsageError(`${flag} must be an integer of 64 bits, not ${text}`);
  return BigInt(text);
}

/**
 * The one of `values` that a flag names.
 *
 * @throws UsageError if it is none of them
 */
export function oneOf<T extends string>(flag: string, text: string, values: readonly T[]): T {
  const value = values.find((v) => v === text);
  if (value === undefined) throw new UsageError(`${flag} must be ${values.join(' or ')}, not ${text}`);
  return value;
}
