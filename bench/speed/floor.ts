/** The floor: what `node:http` alone costs for the same answer. */
import { Program } from '../measure/program.ts';
import type { Answer } from './ask.ts';
import type { Server } from './contest.ts';
import { keepsItsHeap } from './contestants.ts';
import type { Row } from './rows.ts';
import { measureWith } from './server.ts';
import { askOnce, type Site } from './site.ts';

/** Node writes these itself, here as there. */
const nodesOwn = new Set(['date', 'connection', 'keep-alive']);

/**
 * Starts a floor that answers everything as this site answers a row.
 *
 * @throws NotStarted, or Error if its answer is not the same
 */
export async function startFloor(site: Site, row: Row): Promise<Server> {
  const model = await askOnce(site, row);
  const { status, body } = model;
  const program = await Program.start(new URL('floor.mjs', import.meta.url), {
    nodeArgs: keepsItsHeap,
    env: { FLOOR_ANSWER: JSON.stringify({ status, headers: headersOf(model), body }) },
  });
  const floor = { ...site, program, baseUrl: program.address };
  const answer = await askOnce(floor, row);
  const same = answer.status === status && answer.body === body && String(headersOf(answer)) === String(headersOf(model));
  if (!same) throw new Error('the floor does not answer what it was told to');
  return { measure: measureWith(floor, row, body) };
}

function headersOf({ rawHeaders }: Answer): readonly string[] {
  return rawHeaders.filter((_, i) => !nodesOwn.has(rawHeaders[i - (i % 2)]!.toLowerCase()));
}
