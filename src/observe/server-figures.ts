/** The metrics of everything but requests: each is read when it is asked for. */
import { readdirSync, readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Figures } from '../engine.ts';
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
  /** How many bans have begun. */
  readonly bans: () => number;
  readonly droppedLogLines: () => number;
}

/** Adds the state of the server and of its engine to a text for Prometheus. */
export function writeServer(exposition: Exposition, sources: Sources, figures: Figures): void {
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
  const { animals, orders, bannedKeys, creates, metrics } = figures;
  gauge('petstore_keys_banned', 'Keys that are banned.', bannedKeys);
  counter('petstore_bans_total', 'Bans that have begun.', sources.bans());
  const isReady = creates !== null && creates.refusal === null;
  gauge('petstore_ready', 'Whether the animals have been read and creates are not refused.', Number(isReady));
  gauge('petstore_animals', 'Animals that can be listed.', animals);
  gauge('petstore_orders', 'Orders that can be listed.', orders);
  counter('petstore_log_lines_dropped_total', 'Lines of the log that were dropped or could not be written.',
    sources.droppedLogLines());
  for (const { type, name, help, value } of metrics) exposition.add(type, name, help, value);
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
    exposition.add('gauge', 'petstore_memory_limit_bytes', 'Memory of the container, or of the machine.', memoryLimit());
    exposition.add('gauge', 'process_start_time_seconds', 'Start of the process, since the epoch.',
      performance.timeOrigin / 1000);
    const descriptors = fileDescriptors();
    if (descriptors === null) return;
    exposition.add('gauge', 'process_open_fds', 'Open file descriptors.', descriptors.open);
    exposition.add('gauge', 'process_max_fds', 'Maximum number of open file descriptors.', descriptors.max);
  }
}

/** The bytes of memory of the container or, if that has no limit, of the machine. */
function memoryLimit(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
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
