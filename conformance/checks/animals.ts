/**
 * Section 4 as a whole: creates, lists and gets in any order tell of the same animals. The model is what this run has created;
 * it holds while others write, since nobody can change an animal, and says nothing of theirs.
 */
import * as fc from 'fast-check';
import { check, type Check } from '../session/check.ts';
import { anyName } from './names.ts';
import type { Response } from '../client/response.ts';
import { newPetText, statuses, type NewPet, type PetStatus } from '../client/pet.ts';
import { createPet, createPetOf, getPet, listPets } from '../client/requests.ts';
import { inJson } from '../verdicts/rules.ts';
import type { CheckContext } from '../session/context.ts';

/** The animals created in one sequence. */
type Model = { id: bigint; pet: NewPet }[];
type Command = fc.AsyncCommand<Model, CheckContext>;

/** Commands in one sequence. */
const maxCommands = 10;

class Create implements Command {
  readonly pet: NewPet;

  constructor(pet: NewPet) {
    this.pet = pet;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, t: CheckContext): Promise<void> {
    const { mustBe: _, ...request } = createPet(t.key, this.pet);
    const response = await t.send(request);
    const [made] = response.pets;
    if (made === undefined) return; // a name that the server refuses, or a failure of create.answers
    const twin = model.find(({ id }) => id === made.id);
    t.require(twin === undefined, response, 'an animal of its own', `id ${made.id}, that of ${inJson(twin?.pet ?? {})}`);
    t.require(
      made.name === this.pet.name && made.categoryId === this.pet.categoryId,
      response,
      `the animal that was sent: ${newPetText(this.pet)}`,
      inJson(made),
    );
    model.push({ id: made.id, pet: this.pet });
  }

  toString(): string {
    return `create ${newPetText(this.pet)}`;
  }
}

/** A create that is refused must leave nothing behind for the next one. */
class CreateInvalid implements Command {
  readonly body: string;

  constructor(body: string) {
    this.body = body;
  }

  check(): boolean {
    return true;
  }

  async run(_: Model, t: CheckContext): Promise<void> {
    await t.send(createPetOf(t.key, this.body));
  }

  toString(): string {
    return `create ${this.body}`;
  }
}

class Get implements Command {
  readonly which: number;

  constructor(which: number) {
    this.which = which;
  }

  check(model: Readonly<Model>): boolean {
    return model.length > 0;
  }

  async run(model: Model, t: CheckContext): Promise<void> {
    const { id, pet } = model[this.which % model.length]!;
    const response = await t.fixtures.getCreated(id);
    const [got] = response.pets;
    const same = got?.id === id && got.name === pet.name && got.categoryId === pet.categoryId;
    t.require(
      same,
      response,
      `animal ${id} as it was created: ${newPetText(pet)}`,
      got === undefined ? `${response.status}` : inJson(got),
    );
  }

  toString(): string {
    return `get created[${this.which}]`;
  }
}

class GetUnknown implements Command {
  check(): boolean {
    return true;
  }

  async run(_: Model, t: CheckContext): Promise<void> {
    await t.send(getPet(t.key, t.fixtures.unknownId()));
  }

  toString(): string {
    return 'get unknown';
  }
}

class List implements Command {
  readonly asked: { readonly limit?: number; readonly status?: PetStatus };

  constructor(asked: { readonly limit?: number; readonly status?: PetStatus }) {
    this.asked = asked;
  }

  check(): boolean {
    return true;
  }

  /** What a list says of the animals in the model is judged by the rule animals.agree, on this list as on every other. */
  async run(_: Model, t: CheckContext): Promise<void> {
    await t.send(listPets(t.key, this.asked));
  }

  toString(): string {
    return `list ${inJson(this.asked)}`;
  }
}

/** What no sequence should be needed to find: animals that were asked for more than once. */
async function againAndAgain(t: CheckContext): Promise<void> {
  const model: Model = [];
  for (const status of statuses) await new Create(t.fixtures.newPet(status)).run(model, t);
  if (model.length === 0) return;
  await new CreateInvalid('{"name":"Nobody"}').run(model, t);
  await new Create(model[0]!.pet).run(model, t);
  for (let round = 0; round < 3; round++) {
    for (let which = 0; which < model.length; which++) await new Get(which).run(model, t);
  }
}

/** The list and get must show the same status. It may move; but it is not now this, now that, by the operation that tells of it. */
async function sameStatus(t: CheckContext): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const before = await t.send(listPets(t.key, { limit: 100 }));
    const told: Response[] = [];
    for (const status of statuses) {
      const [one] = (await t.send(listPets(t.key, { limit: 1, status }))).pets;
      for (const animal of [one, before.pets.find((p) => p.status === status)]) {
        if (animal !== undefined) told.push(await t.send(getPet(t.key, animal.id)));
      }
    }
    const after = await t.send(listPets(t.key, { limit: 100 }));
    const listedAs = (id: bigint | undefined) => [before, after].map((list) => list.pets.find((p) => p.id === id)?.status);
    const comparable = told.filter(({ pets: [got] }) => {
      const [first, last] = listedAs(got?.id);
      return got?.status !== undefined && first !== undefined && first === last;
    });
    const contradiction = comparable.find(({ pets: [got] }) => got!.status !== listedAs(got!.id)[0]);
    if (contradiction !== undefined && attempt < attempts) continue;
    const [shown] = (contradiction ?? comparable[0])?.pets ?? [];
    if (shown !== undefined)
      t.require(
        contradiction === undefined,
        contradiction ?? comparable[0]!,
        `animal ${shown.id} as ${listedAs(shown.id)[0]}, as the list shows it before and after`,
        `${shown.status}`,
      );
    return;
  }
}

/** How often a contradiction is looked at again, since a status may just have moved. */
const attempts = 3;

export const animalChecks: readonly Check[] = [
  check(
    'animals.agree',
    { requests: 18 + 11 * attempts, creates: 4, perCase: { requests: maxCommands, creates: maxCommands / 2, share: 0.25 } },
    async (t) => {
      const getExists = !(await t.fixtures.getIsRemoved());
      if (getExists) await sameStatus(t);
      if (!t.mayWrite) return;
      if (getExists) await againAndAgain(t);
      // By number, so that a seed gives the same sequences whatever categories there are now.
      const category = fc.nat(9).map((n) => t.fixtures.categories[n % t.fixtures.categories.length]!);
      const pets = fc.record(
        { name: anyName, categoryId: category, status: fc.constantFrom(...statuses) },
        { requiredKeys: ['name', 'categoryId'] },
      );
      const asked = fc.record(
        { limit: fc.integer({ min: 1, max: 100 }), status: fc.constantFrom(...statuses) },
        { requiredKeys: [] },
      );
      const commands: fc.Arbitrary<Command>[] = [
        pets.map((pet) => new Create(pet)),
        fc
          .constantFrom('{"name":"Nobody"}', '{"name":"Nobody","categoryId":"1","status":"sold"}')
          .map((body) => new CreateInvalid(body)),
        ...(getExists ? [fc.nat(9).map((which) => new Get(which)), fc.constant(new GetUnknown())] : []),
        asked.map((query) => new List(query)),
      ];
      const replayPath = t.options.path?.split('@')[1];
      const sequences = fc.commands(commands, { maxCommands, ...(replayPath !== undefined && { replayPath }) });
      await t.forAll(sequences, String, (sequence) => fc.asyncModelRun(() => ({ model: [], real: t }), sequence));
    },
  ),
];
