/** The metrics of everything but requests: each is read when it is asked for. */
import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Exposition } from './exposition.ts';

/** What the server can be asked. */
export interface Sources {
  readonly version: string;
  readonly maxServed: number;
  readonly connections: () => {
    readonly open: number;
    readonly accepted: number;
    readonly refused: number;
    readonly dropped: number;
    readonly failedHandshakes: number;
  };
  /** In milliseconds since the epoch; null without TLS. */
  readonly certificateExpiresAt: () => number | null;
  readonly keys: () => { readonly banned: number; readonly bans: number };
  readonly animals: () => number;
  readonly orders: () => number;
  /** null until the animals are read. */
  readonly files: () => Files | null;
  readonly droppedLogLines: () => number;
}

interface Files {
  /** Why creates are refused, or null; and since when that is so. Times are in milliseconds since the epoch. */
  readonly creates: { readonly refusal: string | null; readonly since: number };
  readonly journal: {
    readonly bytes: number;
    readonly durable: number;
    readonly failures: number;
    readonly lastSyncMs: number;
    readonly lastSyncAt: number;
    readonly isStalled: boolean;
  };
  readonly snapshot: {
    readonly bytes: number;
    readonly failures: number;
    readonly lastMs: number;
    readonly writtenAt: number | null;
  };
}

/** Adds the state of the server to a text for Prometheus. */
export function writeServer(exposition: Exposition, sources: Sources): void {
  const gauge = (name: string, help: string, value: number): void => exposition.add('gauge', name, help, value);
  const counter = (name: string, help: string, value: number): void => exposition.add('counter', name, help, value);
  const { open, accepted, refused, dropped, failedHandshakes } = sources.connections();
  gauge('petstore_connections', 'Open connections.', open);
  gauge('petstore_connections_limit', 'Connections served at a time: --max-connections.', sources.maxServed);
  counter('petstore_connections_accepted_total', 'Connections that were accepted, refused ones included.', accepted);
  counter('petstore_connections_refused_total', 'Connections that were one too many.', refused);
  counter('petstore_connections_dropped_total', 'Connections that were closed without a response.', dropped);
  const expiresAt = sources.certificateExpiresAt();
  if (expiresAt !== null) {
    counter('petstore_tls_handshake_failures_total', 'TLS handshakes that failed or took too long.', failedHandshakes);
    const help = 'When the certificate expires, in seconds since the epoch.';
    gauge('petstore_tls_certificate_expiration_timestamp_seconds', help, expiresAt / 1000);
  }
  const { banned, bans } = sources.keys();
  gauge('petstore_keys_banned', 'Keys that are banned.', banned);
  counter('petstore_bans_total', 'Bans that have begun.', bans);
  const files = sources.files();
  const isReady = files !== null && files.creates.refusal === null;
  gauge('petstore_ready', 'Whether the animals have been read and creates are not refused.', Number(isReady));
  gauge('petstore_animals', 'Animals that can be listed.', sources.animals());
  gauge('petstore_orders', 'Orders that can be listed.', sources.orders());
  counter('petstore_log_lines_dropped_total', 'Lines of the log that were dropped or could not be written.',
    sources.droppedLogLines());
  if (files === null) return;
  const { journal, snapshot } = files;
  gauge('petstore_journal_bytes', 'Length of the journal.', journal.bytes);
  gauge('petstore_journal_last_record', 'Number of the last record on disk.', journal.durable);
  gauge('petstore_journal_last_sync_duration_seconds', 'Duration of the last sync of the journal, and the write before.',
    journal.lastSyncMs / 1000);
  counter('petstore_journal_failures_total', 'Failed or hanging writes and syncs of the journal.', journal.failures);
  gauge('petstore_journal_stalled', 'Whether the disk makes no progress.', Number(journal.isStalled));
  gauge('petstore_snapshot_bytes', 'Length of the snapshot.', snapshot.bytes);
  gauge('petstore_snapshot_last_duration_seconds', 'Duration of the last snapshot written; 0 before the first.',
    snapshot.lastMs / 1000);
  counter('petstore_snapshot_failures_total', 'Snapshots that could not be written.', snapshot.failures);
}

const resolutionMs = 20;

/** Measures this process. */
export class ProcessFigures {
  readonly #delay = monitorEventLoopDelay({ resolution: resolutionMs });

  constructor() {
    this.#delay.enable();
  }

  /** Adds the state of the process to a text for Prometheus. The event loop delay is that since the last call. */
  writeTo(exposition: Exposition, version: string): void {
    const delay = this.#delay;
    // It measures the time between two turns of a timer, which includes the interval of the timer.
    const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - resolutionMs / 1000);
    const isEmpty = delay.max === 0;
    exposition.add('gauge', 'petstore_event_loop_delay_seconds',
      'Delay of the event loop since the last scrape: the mean, the 99th percentile and the maximum.', [
        [{ stat: 'mean' }, isEmpty ? 0 : seconds(delay.mean)],
        [{ stat: 'p99' }, isEmpty ? 0 : seconds(delay.percentile(99))],
        [{ stat: 'max' }, isEmpty ? 0 : seconds(delay.max)],
      ]);
    delay.reset();
    const { user, system } = process.cpuUsage();
    exposition.add('gauge', 'petstore_build_info', 'The versions of the program and of Node.',
      [[{ version, node: process.version }, 1]]);
    exposition.add('counter', 'process_cpu_seconds_total', 'User and system CPU time.', (user + system) / 1e6);
    exposition.add('gauge', 'process_resident_memory_bytes', 'Resident memory.', process.memoryUsage.rss());
    exposition.add('gauge', 'process_start_time_seconds', 'Start of the process, since the epoch.',
      performance.timeOrigin / 1000);
    const descriptors = fileDescriptors();
    if (descriptors === null) return;
    exposition.add('gauge', 'process_open_fds', 'Open file descriptors.', descriptors.open);
    exposition.add('gauge', 'process_max_fds', 'Maximum number of open file descriptors.', descriptors.max);
  }
}

/** The file descriptors of this process; null where the system does not show them. Neither read touches a disk. */
function fileDescriptors(): { open: number; max: number } | null {
  try {
    const [, max = ''] = /^Max open files +(\d+|unlimited) /m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return { open: readdirSync('/proc/self/fd').length, max: max === 'unlimited' ? Infinity : Number(max) };
  } catch {
    return null; // there is no /proc, or no descriptor is left
  }
}
