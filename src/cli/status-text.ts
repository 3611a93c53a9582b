import type { Status } from '../file-engine/lock/status-client.ts';
import { counted } from '../domain/counted.ts';
import { usageTable } from './text.ts';

/** Returns the status of a server as one screen of text. */
export function statusLines(status: Status): string[] {
  const { journal, snapshot, connections, requests, droppedLogLines, disk, busiest, banned, bannedKeys } = status;
  const rows: [name: string, text: string | null][] = [
    ['state', stateText(status)],
    ['process', `${status.pid}, version ${status.version}, started ${status.startedAt}`],
    ['address', status.address ?? 'none yet'],
    ['animals', `${status.animals}, and ${counted(status.orders, 'order')}`],
    ['disk', disk.freeBytes === null ? 'free space unknown' : `${bytesText(disk.freeBytes)} free`],
    ['journal', journal && `${bytesText(journal.bytes)}, ${counted(journal.failures, 'failure')}, last synced ` +
      `${journal.lastSyncAt} in ${journal.lastSyncMs.toFixed(1)} ms`],
    ['snapshot', snapshot && (snapshot.writtenAt === null ? 'none yet'
      : `${bytesText(snapshot.bytes)}, written ${snapshot.writtenAt}`) + `, ${counted(snapshot.failures, 'failure')}`],
    ['connections', `${connections.open} of ${connections.limit}, ${connections.refused} refused, ` +
      `${connections.dropped} dropped`],
    ['requests', `${requests.minute} this minute, ${requests.day} this day (admitted, with a key)`],
    ['log', droppedLogLines === 0 ? null
      : `${counted(droppedLogLines, 'line is', 'lines are')} missing: its reader is slow, or its disk is full`],
    ['bans', bannedKeys === 0 ? null : `${bannedKeys} in force`],
  ];
  const lines = rows.flatMap(([name, text]) => (text === null ? [] : [`${name.padEnd(12)} ${text}`]));
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
