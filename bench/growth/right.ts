/** Whether a shop answers rightly: figures of wrong answers are worth nothing. */
import { isDeepStrictEqual } from 'node:util';
import { animal } from '../measure/animal.mjs';
import { pageLength, pathOf, reads, type PageQuery, type Shop } from './shop.ts';

const pagesOfEach = 10;

/**
 * Asks for pages of every kind, and compares every animal on them.
 *
 * @throws Error that names the path and what is wrong
 */
export async function checkPages(shop: Shop): Promise<void> {
  for (const { query } of reads) {
    for (let page = 0; page < pagesOfEach; page++) {
      const asked = query(shop.animals);
      const response = await fetch(shop.url + pathOf(asked), { headers: shop.headers });
      const answer = { status: response.status, link: response.headers.get('link'), body: await response.text() };
      const wrong = wrongPage(asked, shop.animals, answer);
      if (wrong !== undefined) throw new Error(`${pathOf(asked)} of ${shop.animals} animals: ${wrong}`);
    }
  }
}

export interface Answer {
  readonly status: number;
  readonly link: string | null;
  readonly body: string;
}

/** What is wrong with the answer of a shop that has animals 1 … `animals`; undefined if nothing is. */
export function wrongPage({ after = 0, status }: PageQuery, animals: number, answer: Answer): string | undefined {
  if (answer.status !== 200) return `the status is ${answer.status}`;
  const due: object[] = [];
  let id = after + 1;
  for (; id <= animals && due.length < pageLength; id++) {
    const pet = animal(id);
    if (status === undefined || pet.status === status) due.push({ id, ...pet });
  }
  if (!isDeepStrictEqual(JSON.parse(answer.body), due)) return `due were ${JSON.stringify(due)}, and came ${answer.body}`;
  const more = Array.from({ length: Math.min(3, animals - id + 1) }, (_, i) => animal(id + i));
  const follows = status === undefined ? more.length > 0 : more.some((pet) => pet.status === status);
  if (follows !== (answer.link !== null)) return `a link to the next page is ${follows ? 'missing' : 'one too many'}`;
  return undefined;
}

/**
 * Creates an animal, and gets it back.
 *
 * @throws Error that says what is wrong
 */
export async function checkCreate(shop: Shop, body: string): Promise<void> {
  const line = await create(shop, body);
  const due = { id: shop.animals + 1, ...(JSON.parse(body) as object) };
  if (!isDeepStrictEqual(JSON.parse(line), due)) throw new Error(`a create was answered with ${line}`);
  const got = await fetch(`${shop.url}/pets/${due.id}`, { headers: shop.headers });
  if ((await got.text()) !== line) throw new Error(`animal ${due.id} does not come back as it was created`);
}

/** How many animals there are, with one that is created to see it. */
export async function countOf(shop: Shop, body: string): Promise<number> {
  return (JSON.parse(await create(shop, body)) as { readonly id: number }).id;
}

async function create({ url, headers }: Shop, body: string): Promise<string> {
  const made = await fetch(`${url}/pets`, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body });
  const text = await made.text();
  if (made.status !== 201) throw new Error(`a create was answered with ${made.status}: ${text}`);
  return text;
}
