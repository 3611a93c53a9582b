/**
 * Records the transcript of a built server:
 *
 *     node --import tsx src/testing/transcript/record.ts [SERVER [NODE]] > src/testing/transcript/recorded.json
 *
 * SERVER is the path of its server.js (by default that of this checkout), NODE the program that runs it.
 */
import { pathToFileURL } from 'node:url';
import { serverPath } from '../programs.ts';
import type { Exchange } from './client.ts';
import { groups, type Group } from './scenarios.ts';
import { TranscriptServer } from './server.ts';

/** The exchanges of each scenario, by its name. */
export type Record = { [scenario: string]: readonly Exchange[] };

/** Holds the conversations of a group with a server that is started for them. */
export async function recordGroup(group: Group, server = serverPath, node = process.execPath): Promise<Record> {
  const { scenarios } = group;
  const running = await TranscriptServer.start(node, server, { ...group.server, keys: scenarios.length + 1 });
  try {
    if (!group.empty) await running.fill(group.server.args?.[1]?.endsWith('/v1') ? group.server.args[1] : '/v1');
    const record: Record = {};
    const hold = async (index: number): Promise<void> => {
      const { name, run } = scenarios[index]!;
      const client = running.connect(index);
      const [auth, freeAuth] = [running.secrets.large[index], running.secrets.free[index]].map((secret) => `Authorization: Bearer ${secret}`);
      const others = await run(client, { server: running, auth: auth!, freeAuth: freeAuth! });
      record[name] = [await client.end(), ...(others ?? [])];
    };
    const indexes = scenarios.map((_, index) => index);
    if (group.parallel) await Promise.all(indexes.map(hold));
    else for (const index of indexes) await hold(index);
    return record;
  } finally {
    await running.kill();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [server, node, only] = process.argv.slice(2);
  const records: { [group: string]: Record } = {};
  for (const group of groups) if (only === undefined || group.name === only) records[group.name] = await recordGroup(group, server, node);
  process.stdout.write(`${JSON.stringify(records, null, 1)}\n`);
}
