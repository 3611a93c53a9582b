import type { Status } from '../file-engine/lock/status-client.ts';
import type { databaseStatus } from '../postgres-engine/run-command.ts';
import { counted } from '../domain/counted.ts';
import { usageTable } from './text.ts';

/** Returns the status of a server as one screen of text. */
export function statusLines(status: Status): string[] {
  const { journal, snapshot, connections, droppedLogLines, disk } = status;
  return linesOf([
    ['state', stateText(status)],
    ['process', `${status.pid}, version ${status.version}, started ${status.startedAt}`],
    ['address', status.address ?? 'none yet'],
    animalsRow(status),
    ['disk', disk.freeBytes === null ? 'free space unknown' : `${bytesText(disk.freeBytes)} free`],
    ['journal', journal && `${bytesText(journal.bytes)}, ${counted(journal.failures, 'failure')}, last synced ` +
      `${journal.lastSyncAt} in ${journal.lastSyncMs.toFixed(1)} ms`],
    ['snapshot', snapshot && (snapshot.writtenAt === null ? 'none yet'
      : `${bytesText(snapshot.bytes)}, written ${snapshot.writtenAt}`) + `, ${counted(snapshot.failures, 'failure')}`],
    ['connections', `${connections.open} of ${connections.limit}, ${connections.refused} refused, ` +
      `${connections.dropped} dropped`],
    requestsRow(status),
    ['log', droppedLogLines === 0 ? null
      : `${counted(droppedLogLines, 'line is', 'lines are')} missing: its reader is slow, or its disk is full`],
  ], status);
}

/** Returns the status of a database as one screen of text. */
export function databaseStatusLines(status: DatabaseStatus): string[] {
  const { state, reason, database, keys } = status;
  return linesOf([
    ['state', state === 'ready' ? state : `refusing creates: ${reason}`],
    ['database', database],
    animalsRow(status),
    ['keys', `${keys} valid`],
    requestsRow(status),
  ], status);
}

type DatabaseStatus = Awaited<ReturnType<typeof databaseStatus>>;
type Row = readonly [name: string, text: string | null];

function animalsRow({ animals, orders }: Status | DatabaseStatus): Row {
  return ['animals', `${animals}, and ${counted(orders, 'order')}`];
}

function requestsRow({ requests: { minute, day } }: Status | DatabaseStatus): Row {
  return ['requests', `${minute} this minute, ${day} this day (admitted, with a key)`];
}

/** Returns these rows, that of the bans, and the table of the busiest and the banned keys. */
function linesOf(rows: readonly Row[], { busiest, banned, bannedKeys }: Status | DatabaseStatus): string[] {
  const bans: Row = ['bans', bannedKeys === 0 ? null : `${bannedKeys} in force`];
  const lines = [...rows, bans].flatMap(([name, text]) => (text === null ? [] : [`${name.padEnd(12)} ${text}`]));
  const named = [...busiest, ...banned.filter(({ id }) => busiest.every((key) => key.id !== id))];
  return named.length === 0 ? lines : [...lines, '', ...usageTable(named)];
}

function stateText({ state, reason, since, percent }: Status): string {
  switch (state) {
    case 'ready': return `ready since ${since}`;
    case 'starting': return `starting since ${since}, ${percent} % of the animals read`;
    case 'stopping': return `stopping since ${since}`;
    case 'creates-refused': return `refusing creates since ${since}: ${reason}`;
  }
}

/** A number of bytes with three digits, in decimal units. */
function bytesText(bytes: number): string {
  const units = ['', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** power;
  return power === 0 ? counted(value, 'byte') : `${Number(value.toPrecision(3))} ${units[power]}`;
}
