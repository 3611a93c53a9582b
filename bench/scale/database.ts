/** The PostgreSQL server of the bench, its databases, and the CPU time of its processes. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { thisProcess } from '../../harness/owner.ts';
import { oldestVersion } from '../../harness/postgres-binaries.ts';
import type { Cluster } from '../../harness/postgres-cluster.ts';
import { createDatabase, execute, nameIn, startCluster } from '../../harness/postgres.ts';
import { built, distFolder } from '../../harness/server.ts';
import { runNode, unlimited } from '../measure/own-server.ts';

/** Why there is no `BenchDatabase`. */
export const noServer =
  `needs PostgreSQL ${oldestVersion} or later: install it, or run npm ci --prefix harness/postgres`;

/** Linux counts the CPU time in `/proc` in hundredths of a second. */
const tickUs = 10_000;

export class BenchDatabase {
  /** The secrets of the keys in a filled database, which are never refused. */
  readonly keys: readonly string[];
  readonly #cluster: Cluster;
  readonly #filled: string;
  #last: string | undefined;

  /**
   * Starts a server with a database that has animals and keys. Resolves to null if there is no PostgreSQL.
   *
   * @throws NotStarted
   */
  static async start(animals: number, keys: number): Promise<BenchDatabase | null> {
    const cluster = await startCluster(thisProcess);
    if (cluster === null) return null;
    const filled = await createDatabase(cluster.url);
    built(join(distFolder, 'postgres-engine/postgres-engine.js')); // fill.mjs imports it
    const args = [filled, String(animals), String(keys), String(unlimited.perDay)];
    const secrets = JSON.parse(await runNode(new URL('fill.mjs', import.meta.url), ...args)) as readonly string[];
    await execute(filled, 'vacuum analyze'); // as autovacuum would have done in a database that is in use
    return new BenchDatabase(cluster, filled, secrets);
  }

  private constructor(cluster: Cluster, filled: string, keys: readonly string[]) {
    this.#cluster = cluster;
    this.#filled = filled;
    this.keys = keys;
  }

  /** Drops the last fresh database, and returns the URL of a new one, empty or with animals and keys. */
  async fresh(content: 'empty' | 'filled'): Promise<string> {
    const { url } = this.#cluster;
    if (this.#last !== undefined) await execute(url, `drop database ${nameIn(this.#last)} with (force)`);
    this.#last = await createDatabase(url, content === 'filled' ? nameIn(this.#filled) : undefined);
    return this.#last;
  }

  /** Resolves to the version, for example `PostgreSQL 15.14`. */
  async version(): Promise<string> {
    const [[version] = []] = await execute(this.#filled, 'show server_version');
    return `PostgreSQL ${String(version).split(' ')[0]}`;
  }

  /** The CPU time that the server has used so far, user and system, in microseconds; NaN if there is no `/proc`. */
  cpu(): number {
    const { pid } = this.#cluster;
    const used = existsSync('/proc/self/stat') ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
    const ticks = used.map((name) => ticksOf(name, pid)).reduce((sum, each) => sum + each, 0);
    return ticks === 0 ? NaN : ticks * tickUs;
  }
}

/** What a process has used if it is `first` or a child of it; for `first` with what its ended children had used. */
function ticksOf(name: string, first: number | undefined): number {
  let text: string;
  try {
    text = readFileSync(`/proc/${name}/stat`, 'utf8');
  } catch {
    return 0; // the process has ended
  }
  // From field 4 on (proc(5)); a name in brackets precedes them.
  const [parent, , , , , , , , , , user = 0, system = 0, ofEnded = 0, ofEndedSystem = 0] =
    text.slice(text.lastIndexOf(')') + 4).split(' ').map(Number);
  if (Number(name) === first) return user + system + ofEnded + ofEndedSystem;
  return parent === first ? user + system : 0;
}
