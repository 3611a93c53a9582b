/** The animals that clients have sent, compared with those in responses (scale.ts). */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { petStatuses } from '../domain/pet.ts';

interface NewAnimal {
  readonly name: string;
  readonly categoryId: number;
  readonly status: string;
}

interface Animal extends NewAnimal {
  readonly id: number;
}

interface Sent {
  readonly animal: NewAnimal;
  /** As in the responses; null if no response has had the animal. */
  id: number | null;
  isListed: boolean;
}

/** Text that is hard to store: U+0000, a lone surrogate, quotes, a character outside the BMP. */
const nameEnds = ['', '\0', '\ud800', '"\\\'', '🐈', 'é'.repeat(200)];

/** Returns one of the items. */
export function pick<Item>(items: readonly Item[], random: () => number): Item {
  return items[Math.floor(items.length * random())]!;
}

export class Animals {
  /** The largest id that was listed. */
  last = 0;
  readonly #random: () => number;
  readonly #sent = new Map<string, Sent>();
  readonly #names = new Map<number, string>();

  constructor(random: () => number) {
    this.#random = random;
  }

  /** How many animals were in a response. */
  get size(): number {
    return this.#names.size;
  }

  /** Returns the body of the request that creates another animal. Its name is unique. */
  next(): string {
    const name = `${this.#sent.size} ${pick(nameEnds, this.#random)}`;
    const animal = { name, categoryId: Math.floor(this.#random() * 2 ** 53), status: pick(petStatuses, this.#random) };
    this.#sent.set(name, { animal, id: null, isListed: false });
    return JSON.stringify(animal);
  }

  /** Checks a created animal against what was sent, and against other responses. */
  noteCreated(body: string): void {
    this.#note(JSON.parse(body) as Animal);
  }

  /** Checks a page that continues the list after `last`. */
  noteListed(body: string): void {
    for (const found of JSON.parse(body) as Animal[]) {
      const { id, name } = found;
      assert(id > this.last, `the id ${id} is listed after ${this.last}`);
      this.last = id;
      const sent = this.#note(found);
      assert(!sent.isListed, `${JSON.stringify(name)}, id ${id}, is listed twice`);
      sent.isListed = true;
    }
  }

  #note(found: Animal): Sent {
    const { id, name } = found;
    const shown = `${JSON.stringify(name)}, id ${id},`;
    const sent = this.#sent.get(name);
    assert(sent !== undefined, `${shown} was never sent`);
    const isSame = isDeepStrictEqual(found, { id, ...sent.animal });
    assert(isSame, `${JSON.stringify(found)} was sent as ${JSON.stringify(sent.animal)}`);
    assert(sent.id === null || sent.id === id, `${shown} exists twice, also with the id ${sent.id}`);
    const other = this.#names.get(id);
    assert(other === undefined || other === name, `${shown} has the id of ${JSON.stringify(other)}`);
    sent.id = id;
    this.#names.set(id, name);
    return sent;
  }

  /** Checks that all confirmed animals are listed. The list must have been read to its end after the last of them. */
  checkListed(): void {
    for (const { animal: { name }, id, isListed } of this.#sent.values()) {
      assert(id === null || isListed, `${JSON.stringify(name)}, id ${id}, is not in the list`);
    }
  }

  /** Prepares for reading the list again from its beginning. */
  forgetListed(): void {
    this.last = 0;
    for (const sent of this.#sent.values()) sent.isListed = false;
  }
}
