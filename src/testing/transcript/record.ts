/**
 * Records the transcript of a built server:
 *
 *     node --import tsx src/testing/transcript/record.ts [SERVER [NODE]] > src/testing/transcript/recorded.json
 *
 * SERVER is the path of its server.js (default: the one of this checkout), NODE the program that runs it (default: the
 * Node that runs this script).
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { thisProcess, type Owner } from '../../../harness/owner.ts';
import { serverPath } from '../../../harness/server.ts';
import type { Exchange } from './client.ts';
import type { TestCertificate } from '../../../harness/certificates.ts';
import { groups, type Group } from './scenarios.ts';
import { TranscriptServer } from './server.ts';

/** The records of each scenario's connections, by the name of the scenario. */
export type Record = { [scenario: string]: readonly Exchange[] };

/** Starts a server, runs the scenarios of a group on it (over TLS with a certificate), and returns their records. */
export async function recordGroup(
  owner: Owner, group: Group, server = serverPath, node = process.execPath, certificate?: TestCertificate,
): Promise<Record> {
  const { scenarios } = group;
  const options = { ...group.server, keys: scenarios.length + 1, certificate };
  const running = await TranscriptServer.start(owner, node, server, options);
  try {
    if (!group.empty) await running.fill(group.server.args?.[1]?.endsWith('/v1') ? group.server.args[1] : '/v1');
    const record: Record = {};
    const runScenario = async (index: number): Promise<void> => {
      const { name, run } = scenarios[index]!;
      const client = running.connect(index);
      const { large, free } = running.secrets;
      const [auth, freeAuth] = [`Authorization: Bearer ${large[index]}`, `Authorization: Bearer ${free[index]}`];
      const others = await run(client, { server: running, auth, freeAuth });
      record[name] = [await client.end(), ...(others ?? [])];
    };
    const indexes = scenarios.map((_, index) => index);
    if (group.parallel) await Promise.all(indexes.map(runScenario));
    else for (const index of indexes) await runScenario(index);
    return record;
  } finally {
    await running.kill();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [server, node, only] = process.argv.slice(2);
  const records: { [group: string]: Record } = {};
  for (const group of groups) {
    if (only !== undefined && group.name !== only) continue;
    records[group.name] = await recordGroup(thisProcess, group, server && resolve(server), node);
  }
  process.stdout.write(`${JSON.stringify(records, null, 1)}\n`);
}
