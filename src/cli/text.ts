/** How `petstore` shows keys and their usage to a person. */
import type { KeyReport, UsageReport } from '../control/commands.ts';

/** Returns the lines of a table with this header and a row for each report. */
export function table<Report>(
  reports: readonly Report[], header: readonly string[], rowOf: (report: Report) => readonly string[],
): string[] {
  const rows = [header, ...reports.map(rowOf)];
  const widths = header.map((_, column) => rows.reduce((width, row) => Math.max(width, row[column]!.length), 0));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ').trimEnd());
}

/** Returns the lines of `keys list`. */
export function keysTable(keys: readonly KeyReport[]): string[] {
  return table(keys, ['ID', 'NAME', 'PLAN', 'STATE', 'CREATED', 'EXPIRES', 'SECRETS'], (key) => {
    return [key.id, key.name, planText(key), key.state, key.createdAt, key.expiresAt ?? '-', secretsText(key)];
  });
}

/** Returns the lines of `usage`. */
export function usageTable(usages: readonly UsageReport[]): string[] {
  return table(usages, ['ID', 'NAME', 'PLAN', 'THIS MINUTE', 'THIS DAY', 'BAN'], (usage) => {
    return [usage.id, usage.name, usage.plan, windowText(usage.minute), windowText(usage.day), banText(usage)];
  });
}

/** Names a key in a sentence. */
export function describeKey(key: KeyReport): string {
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
