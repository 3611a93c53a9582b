/** A running server under a row's load: its answers are checked before the first load, in each, and after the last. */
import { measureLoad } from '../measure/load.ts';
import { check, checkKept, createOne, type Demand } from './check.ts';
import type { Server } from './contest.ts';
import type { Row } from './rows.ts';
import { loadOn, spend, type Site } from './site.ts';

/**
 * A server of a contestant's.
 *
 * @throws Error if its answers are not right
 */
export async function checkedServer(site: Site, row: Row, demand: Demand): Promise<Server> {
  const asked = async () => {
    if (row.key === 'spent') await spend(site, row);
    return check(site, row, demand);
  };
  const { body } = await asked();
  const measure = demand !== 'status' && row.isFixed ? measureWith(site, row, body) : measureWith(site, row);
  const kept = demand !== 'status' && row.method === 'POST' ? keeping(site, row, measure) : measure;
  const { program } = site;
  return {
    measure: (seconds) => program.during(kept(seconds)),
    check: async () => void (await program.during(asked())),
    // Strangers have windows too, which need nothing but another try.
    ...(row.key === 'spent' && { prime: () => program.during(spend(site, row)) }),
    ...(row.key === 'none' && { prime: () => Promise.resolve() }),
  };
}

/** Sends a row's load. If `expectedBody` is told, every answer must have it. */
export function measureWith(site: Site, row: Row, expectedBody?: string): Server['measure'] {
  const options = { ...loadOn(site, row), ...(expectedBody !== undefined && { expectedBody }) };
  return (seconds) => measureLoad(site.program, { ...options, seconds });
}

/** The same for creates, which must have been kept. */
function keeping(site: Site, row: Row, measure: Server['measure']): Server['measure'] {
  return async (seconds) => {
    const before = await createOne(site, row);
    const round = await measure(seconds);
    await checkKept(site, row, before, round.requests);
    return round;
  };
}
