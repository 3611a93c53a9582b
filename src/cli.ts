#!/usr/bin/env node
/** `petstore`: the command with which operators run the server and manage its data folder. */
import { resolve } from 'node:path';
import { runCommand } from './control/command-client.ts';
import type { Command, CommandName, KeyReport, PlanRequest, Result, UsageReport } from './control/commands.ts';
import { OperatorError } from './domain/operator-error.ts';
import {
  dataFolder, defaultFolder, invalidValue, parseDuration, parseFlags, parseTime, usageError, wholeNumber,
} from './flags.ts';
import { planOf } from './limits/plans.ts';
import { log, runProgram, version } from './program.ts';
import { backUp, restore } from './tools/backup.ts';
import { exportRecords } from './tools/export.ts';
import { importOrders, importPets } from './tools/import.ts';
import { Progress } from './tools/progress.ts';
import { salvage } from './tools/salvage.ts';
import { verify } from './tools/verify.ts';

const help = `Usage: petstore COMMAND [options]

Runs the pet store server, and manages its data folder, whether the server runs or not.

  serve [options]                      run the server; petstore serve --help lists its options
  keys create --name N --plan PLAN     create a key and print its secret to stdout, only once
       [--per-minute N --per-day N]      the limits, required for enterprise
       [--expires WHEN]                  a date, a time (RFC 3339) or a duration like 90d
  keys list [--json]                   show all keys
  keys rotate ID [--grace 24h]         add a new secret and print it to stdout; the old
                                         ones work for the grace period
  keys revoke ID                       revoke a key permanently
  keys set-plan ID PLAN                move a key to another plan
       [--per-minute N --per-day N]
  keys unban ID                        lift the ban of a key and forget it
  usage [ID] [--json]                  show what each key has used of its minute and its
                                         day, and its ban
  backup TO                            write a backup to TO, a new folder
  restore FROM                         make a new data folder from a backup
  verify                               check all files, and change nothing; exit code 1 if
                                         something is damaged, 2 if it cannot be read
  salvage TO                           copy all that is intact in a damaged folder to a new
                                         one, and name what was lost
  export [FILE] [--orders]             write all animals, or all orders, to FILE or stdout
       [--format ndjson|json]            one on each line (the default), or a JSON array
  import FILE… [--orders]              add animals, or orders, from files in either format;
       [--keep-ids]                      all or none; new ids unless --keep-ids is given;
                                         the server must be stopped

PLAN is free, pro, business or enterprise.

  --data DIR           data folder (variable DATA_DIR, default ${defaultFolder})
  --help, --version`;

const options = {
  data: { type: 'string' },
  name: { type: 'string' },
  plan: { type: 'string' },
  'per-minute': { type: 'string' },
  'per-day': { type: 'string' },
  expires: { type: 'string' },
  grace: { type: 'string' },
  json: { type: 'boolean' },
  orders: { type: 'boolean' },
  format: { type: 'string' },
  'keep-ids': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

type Flags = ReturnType<typeof parseFlags<{ readonly options: typeof options }>>['values'];

interface CliCommand {
  /** The names of its arguments. One in brackets is optional, and one with … may be repeated. */
  readonly args: readonly string[];
  /** The flags that it accepts besides --data. */
  readonly flags: readonly (keyof Flags)[];
  readonly run: (flags: Flags, ...args: string[]) => Promise<void>;
}

const commands: Readonly<Record<string, CliCommand>> = {
  'keys create': { args: [], flags: ['name', 'plan', 'per-minute', 'per-day', 'expires'], run: create },
  'keys list': { args: [], flags: ['json'], run: list },
  'keys rotate': { args: ['ID'], flags: ['grace'], run: rotate },
  'keys revoke': { args: ['ID'], flags: [], run: revoke },
  'keys set-plan': { args: ['ID', 'PLAN'], flags: ['per-minute', 'per-day'], run: setPlan },
  'keys unban': { args: ['ID'], flags: [], run: unban },
  usage: { args: ['[ID]'], flags: ['json'], run: showUsage },
  backup: { args: ['TO'], flags: [], run: makeBackup },
  restore: { args: ['FROM'], flags: [], run: restoreBackup },
  verify: { args: [], flags: [], run: verifyFolder },
  salvage: { args: ['TO'], flags: [], run: salvageFolder },
  export: { args: ['[FILE]'], flags: ['orders', 'format'], run: exportAll },
  import: { args: ['FILE…'], flags: ['orders', 'keep-ids'], run: importFiles },
};

await runProgram(async () => {
  if (process.argv[2] === 'serve') return serve();
  const { values: flags, positionals } = parseFlags({ options, allowPositionals: true });
  if (flags.help || process.argv.length === 2) return console.log(help);
  if (flags.version) return console.log(version());
  const words = positionals[0] === 'keys' ? 2 : 1;
  const name = positionals.slice(0, words).join(' ');
  const args = positionals.slice(words);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (name === 'serve') throw usageError('serve must come before its flags');
  if (command === undefined) throw usageError(`there is no command ${JSON.stringify(positionals.join(' '))}`);
  for (const flag of Object.keys(flags) as (keyof Flags)[]) {
    if (flag !== 'data' && !command.flags.includes(flag)) throw usageError(`${name} does not accept --${flag}`);
  }
  const required = command.args.filter((arg) => !arg.startsWith('['));
  const most = command.args.at(-1)?.endsWith('…') ? Infinity : command.args.length;
  if (args.length < required.length || args.length > most) {
    throw usageError(`${name} expects ${command.args.join(' ') || 'no arguments'}, received ${args.length}`);
  }
  await command.run(flags, ...args);
});

/** Runs the server in this process, so that signals reach it. The server reads the flags after `serve`. */
async function serve(): Promise<void> {
  process.argv.splice(2, 1);
  await import('./server.ts');
}

async function create(flags: Flags): Promise<void> {
  const { name, plan, expires } = flags;
  if (name === undefined || plan === undefined) throw usageError('keys create needs --name and --plan');
  const expiresAt = expires === undefined ? null : parseTime('--expires', expires, Date.now());
  showChange('created', await run(flags, { op: 'create', name, expiresAt, ...planRequest(flags, plan) }));
}

async function rotate(flags: Flags, id: string): Promise<void> {
  const graceMs = parseDuration('--grace', flags.grace ?? '24h');
  showChange('rotated', await run(flags, { op: 'rotate', id, graceMs }));
}

async function revoke(flags: Flags, id: string): Promise<void> {
  showChange('revoked', await run(flags, { op: 'revoke', id }));
}

async function setPlan(flags: Flags, id: string, plan: string): Promise<void> {
  showChange('moved', await run(flags, { op: 'set-plan', id, ...planRequest(flags, plan) }));
}

async function list(flags: Flags): Promise<void> {
  const { keys } = await run(flags, { op: 'list' });
  show(flags, keys, ['ID', 'NAME', 'PLAN', 'STATE', 'CREATED', 'EXPIRES', 'SECRETS'], (key) => {
    return [key.id, key.name, planText(key), key.state, key.createdAt, key.expiresAt ?? '-', secretsText(key)];
  });
}

async function unban(flags: Flags, id: string): Promise<void> {
  const { keys: [key], unbanned } = await run(flags, { op: 'unban', id });
  console.error(unbanned ? `lifted the ban of ${describeKey(key!)}` : `${describeKey(key!)} is not banned`);
}

async function showUsage(flags: Flags, id?: string): Promise<void> {
  const { usages } = await run(flags, { op: 'usage', id: id ?? null });
  show(flags, usages, ['ID', 'NAME', 'PLAN', 'THIS MINUTE', 'THIS DAY', 'BAN'], (usage) => {
    return [usage.id, usage.name, usage.plan, windowText(usage.minute), windowText(usage.day), banText(usage)];
  });
}

async function makeBackup(flags: Flags, to: string): Promise<void> {
  const path = resolve(to);
  const count = await withProgress('backup', (progress) => backUp(folderOf(flags), path, log, progress));
  console.error(`wrote a backup with ${count} animals to ${path}`);
}

async function restoreBackup(flags: Flags, from: string): Promise<void> {
  const folder = folderOf(flags);
  const { sequence, createdAt } = await restore(resolve(from), folder);
  console.error(`restored ${folder} as it was at ${createdAt}, up to record ${sequence} of its journal`);
}

async function verifyFolder(flags: Flags): Promise<void> {
  const folder = folderOf(flags);
  const found = await withProgress('verify', (progress) => verify(folder, progress)).catch((error: unknown) => {
    throw error instanceof OperatorError ? new OperatorError(error.message, 2) : error;
  });
  for (const line of found.content) console.log(line);
  for (const line of found.notes) console.log(`note: ${line}`);
  for (const line of [...found.damage, ...found.unreadable]) log(line);
  process.exitCode = found.unreadable.length > 0 ? 2 : found.damage.length > 0 ? 1 : 0;
  if (process.exitCode === 0) console.log(`${folder} is intact`);
}

async function salvageFolder(flags: Flags, to: string): Promise<void> {
  const path = resolve(to);
  const { animals, keys, orders, lost } = await salvage(folderOf(flags), path);
  for (const line of lost) log(`lost: ${line}`);
  console.error(`copied ${animals} animals, ${keys} keys and ${orders} orders to ${path}`);
  if (lost.length > 0) process.exitCode = 1;
}

async function exportAll(flags: Flags, file?: string): Promise<void> {
  const { format = 'ndjson' } = flags;
  if (format !== 'ndjson' && format !== 'json') throw invalidValue('--format', format, 'ndjson or json');
  const folder = folderOf(flags);
  const path = file === undefined ? null : resolve(file);
  const what = flags.orders ? 'orders' : 'animals';
  const count = await withProgress('export', (progress) => {
    return exportRecords({ folder, what, format, path, log, progress });
  });
  console.error(`exported ${count} ${what}${path === null ? '' : ` to ${path}`}`);
}

async function importFiles(flags: Flags, ...files: string[]): Promise<void> {
  const [what, work] = flags.orders ? ['orders', importOrders] as const : ['animals', importPets] as const;
  const keepIds = flags['keep-ids'] ?? false;
  const paths = files.map((file) => resolve(file));
  const { count, firstId, lastId, unsynced } = await withProgress('import', (progress) => {
    return work({ folder: folderOf(flags), paths, keepIds, now: Date.now, log, progress });
  });
  console.error(`imported ${count} ${what}${count === 0 ? '' : `, with ids from ${firstId} to ${lastId}`}`);
  failIfUnsynced(unsynced);
}

async function withProgress<T>(label: string, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = new Progress(label);
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}

function folderOf(flags: Flags): string {
  return dataFolder(flags.data, process.env);
}

function run<Op extends CommandName>(flags: Flags, command: Command<Op>): Promise<Result<Op>> {
  return runCommand(folderOf(flags), command, log);
}

/** Prints a new secret to stdout and everything else to stderr, so that scripts can capture the secret. */
function showChange(done: string, result: Result<'create' | 'rotate' | 'revoke' | 'set-plan'>): void {
  if ('secret' in result) console.log(result.secret);
  const note = 'secret' in result ? '; its secret, on stdout, will not be shown again' : '';
  console.error(`${done} ${describeKey(result.keys[0]!)}${note}`);
  failIfUnsynced(result.unsynced);
}

/** Logs why a power cut may undo a change that was made, if there is a reason. */
function failIfUnsynced(reason: string | null): void {
  if (reason === null) return;
  log(reason);
  process.exitCode = 1;
}

/** Checks the plan here as well, so that the data folder is not created for an invalid one. */
function planRequest(flags: Flags, plan: string): PlanRequest {
  const count = (name: 'per-minute' | 'per-day'): number | undefined =>
    flags[name] === undefined ? undefined : wholeNumber(`--${name}`, flags[name], 1, Number.MAX_SAFE_INTEGER);
  const { name, ...limits } = planOf(plan, count('per-minute'), count('per-day'));
  return { plan: name, ...limits };
}

function describeKey(key: KeyReport): string {
  return `key ${key.id} (${key.name}, plan ${planText(key)})`;
}

function planText(key: KeyReport): string {
  return key.perMinute === null ? key.plan : `${key.plan} ${key.perMinute}/min ${key.perDay}/day`;
}

function secretsText(key: KeyReport): string {
  return key.secrets
    .map(({ last4, expiresAt }) => (expiresAt === null ? `…${last4}` : `…${last4} until ${expiresAt}`))
    .join(', ');
}

function windowText({ used, limit }: UsageReport['minute']): string {
  return `${used} of ${limit}`;
}

function banText({ ban }: UsageReport): string {
  if (ban === null) return '-';
  return ban.active ? `until ${ban.end}` : `ended ${ban.end}`;
}

/** Prints reports as JSON or as a table with this header and a row for each report. */
function show<Report>(flags: Flags, reports: Report[], header: string[], rowOf: (report: Report) => string[]): void {
  if (flags.json) return console.log(JSON.stringify(reports, null, 2));
  const table = [header, ...reports.map(rowOf)];
  const widths = header.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  for (const row of table) console.log(row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ').trimEnd());
}
