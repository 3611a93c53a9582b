#!/usr/bin/env node
/** `petstore`: the operator's command. */
import { parseArgs } from 'node:util';
import { defaultFolder, folderOf, orUsageError } from './config.ts';
import { carryOut } from './control/command-client.ts';
import type { KeyCommand, KeyReport, PlanRequest } from './control/key-commands.ts';
import type { UsageReport } from './control/usage-commands.ts';
import { OperatorError } from './domain/operator-error.ts';
import { parseDuration, parseWhen } from './keys/when.ts';
import { planOf } from './limits/plans.ts';
import { log, runProgram, version } from './program.ts';

const help = `Usage: petstore keys COMMAND [options]
       petstore usage [ID] [options]

Manages the API keys of a data folder, whether a server runs on it or not.

  keys create --name N --plan PLAN     make a key; prints its secret, this once, on stdout
       [--per-minute N --per-day N]      the enterprise plan's numbers, which it needs
       [--expires WHEN]                  a date, a time (RFC 3339) or a duration like 90d
  keys list [--json]                   show all keys
  keys rotate ID [--grace 24h]         give a key a new secret, printed on stdout; the old
                                         one is accepted until the grace time ends
  keys revoke ID                       end a key for good
  keys set-plan ID PLAN                move a key to another plan
       [--per-minute N --per-day N]
  keys unban ID                        lift a key's temporary ban, and forget it
  usage [ID] [--json]                  what each key has used of its minute and its day,
                                         and its ban

PLAN is free, pro, business or enterprise.

  --data DIR           data folder     DATA_DIR    ${defaultFolder}
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

/** The commands, each with the flags it takes beside --data, and what it does with its arguments. */
const commands: Readonly<Record<string, { flags: readonly string[]; run: (flags: Flags, args: string[]) => Promise<void> }>> = {
  'keys create': { flags: ['name', 'plan', 'per-minute', 'per-day', 'expires'], run: create },
  'keys list': { flags: ['json'], run: list },
  'keys rotate': { flags: ['grace'], run: rotate },
  'keys revoke': { flags: [], run: revoke },
  'keys set-plan': { flags: ['per-minute', 'per-day'], run: setPlan },
  'keys unban': { flags: [], run: unban },
  usage: { flags: ['json'], run: usageOfKeys },
};

await runProgram(async () => {
  const { values: flags, positionals } = parse();
  if (flags.help || process.argv.length === 2) return print(help);
  if (flags.version) return print(`${version()}\n`);
  const words = positionals[0] === 'keys' ? 2 : 1;
  const name = positionals.slice(0, words).join(' ');
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) throw badUsage(`there is no command ${JSON.stringify(positionals.join(' '))}`);
  for (const flag of Object.keys(flags)) {
    if (flag !== 'data' && !command.flags.includes(flag)) throw badUsage(`${name} takes no --${flag}`);
  }
  await command.run(flags, positionals.slice(words));
});

async function create(flags: Flags, args: string[]): Promise<void> {
  expect(args, []);
  if (flags.name === undefined || flags.plan === undefined) throw badUsage('keys create needs --name and --plan');
  const expiresAt = flags.expires === undefined ? null : parseWhen(flags.expires, '--expires', Date.now());
  await issue(flags, { op: 'create', name: flags.name, expiresAt, ...planRequest(flags, flags.plan) });
}

async function rotate(flags: Flags, args: string[]): Promise<void> {
  const [id] = expect(args, ['ID']);
  await issue(flags, { op: 'rotate', id: id!, graceMs: parseDuration(flags.grace ?? '24h', '--grace') });
}

async function revoke(flags: Flags, args: string[]): Promise<void> {
  const [id] = expect(args, ['ID']);
  const { keys } = await carryOut(folder(flags), { op: 'revoke', id: id! }, log);
  tell(`revoked ${describe(keys[0]!)}`);
}

async function setPlan(flags: Flags, args: string[]): Promise<void> {
  const [id, plan] = expect(args, ['ID', 'PLAN']);
  const { keys } = await carryOut(folder(flags), { op: 'set-plan', id: id!, ...planRequest(flags, plan!) }, log);
  tell(`moved ${describe(keys[0]!)}`);
}

async function list(flags: Flags, args: string[]): Promise<void> {
  expect(args, []);
  const { keys } = await carryOut(folder(flags), { op: 'list' }, log);
  if (flags.json) return print(`${JSON.stringify(keys, null, 2)}\n`);
  const rows = keys.map((key) => [key.id, key.name, planText(key), key.state, key.createdAt, key.expiresAt ?? '-', secretsText(key)]);
  printTable([['ID', 'NAME', 'PLAN', 'STATE', 'CREATED', 'EXPIRES', 'SECRETS'], ...rows]);
}

async function unban(flags: Flags, args: string[]): Promise<void> {
  const [id] = expect(args, ['ID']);
  const { usages: [usage], unbanned } = await carryOut(folder(flags), { op: 'unban', id: id! }, log);
  const key = `key ${usage!.id} (${usage!.name}, plan ${usage!.plan})`;
  tell(unbanned ? `lifted the ban of ${key}` : `${key} is not banned`);
}

async function usageOfKeys(flags: Flags, args: string[]): Promise<void> {
  if (args.length > 1) expect(args, ['ID']);
  const { usages } = await carryOut(folder(flags), { op: 'usage', id: args[0] ?? null }, log);
  if (flags.json) return print(`${JSON.stringify(usages, null, 2)}\n`);
  const rows = usages.map((usage) => [usage.id, usage.name, usage.plan, windowText(usage.minute), windowText(usage.day), banText(usage)]);
  printTable([['ID', 'NAME', 'PLAN', 'THIS MINUTE', 'THIS DAY', 'BAN'], ...rows]);
}

/** Has a secret made: it alone goes to stdout. */
async function issue(flags: Flags, command: KeyCommand): Promise<void> {
  const { keys, secret } = await carryOut(folder(flags), command, log);
  print(`${secret}\n`);
  tell(`${command.op === 'create' ? 'made' : 'rotated'} ${describe(keys[0]!)}; its secret, on stdout, is not shown again`);
}

function folder(flags: Flags): string {
  return folderOf(flags.data, process.env);
}

function parse() {
  return orUsageError(() => parseArgs({ options, allowPositionals: true }));
}

/** The arguments, which must be as many as `names`. */
function expect(args: string[], names: readonly string[]): string[] {
  if (args.length === names.length) return args;
  throw badUsage(`${names.length === 0 ? 'no argument' : names.join(' and ')} expected, ${args.length} given`);
}

function planRequest(flags: Flags, plan: string): PlanRequest {
  const count = (name: 'per-minute' | 'per-day'): number | undefined => {
    const text = flags[name];
    if (text === undefined) return undefined;
    if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text);
    throw badUsage(`--${name} must be a whole number from 1, not ${JSON.stringify(text)}`);
  };
  const request = { plan, perMinute: count('per-minute'), perDay: count('per-day') };
  planOf(request.plan, request.perMinute, request.perDay); // a mistake is told before anything is touched
  return request;
}

function badUsage(what: string): OperatorError {
  return new OperatorError(`${what}; --help shows what there is`, 2);
}

function describe(key: KeyReport): string {
  return `key ${key.id} (${key.name}, plan ${planText(key)})`;
}

function planText(key: KeyReport): string {
  return key.perMinute === null ? key.plan : `${key.plan} ${key.perMinute}/min ${key.perDay}/day`;
}

function secretsText(key: KeyReport): string {
  return key.secrets.map(({ last4, expiresAt }) => (expiresAt === null ? `…${last4}` : `…${last4} until ${expiresAt}`)).join(', ');
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
  print(table.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ').trimEnd() + '\n').join(''));
}

function print(text: string): void {
  process.stdout.write(text);
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}
