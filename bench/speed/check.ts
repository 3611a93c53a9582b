/** Measures a target, and checks that its responses are correct: otherwise the figures would be worthless. */
import { isDeepStrictEqual } from 'node:util';
import { animal } from '../measure/animal.mjs';
import { measureBursts, type Bursts, type BurstSample } from '../measure/bursts.ts';
import { measureLoad, warmUp, type Duration, type LoadOptions, type Sample } from '../measure/load.ts';
import { loadOf, newAnimal, send, sendOne, type Response, type Session } from './session.ts';
import { knownId, type Workload } from './workloads.ts';

/** How many of the animals that a load has created are read back. */
const samples = 10;

/**
 * Measures a running target under a workload: its responses are checked, it is warmed up, measured, checked again and
 * stopped.
 *
 * @throws Error that states which response was wrong, or how the target ended
 */
export async function measureTarget(session: Session, workload: Workload, duration: Duration): Promise<Sample> {
  try {
    return await session.process.during(measure(session, workload, duration));
  } finally {
    await session.process.stop();
  }
}

async function measure(session: Session, workload: Workload, duration: Duration): Promise<Sample> {
  const load = await checkedLoad(session, workload);
  const perSecond = await warmUp(load, duration);
  const mustKeep = workload.method === 'POST' && session.isRecorded !== true;
  const before = mustKeep ? await createOne(session, workload) : 0;
  // The first latency of each connection is excluded, so each sends at least three requests.
  const amount = Math.max(3 * load.connections, Math.round(perSecond * duration.seconds));
  const sample = await measureLoad(session.process, load, amount);
  if (mustKeep) await checkKept(session, workload, before, sample.requests);
  await check(session, workload);
  return sample;
}

/**
 * Measures running targets by bursts under a workload: their responses are checked before and after. All are stopped.
 *
 * @throws Error that states which response was wrong, or how a target ended
 */
export async function measureTargets(
  sessions: readonly Session[], workload: Workload, bursts: Bursts,
): Promise<readonly BurstSample[]> {
  try {
    const servers = [];
    for (const session of sessions) {
      servers.push({ process: session.process, load: await checkedLoad(session, workload) });
    }
    const samples = await measureBursts(servers, bursts);
    for (const session of sessions) await check(session, workload);
    return samples;
  } finally {
    for (const { process } of sessions) await process.stop();
  }
}

/** The load of a workload, after the target has responded correctly to one request of it. */
async function checkedLoad(session: Session, workload: Workload): Promise<LoadOptions> {
  if (workload.key === 'spent') await sendOne(session, workload); // uses up its day
  const { body } = await check(session, workload);
  return { ...loadOf(session, workload), ...(workload.isFixed && { expectedBody: body }) };
}

/**
 * Sends one request of a workload, checks the status and the animals in the response and returns it.
 *
 * @throws Error that says what is wrong
 */
export async function check(session: Session, workload: Workload): Promise<Response> {
  const response = await sendChecked(session, workload);
  if (session.isRecorded === true) return response;
  if (workload.status === 200) {
    const page = Array.from({ length: 20 }, (_, i) => ({ id: i + 1, ...animal(i + 1) }));
    const isList = workload.path.includes('limit=');
    mustEqual(response, isList ? page : { id: knownId, ...animal(knownId) }, nameOf(workload));
  }
  if (workload.status === 201) await checkCreated(session, workload, response);
  return response;
}

/**
 * Creates an animal as the workload does and returns its id.
 *
 * @throws Error that says what is wrong
 */
export async function createOne(session: Session, workload: Workload): Promise<number> {
  return checkCreated(session, workload, await sendChecked(session, workload));
}

/**
 * Checks that a target has kept the animals that a load has created after the animal `before`: the id of one more
 * animal shows how many there are, and some of them are read back.
 *
 * @throws Error that says what is wrong
 */
export async function checkKept(session: Session, workload: Workload, before: number, created: number): Promise<void> {
  const added = (await createOne(session, workload)) - before - 1;
  must(added === created, `${created} creates returned ${workload.status}, but ${added} animals were added`);
  for (let i = 1; i <= samples; i++) await checkFound(session, before + Math.ceil((i * created) / samples));
}

async function sendChecked(session: Session, workload: Workload): Promise<Response> {
  const response = await sendOne(session, workload);
  const { status } = response;
  must(status === workload.status, `${nameOf(workload)} must return ${workload.status}, not ${status}`);
  return response;
}

async function checkCreated(session: Session, workload: Workload, response: Response): Promise<number> {
  const { id } = objectIn(response, nameOf(workload));
  must(Number.isSafeInteger(id), `a created animal must have an id: ${response.body}`);
  mustEqual(response, { id, ...newAnimal }, nameOf(workload));
  await checkFound(session, Number(id));
  return Number(id);
}

async function checkFound({ baseUrl, key }: Session, id: number): Promise<void> {
  const found = await send(`${baseUrl}/pets/${id}`, { headers: { Authorization: `Bearer ${key}` } });
  must(found.status === 200, `GET /pets/${id} of a created animal must return 200, not ${found.status}`);
  mustEqual(found, { id, ...newAnimal }, `GET /pets/${id}`);
}

function mustEqual(response: Response, expected: unknown, what: string): void {
  const right = isDeepStrictEqual(jsonIn(response, what), expected);
  must(right, `${what} must return ${JSON.stringify(expected)}, not ${response.body}`);
}

export function objectIn(response: Response, what: string): Readonly<Record<string, unknown>> {
  const value = jsonIn(response, what);
  must(typeof value === 'object' && value !== null, `${what} must have an object as its body: ${response.body}`);
  return value as Readonly<Record<string, unknown>>;
}

function jsonIn(response: Response, what: string): unknown {
  try {
    return JSON.parse(response.body);
  } catch {
    throw new Error(`${what} must return JSON, not ${response.body.slice(0, 100)}`);
  }
}

function nameOf({ method, path }: Workload): string {
  return `${method} ${path}`;
}

export function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise.length > 300 ? `${otherwise.slice(0, 300)}…` : otherwise);
}
