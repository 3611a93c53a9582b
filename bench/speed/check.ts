/** Whether a server gives right answers to what it is going to be measured by. A fast wrong answer is worth nothing. */
import { animal } from '../measure/animal.mjs';
import { ask, type Answer } from './ask.ts';
import { knownId, type Row } from './rows.ts';
import { askOnce, newAnimal, type Site } from './site.ts';

/** So many of the animals that a load has created are asked for. */
const samples = 10;

/** How much is asked of it. */
export type Demand =
  /** All that the specification says of these requests. */
  | 'service'
  /** Right animals, but no keys and no limits. */
  | 'animals'
  /** The right status: it makes its answers up. */
  | 'status';

/**
 * Asks a server once for what a row's load asks it. Gives its answer.
 *
 * @throws Error that says what was wrong
 */
export async function check(site: Site, row: Row, demand: Demand): Promise<Answer> {
  const answer = await askedOnce(site, row);
  if (demand === 'status') return answer;
  if (row.status === 200) checkAnimals(row, answer);
  if (row.status === 201) await checkCreated(site, row, answer);
  if (demand === 'service') await checkService(site, row, answer);
  return answer;
}

/**
 * Creates an animal as a row's load does. Gives its id.
 *
 * @throws Error that says what was wrong
 */
export async function createOne(site: Site, row: Row): Promise<number> {
  return checkCreated(site, row, await askedOnce(site, row));
}

/**
 * Whether a server has kept what a load has created since the animal `before`: by one more, whose id tells how many there are, and by
 * some of them.
 *
 * @throws Error that says what was wrong
 */
export async function checkKept(site: Site, row: Row, before: number, created: number): Promise<void> {
  const added = (await createOne(site, row)) - before - 1;
  must(added === created, `${created} creates were answered ${row.status}, and ${added} animals were added`);
  for (let i = 1; i <= samples; i++) await checkFound(site, before + Math.ceil((i * created) / samples));
}

async function askedOnce(site: Site, row: Row): Promise<Answer> {
  const answer = await askOnce(site, row);
  must(answer.status === row.status, `${row.method} ${row.path} must be answered ${row.status}, and was ${answer.status}`);
  return answer;
}

function checkAnimals(row: Row, answer: Answer): void {
  const ids = row.path.includes('limit=') ? Array.from({ length: 20 }, (_, i) => i + 1) : [knownId];
  const expected = ids.map((id) => ({ id, ...animal(id) }));
  sameJson(answer, row.path.includes('limit=') ? expected : expected[0], `${row.method} ${row.path}`);
}

/** The created animal is what was sent, with an id by which it is found. Gives that. */
async function checkCreated(site: Site, row: Row, answer: Answer): Promise<number> {
  const { id } = member(answer, `${row.method} ${row.path}`);
  must(Number.isSafeInteger(id), `a created animal must have an id, and came as ${answer.body}`);
  sameJson(answer, { id, ...newAnimal }, `${row.method} ${row.path}`);
  await checkFound(site, Number(id));
  return Number(id);
}

async function checkFound(site: Site, id: number): Promise<void> {
  const found = await ask(`${site.baseUrl}/pets/${id}`, { headers: { Authorization: `Bearer ${site.key}` } });
  must(found.status === 200, `GET /pets/${id} of a created animal must be answered 200, and was ${found.status}`);
  sameJson(found, { id, ...newAnimal }, `GET /pets/${id}`);
}

async function checkService(site: Site, row: Row, answer: Answer): Promise<void> {
  const what = `a ${row.status}`;
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
    must(/^\d+$/.test(String(answer.headers[name])), `${what} must have a number in ${name}`);
  }
  if (row.status >= 400) checkError(answer);
  if (row.status === 429) {
    must(Number(answer.headers['retry-after']) >= 1, `${what} must say by Retry-After when to come back`);
    must(answer.headers['x-ratelimit-remaining'] === '0', `${what} must have none remaining`);
  }
  if (row.status === 401) {
    const wrong = await ask(`${site.baseUrl}/pets`, { headers: { Authorization: 'Bearer wrong' } });
    must(wrong.status === 401, `a wrong key must be answered 401, and was ${wrong.status}`);
  }
  if (row.status === 201) {
    const headers = { Authorization: `Bearer ${site.key}`, 'Content-Type': 'application/json' };
    const invalid = await ask(`${site.baseUrl}/pets`, { method: 'POST', headers, body: '{"name":"Rex"}' });
    must(invalid.status === 400, `a create without a category must be answered 400, and was ${invalid.status}`);
    checkError(invalid);
  }
}

function checkError(answer: Answer): void {
  const { code, message, status } = member(answer, `a ${answer.status}`);
  const right = typeof code === 'string' && typeof message === 'string' && status === answer.status;
  must(right, `a ${answer.status} must have an Error as its body, and had ${answer.body}`);
}

function sameJson(answer: Answer, expected: unknown, what: string): void {
  const [came, wanted] = [sorted(parsed(answer, what)), sorted(expected)];
  must(came === wanted, `${what} must give ${wanted}, and gave ${came}`);
}

/** JSON with the names of every object in order: that of a body's is free. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => {
    const isObject = typeof part === 'object' && part !== null && !Array.isArray(part);
    return isObject ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part;
  });
}

function member(answer: Answer, what: string): Readonly<Record<string, unknown>> {
  const value = parsed(answer, what);
  must(typeof value === 'object' && value !== null, `${what} must have an object as its body, and had ${answer.body}`);
  return value as Readonly<Record<string, unknown>>;
}

function parsed(answer: Answer, what: string): unknown {
  try {
    return JSON.parse(answer.body);
  } catch {
    throw new Error(`${what} must be answered in JSON, and was with ${answer.body.slice(0, 100)}`);
  }
}

function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise.length > 300 ? `${otherwise.slice(0, 300)}…` : otherwise);
}
