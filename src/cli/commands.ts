/** The commands of `petstore`, except `serve`: which arguments and flags each accepts, and what it does. */
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { runCommand } from '../file-engine/run-command.ts';
import { importOrders as importOrdersTo, importPets as importPetsTo } from '../postgres-engine/import.ts';
import { readRecords } from '../postgres-engine/export.ts';
import { databaseStatus, runOnDatabase } from '../postgres-engine/run-command.ts';
import { readDatabaseUrl, type DatabaseAddress } from '../postgres-engine/database-url.ts';
import { NoResponseError, type AccountCommandName, type Command, type KeyReport, type PlanRequest, type Result } from '../control/commands.ts';
import { askStatus } from '../file-engine/lock/status-client.ts';
import { escapeControlCharacters } from '../domain/control-characters.ts';
import { counted } from '../domain/counted.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { isStdout } from '../file-engine/files/output.ts';
import {
  invalidValue, parseDuration, parseTime, placeOf, suggestion, usageError, wholeNumber, type parseFlags,
} from '../program/flags.ts';
import { permissionWarning } from '../file-engine/files/permissions.ts';
import { newSecret } from '../keys/secret.ts';
import { planList, planOf } from '../limits/plans.ts';
import { log } from '../program/program.ts';
import type { Copied, StoreContents } from '../control/contents.ts';
import { readDatabase, writeDatabase } from '../postgres-engine/copy.ts';
import { readFolder, writeFolder } from '../file-engine/tools/copy.ts';
import { backUp, restore } from '../file-engine/tools/backup.ts';
import { exportRecords, writeExport } from '../file-engine/tools/export.ts';
import { importOrders, importPets, orderIdWarning, ordersIn, petsIn } from '../file-engine/tools/import.ts';
import { importError } from '../file-engine/tools/values.ts';
import { Progress } from '../program/progress.ts';
import { salvage } from '../file-engine/tools/salvage.ts';
import { verify } from '../file-engine/tools/verify.ts';
import type { Outcome } from './outcome.ts';
import { databaseStatusLines, statusLines } from './status-text.ts';
import { flagTexts } from './flag-texts.ts';
import { describeKey, keysTable, usageTable } from './text.ts';

/** The flags of all commands. */
export const options = {
  data: { type: 'string' },
  database: { type: 'string' },
  json: { type: 'boolean' },
  name: { type: 'string' },
  plan: { type: 'string' },
  'per-minute': { type: 'string' },
  'per-day': { type: 'string' },
  expires: { type: 'string' },
  grace: { type: 'string' },
  yes: { type: 'boolean' },
  orders: { type: 'boolean' },
  format: { type: 'string' },
  force: { type: 'boolean' },
  'keep-ids': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

export type Flags = ReturnType<typeof parseFlags<{ readonly options: typeof options }>>['values'];
export type Flag = keyof Flags;

/** One command. */
export interface CliCommand {
  /** The names of its arguments. One in brackets is optional, and one with … may be repeated. */
  readonly args: readonly string[];
  /** The flags that it accepts in addition to --json and those of `place`. `required` are those that it needs. */
  readonly flags: readonly Flag[];
  readonly required?: readonly Flag[];
  /** How the store is named: by a flag for a folder or a database, only by one for a folder, or by arguments. */
  readonly place: 'any' | 'folder' | 'arguments';
  /** What it does, in one sentence without a subject or a full stop. */
  readonly summary: string;
  /** What else its help says. */
  readonly details?: string;
  /** The arguments and flags of an example. */
  readonly example: string;
  readonly run: (flags: Flags, ...args: string[]) => Promise<Outcome>;
}

/** All commands by their names. */
export const commands: Readonly<Record<string, CliCommand>> = {
  status: {
    ...{ args: [], flags: [], place: 'any', run: showStatus },
    summary: 'show the state of the running server, or what a database contains',
    details: 'Shows animals, disk, connections and the busiest keys. The exit code is 1 if no server uses the data folder.',
    example: '--data /var/lib/petstore/store',
  },
  'keys create': {
    ...{ args: [], flags: ['name', 'plan', 'per-minute', 'per-day', 'expires'], required: ['name', 'plan'] },
    ...{ place: 'any', run: create },
    summary: 'create a key, and print its secret to stdout, only once',
    example: '--name till --plan pro',
  },
  'keys list': {
    ...{ args: [], flags: [], place: 'any', run: list },
    summary: 'show all keys',
    details: 'Revoked and expired keys are shown too.',
    example: '--data /var/lib/petstore/store',
  },
  'keys rotate': {
    ...{ args: ['ID'], flags: ['grace'], place: 'any', run: rotate },
    summary: 'add a new secret to a key, and print it to stdout',
    details: 'The old secrets work for the grace period.',
    example: 'k1 --grace 1h',
  },
  'keys revoke': {
    ...{ args: ['ID'], flags: ['yes'], place: 'any', run: revoke },
    summary: 'revoke a key permanently',
    details: 'A revoked key can never be used again. On a terminal, the command asks for confirmation.',
    example: 'k1',
  },
  'keys set-plan': {
    ...{ args: ['ID', 'PLAN'], flags: ['per-minute', 'per-day'], place: 'any', run: setPlan },
    summary: 'move a key to another plan',
    example: 'k1 enterprise --per-minute 5000 --per-day 1000000',
  },
  'keys unban': {
    ...{ args: ['ID'], flags: [], place: 'any', run: unban },
    summary: 'lift the ban of a key; the next ban is as short as the first',
    example: 'k1',
  },
  usage: {
    ...{ args: ['[KEY]'], flags: [], place: 'any', run: showUsage },
    summary: 'show what each key has used of its minute and its day, and its ban',
    details: 'KEY is the id of a key, or its name if no other key with this name is in use.',
    example: 'till',
  },
  backup: {
    ...{ args: ['TO'], flags: [], place: 'folder', run: makeBackup },
    summary: 'write a backup to TO, a new folder',
    example: '/var/backups/petstore-monday',
  },
  restore: {
    ...{ args: ['FROM'], flags: [], place: 'folder', run: restoreBackup },
    summary: 'make a new data folder from a backup',
    example: '/var/backups/petstore-monday',
  },
  verify: {
    ...{ args: [], flags: [], place: 'folder', run: verifyFolder },
    summary: 'check all files of a data folder or a backup, and change nothing',
    details: 'The exit code is 1 if something is damaged, and 2 if it cannot be read.',
    example: '--data /var/backups/petstore-monday',
  },
  salvage: {
    ...{ args: ['TO'], flags: [], place: 'folder', run: salvageFolder },
    summary: 'copy everything intact in a damaged folder to a new one, and name what was lost',
    example: 'data/salvaged',
  },
  export: {
    ...{ args: ['[FILE]'], flags: ['orders', 'format', 'force'], place: 'any', run: exportAll },
    summary: 'write all animals, or all orders, to FILE or stdout',
    example: 'animals.ndjson',
  },
  import: {
    ...{ args: ['FILE…'], flags: ['orders', 'keep-ids'], place: 'any', run: importFiles },
    summary: 'add animals, or orders, from files: all or none',
    details: 'The format of a file is detected. Stop a server on the data folder first. One on a database may run.',
    example: 'animals.ndjson',
  },
  copy: {
    ...{ args: ['FROM', 'TO'], flags: [], place: 'arguments', run: copyStore },
    summary: 'copy a store to an empty one: animals, orders, keys and usage',
    details: 'FROM and TO are each a data folder or the URL of a database.',
    example: 'data/store postgres://petstore@db.example/petstore',
  },
};

/** Returns the command that the first arguments name, and the others. Throws an OperatorError if there is none. */
export function commandNamed(positionals: readonly string[]) {
  const words = positionals[0] === 'keys' ? 2 : 1;
  const name = positionals.slice(0, words).join(' ');
  if (name === 'serve') throw usageError('serve must come before its flags');
  if (Object.hasOwn(commands, name)) return { name, command: commands[name]!, args: positionals.slice(words) };
  if (positionals.length === 0) throw usageError('the command is missing');
  throw usageError(`there is no command ${JSON.stringify(positionals.join(' '))}${nearCommand(positionals)}`);
}

/** Returns the end of a message about an unknown command: which one may be meant. Users omit `keys`, or type `key`. */
function nearCommand(positionals: readonly string[]): string {
  const [first = '', second = ''] = positionals;
  const names = ['serve', 'keys', ...Object.keys(commands)];
  const shortNames = names.filter((name) => name.startsWith('keys ')).map((name) => [name.slice(5), name] as const);
  const meant = new Map([
    ...names.map((name) => [name, name] as const), ...shortNames, ['help', '--help'], ['version', '--version'],
  ]);
  for (const typed of [`${first} ${second}`, ...(first === 'keys' ? [second] : [first])]) {
    const near = suggestion(typed.trim(), meant);
    if (near !== '') return near;
  }
  return '';
}

/** The flags that a command accepts. */
export function flagsOf({ flags, place }: CliCommand): readonly Flag[] {
  return [...flags, ...(place === 'arguments' ? [] : ['data', 'database'] as const), 'json'];
}

/** Runs the command with this name and these arguments. Throws an OperatorError if it is invalid or fails. */
export async function outcomeOf(flags: Flags, positionals: readonly string[]): Promise<Outcome> {
  const { name, command, args } = commandNamed(positionals);
  for (const flag of Object.keys(flags) as Flag[]) {
    if (!flagsOf(command).includes(flag)) throw usageError(`${name} does not accept --${flag}`);
  }
  const required = command.args.filter((arg) => !arg.startsWith('['));
  const most = command.args.at(-1)?.endsWith('…') ? Infinity : command.args.length;
  if (args.length < required.length || args.length > most) {
    const plans = command.args.includes('PLAN') ? `; PLAN is ${planList()}` : '';
    throw usageError(`${name} expects ${command.args.join(' ') || 'no arguments'}, received ${args.length}${plans}`);
  }
  for (const flag of command.required ?? []) {
    if (flags[flag] === undefined) throw usageError(`${name} needs --${flag}: ${flagTexts[flag]![1]}`);
  }
  return command.run(flags, ...args);
}

async function showStatus(flags: Flags): Promise<Outcome> {
  const place = locate(flags);
  if (typeof place !== 'string') {
    const found = await databaseStatus(place).catch((error: unknown) => {
      if (!(error instanceof OperatorError)) throw error;
      return { state: 'unknown', reason: error.message, pid: null } as const;
    });
    if (!('database' in found)) return { report: found, problems: [found.reason] };
    return { report: found, text: databaseStatusLines(found) };
  }
  const report = await askStatus(place);
  return 'version' in report ? { report, text: statusLines(report) } : { report, problems: [report.reason] };
}

async function create(flags: Flags): Promise<Outcome> {
  const { name = '', plan = '', expires } = flags; // both are required
  const expiresAt = expires === undefined ? null : parseTime('--expires', expires, Date.now());
  const request = planRequest(flags, plan);
  const made = await withSecret('created', (secret) => run(flags, { op: 'create', name, expiresAt, secret, ...request }));
  if (made.problems !== undefined) return made;
  const { items } = await run(flags, { op: 'list' }).catch(() => ({ items: [] })); // the secret must be printed
  const others = items.filter((key) => key.name === name && key.state === 'active').map(({ id }) => id);
  return others.length < 2 ? made : { ...made, warning: `${others.join(' and ')} have the same name` };
}

async function rotate(flags: Flags, id: string): Promise<Outcome> {
  const graceMs = parseDuration('--grace', flags.grace ?? '24h');
  return withSecret('rotated', (secret) => run(flags, { op: 'rotate', id, graceMs, secret }));
}

async function revoke(flags: Flags, id: string): Promise<Outcome> {
  if (!flags.yes && process.stdin.isTTY && process.stderr.isTTY) {
    const { items } = await run(flags, { op: 'list' });
    const key = items.find((one) => one.id === id && one.state !== 'revoked');
    // Without such a key, the command below fails and says why.
    if (key !== undefined) await confirm(`Once it is revoked, ${describeKey(key)} can never be used again.`);
  }
  return changeOf('revoked', await run(flags, { op: 'revoke', id }));
}

async function setPlan(flags: Flags, id: string, plan: string): Promise<Outcome> {
  return changeOf('moved', await run(flags, { op: 'set-plan', id, ...planRequest(flags, plan) }));
}

async function list(flags: Flags): Promise<Outcome> {
  const { items } = await run(flags, { op: 'list' });
  return { report: items, text: keysTable(items) };
}

async function unban(flags: Flags, id: string): Promise<Outcome> {
  const { keys: [key], unbanned } = await run(flags, { op: 'unban', id });
  const note = unbanned ? `lifted the ban of ${describeKey(key!)}` : `${describeKey(key!)} is not banned`;
  return { report: { key, unbanned }, note };
}

async function showUsage(flags: Flags, key?: string): Promise<Outcome> {
  const { items } = await run(flags, { op: 'usage', id: key === undefined ? null : await idOf(flags, key) });
  return { report: items, text: usageTable(items) };
}

/** Returns the id of the key with this id or, if there is none, with this name: preferably one that is not revoked. */
async function idOf(flags: Flags, key: string): Promise<string> {
  const { items } = await run(flags, { op: 'list' });
  if (items.some(({ id }) => id === key)) return key;
  const ids = idsOf(items, key);
  if (ids.length > 1) throw new OperatorError(`${ids.join(' and ')} have this name: give one of these ids`);
  return ids[0] ?? key;
}

/** Returns the ids of the keys with this name that are not revoked or, if there are none, of those that are. */
function idsOf(keys: readonly KeyReport[], name: string): string[] {
  const named = keys.filter((key) => key.name === name);
  const usable = named.filter(({ state }) => state !== 'revoked');
  return (usable.length > 0 ? usable : named).map(({ id }) => id);
}

/** Asks on the terminal whether to go on. Throws an OperatorError if not: with exit code 130 after Ctrl-C, as shells do. */
async function confirm(effect: string): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const response = await new Promise<string | number>((resolve) => {
    terminal.on('SIGINT', () => resolve(130));
    terminal.on('close', () => resolve(1)); // Ctrl-D, or the terminal was closed
    terminal.question(`${escapeControlCharacters(effect)} Type yes to revoke it: `, resolve);
  });
  terminal.close();
  if (typeof response === 'string' && /^y(es)?$/i.test(response.trim())) return;
  if (typeof response === 'number') process.stderr.write('\n'); // keeps the question
  throw new OperatorError('nothing was changed', typeof response === 'number' ? response : 1);
}

async function makeBackup(flags: Flags, to: string): Promise<Outcome> {
  const path = resolve(to);
  const made = await withProgress('backup', (progress) => backUp(folderOf(flags), path, log, progress));
  const note = `wrote a backup with ${counted(made.animals, 'animal')} to ${path}`;
  return { report: { path, ...made }, note, unsynced: made.unsynced };
}

async function restoreBackup(flags: Flags, from: string): Promise<Outcome> {
  const path = folderOf(flags);
  const made = await withProgress('restore', (progress) => restore(resolve(from), path, progress));
  const { sequence: lastRecord, createdAt, unsynced } = made;
  const note = `restored ${path} as it was at ${createdAt}, up to record ${lastRecord} of its journal`;
  return { report: { path, createdAt, lastRecord, unsynced }, note, unsynced };
}

async function verifyFolder(flags: Flags): Promise<Outcome> {
  const path = folderOf(flags);
  const found = await withProgress('verify', (progress) => verify(path, progress)).catch((error: unknown) => {
    throw error instanceof OperatorError ? new OperatorError(error.message, 2) : error;
  });
  const { content, counts, notes, damage, unreadable } = found;
  const problems = [...damage, ...unreadable];
  const intact = problems.length === 0;
  return {
    report: { path, intact, ...counts, notes, damage, unreadable },
    text: [...content, ...notes.map((line) => `note: ${line}`), ...(intact ? [`${path} is intact`] : [])],
    problems,
    exitCode: unreadable.length > 0 ? 2 : intact ? 0 : 1,
  };
}

async function salvageFolder(flags: Flags, to: string): Promise<Outcome> {
  const path = resolve(to);
  const { animals, keys, orders, lost, unsynced } = await salvage(folderOf(flags), path);
  return {
    report: { path, animals, keys, orders, lost, unsynced },
    note: `copied ${counted(animals, 'animal')}, ${counted(keys, 'key')} and ${counted(orders, 'order')} to ${path}`,
    problems: lost.map((line) => `lost: ${line}`),
    unsynced,
  };
}

async function exportAll(flags: Flags, file?: string): Promise<Outcome> {
  const { format = 'ndjson', force = false } = flags;
  if (format !== 'ndjson' && format !== 'json') throw invalidValue('--format', format, 'ndjson or json');
  const place = locate(flags);
  const path = file === undefined || isStdout(file) ? null : resolve(file);
  const what = flags.orders ? 'orders' : 'animals';
  if (flags.json && path === null) throw usageError(`export --json needs FILE, because stdout is for the ${what}`);
  const { count, unsynced } = await withProgress('export', (progress) => {
    const output = { format, path, force } as const;
    if (typeof place === 'string') return exportRecords({ folder: place, what, ...output, log, progress });
    return writeExport(output, (add) => readRecords(place, what, add, progress));
  });
  const note = `exported ${counted(count, what.slice(0, -1))}${path === null ? '' : ` to ${path}`}`;
  return { report: { path, what, count, unsynced }, note, unsynced };
}

async function importFiles(flags: Flags, ...files: string[]): Promise<Outcome> {
  const what = flags.orders ? 'orders' : 'animals';
  const place = locate(flags);
  const keepIds = flags['keep-ids'] ?? false;
  const paths = files.map((file) => resolve(file));
  const { count, firstId, lastId, warning, unsynced } = await withProgress('import', async (progress) => {
    const given = { paths, keepIds, progress };
    if (typeof place === 'string') {
      const work = flags.orders ? importOrders : importPets;
      return work({ folder: place, ...given, now: Date.now, log });
    }
    if (!flags.orders) return importPetsTo(place, petsIn(given), keepIds, importError);
    return importOrdersTo(place, (nextId) => ordersIn(given, nextId), importError, orderIdWarning);
  });
  // An id of an order can exceed 2^53, beyond which many readers of JSON round numbers.
  const ids = count === 0 ? { firstId: null, lastId: null } : { firstId: `${firstId}`, lastId: `${lastId}` };
  return {
    report: { path: nameOf(place), what, count, ...ids, warning, unsynced },
    warning,
    note: `imported ${counted(count, what.slice(0, -1))}${idsText(count, firstId, lastId)}`,
    unsynced,
  };
}

/** The ids of what was imported, for a sentence. */
function idsText(count: number, firstId: bigint | number, lastId: bigint | number): string {
  if (count === 0) return '';
  return count === 1 ? `, with the id ${firstId}` : `, with ids from ${firstId} to ${lastId}`;
}

async function copyStore(flags: Flags, ...stores: string[]): Promise<Outcome> {
  if (flags.data !== undefined || flags.database !== undefined) {
    throw usageError('copy expects both stores as arguments, and does not accept --data or --database');
  }
  const [from, to] = ['FROM', 'TO'].map((name, index) => {
    const store = stores[index]!;
    return /^[a-z]+:\/\//i.test(store) ? readDatabaseUrl(name, store) : checkedFolder(resolve(store));
  }) as [Place, Place];
  const write = (contents: StoreContents): Promise<Copied> => withProgress('copy', (progress) => {
    return typeof to === 'string' ? writeFolder(to, contents, progress) : writeDatabase(to, contents, progress);
  });
  const copied = typeof from !== 'string'
    ? await readDatabase(from, write)
    : await withProgress('read', (progress) => readFolder(from, write, log, progress));
  const { animals, orders, keys } = copied;
  const counts = `${counted(animals, 'animal')}, ${counted(orders, 'order')} and ${counted(keys, 'key')}`;
  return { report: { from: nameOf(from), to: nameOf(to), ...copied }, note: `copied ${counts} to ${nameOf(to)}` };
}

async function withProgress<T>(label: string, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = new Progress(label);
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}

/** Where a store is: the path of its data folder, or the address of its database. */
type Place = string | DatabaseAddress;

function nameOf(place: Place): string {
  return typeof place === 'string' ? place : place.text;
}

/** Returns where the store is. Warns if other users can write to the folder. */
function locate(flags: Flags): Place {
  const place = placeOf(flags, process.env);
  return 'folder' in place ? checkedFolder(place.folder) : readDatabaseUrl(place.name, place.url);
}

/** Warns if other users can write to a folder. Returns it. */
function checkedFolder(folder: string): string {
  const warning = permissionWarning(folder);
  if (warning !== null) log(warning);
  return folder;
}

/** Returns the data folder, for a command that cannot use a database. */
function folderOf(flags: Flags): string {
  const place = locate(flags);
  if (typeof place === 'string') return place;
  const advice = 'use pg_dump and pg_restore to save, check and restore a database';
  throw new OperatorError(`this command needs a data folder, not the database ${place.text}; ${advice}`, 2);
}

function run<Op extends AccountCommandName>(flags: Flags, command: Command<Op>): Promise<Result<Op>> {
  const place = locate(flags);
  return typeof place === 'string' ? runCommand(place, command, log) : runOnDatabase(place, command);
}

/** Makes a secret for a change, which is printed even if it is not known whether the change was made. */
async function withSecret(
  done: string, change: (secret: string) => Promise<Result<'create' | 'rotate'>>,
): Promise<Outcome> {
  const secret = newSecret();
  try {
    return changeOf(done, await change(secret));
  } catch (error) {
    if (!(error instanceof NoResponseError)) throw error;
    const problem = `${error.message}; if it was, the new secret is the one on stdout`;
    return { report: { key: null, secret, unsynced: null }, text: [secret], hasSecret: true, problems: [problem] };
  }
}

/** A new secret is the only thing on stdout, so that scripts can capture it. */
function changeOf(done: string, result: Result<'create' | 'rotate' | 'revoke' | 'set-plan'>): Outcome {
  const { keys: [key], unsynced } = result;
  const secret = 'secret' in result ? [result.secret] : [];
  const note = secret.length > 0 ? '; its secret will not be shown again' : '';
  return {
    report: { key, ...('secret' in result && { secret: result.secret }), unsynced },
    text: secret,
    hasSecret: secret.length > 0,
    note: `${done} ${describeKey(key!)}${note}`,
    unsynced,
  };
}

/** Checks the plan here as well, so that the data folder is not created for an invalid one. */
function planRequest(flags: Flags, plan: string): PlanRequest {
  const count = (name: 'per-minute' | 'per-day'): number | undefined =>
    flags[name] === undefined ? undefined : wholeNumber(`--${name}`, flags[name], 1, Number.MAX_SAFE_INTEGER);
  const { name, ...limits } = planOf(plan, count('per-minute'), count('per-day'));
  return { plan: name, ...limits };
}
