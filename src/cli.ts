#!/usr/bin/env node
/** `petstore`: the command with which operators manage keys. */
import { parseArgs } from 'node:util';
import { runCommand } from './control/command-client.ts';
import type { Command, CommandName, KeyReport, PlanRequest, Result, UsageReport } from './control/commands.ts';
import { dataFolder, defaultFolder, orUsageError, parseDuration, parseTime, usageError, wholeNumber } from './flags.ts';
import { planOf } from './limits/plans.ts';
import { log, runProgram, version } from './program.ts';

const help = `Usage: petstore keys COMMAND [options]
       petstore usage [ID] [options]

Manages the API keys of a data folder, whether a server runs on it or not.

  keys create --name N --plan PLAN     make a key and print its secret to stdout, only once
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

PLAN is free, pro, business or enterprise.

  --data DIR           data folder (variable DATA_DIR, default ${defaultFolder})
  --help, --version
`;

const options = {
  data: { type: 'string' },
  name: { type: 'string' },
  plan: { type: 'string' },
  'per-minute': { type: 'string' },
  'per-day': { type: 'string' },
  expires: { type: 'string' },
  grace: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

type Flags = ReturnType<typeof parse>['values'];

interface CliCommand {
  /** The names of its arguments. One in brackets is optional. */
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
};

await runProgram(async () => {
  const { values: flags, positionals } = parse();
  if (flags.help || process.argv.length === 2) return print(help);
  if (flags.version) return print(`${version()}\n`);
  const words = positionals[0] === 'keys' ? 2 : 1;
  const name = positionals.slice(0, words).join(' ');
  const args = positionals.slice(words);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) throw usageError(`there is no command ${JSON.stringify(positionals.join(' '))}`);
  for (const flag of Object.keys(flags) as (keyof Flags)[]) {
    if (flag !== 'data' && !command.flags.includes(flag)) throw usageError(`${name} does not accept --${flag}`);
  }
  const required = command.args.filter((arg) => !arg.startsWith('['));
  if (args.length < required.length || args.length > command.args.length) {
    throw usageError(`${name} expects ${command.args.join(' ') || 'no arguments'}, received ${args.length}`);
  }
  await command.run(flags, ...args);
});

async function create(flags: Flags): Promise<void> {
  const { name, plan, expires } = flags;
  if (name === undefined || plan === undefined) throw usageError('keys create needs --name and --plan');
  const expiresAt = expires === undefined ? null : parseTime('--expires', expires, Date.now());
  const result = await run(flags, { op: 'create', name, expiresAt, ...planRequest(flags, plan) });
  showSecret('made', result);
}

async function rotate(flags: Flags, id: string): Promise<void> {
  const graceMs = parseDuration('--grace', flags.grace ?? '24h');
  const result = await run(flags, { op: 'rotate', id, graceMs });
  showSecret('rotated', result);
}

async function revoke(flags: Flags, id: string): Promise<void> {
  const { keys: [key] } = await run(flags, { op: 'revoke', id });
  report(`revoked ${describeKey(key!)}`);
}

async function setPlan(flags: Flags, id: string, plan: string): Promise<void> {
  const { keys: [key] } = await run(flags, { op: 'set-plan', id, ...planRequest(flags, plan) });
  report(`moved ${describeKey(key!)}`);
}

async function list(flags: Flags): Promise<void> {
  const { keys } = await run(flags, { op: 'list' });
  if (flags.json) return print(`${JSON.stringify(keys, null, 2)}\n`);
  const rows = keys.map((key) => {
    return [key.id, key.name, planText(key), key.state, key.createdAt, key.expiresAt ?? '-', secretsText(key)];
  });
  printTable([['ID', 'NAME', 'PLAN', 'STATE', 'CREATED', 'EXPIRES', 'SECRETS'], ...rows]);
}

async function unban(flags: Flags, id: string): Promise<void> {
  const { usages: [usage], unbanned } = await run(flags, { op: 'unban', id });
  const key = `key ${usage!.id} (${usage!.name}, plan ${usage!.plan})`;
  report(unbanned ? `lifted the ban of ${key}` : `${key} is not banned`);
}

async function showUsage(flags: Flags, id?: string): Promise<void> {
  const { usages } = await run(flags, { op: 'usage', id: id ?? null });
  if (flags.json) return print(`${JSON.stringify(usages, null, 2)}\n`);
  const rows = usages.map((usage) => {
    return [usage.id, usage.name, usage.plan, windowText(usage.minute), windowText(usage.day), banText(usage)];
  });
  printTable([['ID', 'NAME', 'PLAN', 'THIS MINUTE', 'THIS DAY', 'BAN'], ...rows]);
}

function run<Op extends CommandName>(flags: Flags, command: Command<Op>): Promise<Result<Op>> {
  return runCommand(dataFolder(flags.data, process.env), command, log);
}

/** Prints the secret to stdout and everything else to stderr, so that scripts can capture the secret. */
function showSecret(done: string, { keys: [key], secret }: Result<'create' | 'rotate'>): void {
  print(`${secret}\n`);
  report(`${done} ${describeKey(key!)}; its secret, on stdout, will not be shown again`);
}

function parse() {
  return orUsageError(() => parseArgs({ options, allowPositionals: true }));
}

/** Checks the plan here as well, so that an invalid one does not even create the data folder. */
function planRequest(flags: Flags, plan: string): PlanRequest {
  const count = (name: 'per-minute' | 'per-day'): number | undefined => {
    const value = flags[name];
    return value === undefined ? undefined : wholeNumber(`--${name}`, value, 1, Number.MAX_SAFE_INTEGER);
  };
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
  const secretText = ({ last4, expiresAt }: KeyReport['secrets'][number]): string => {
    return expiresAt === null ? `…${last4}` : `…${last4} until ${expiresAt}`;
  };
  return key.secrets.map(secretText).join(', ');
}

function windowText({ used, limit }: UsageReport['minute']): string {
  return `${used} of ${limit}`;
}

function banText({ ban }: UsageReport): string {
  if (ban === null) return '-';
  return ban.active ? `until ${ban.end}` : `ended ${ban.end}`;
}

function printTable(table: readonly (readonly string[])[]): void {
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  for (const row of table) print(`${row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ').trimEnd()}\n`);
}

function print(text: string): void {
  process.stdout.write(text);
}

function report(line: string): void {
  process.stderr.write(`${line}\n`);
}
