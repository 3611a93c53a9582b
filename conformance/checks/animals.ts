/**
 * Section 4: creates, lists and getPet, in any order, must show the same animals. The model contains the animals that
 * this run has created. Other clients may write at the same time, because no operation changes an animal.
 */
import * as fc from 'fast-check';
import { int64Max, newPetText, statuses, type NewPet, type PetStatus } from '../client/pet.ts';
import { createPet, createPetOf, getPet, listPets } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { check, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';
import { inJson } from '../verdicts/rules/rule.ts';
import { anyName } from './names.ts';

/** The animals created in one sequence of commands, with the names and categories in their 201. */
type Model = { id: bigint; pet: NewPet }[];
type Command = fc.AsyncCommand<Model, CheckContext>;

/** The maximum length of a sequence. */
const maxCommands = 10;

/** A status may change while it is compared, so a contradiction is confirmed by this many attempts. */
const attempts = 3;

/** The number of animals from the start of the run that must still exist. */
const oldest = 2;

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
    const [created] = response.pets;
    // In these cases, the server rejects the name, or create.answers or pet.unique-id fails. The rules of create.name
    // and create.category judge what a 201 returns.
    if (created === undefined || model.some(({ id }) => id === created.id)) return;
    model.push({ id: created.id, pet: { ...this.pet, name: created.name, categoryId: created.categoryId } });
  }

  toString(): string {
    return `create ${newPetText(this.pet)}`;
  }
}

/** A rejected create must not affect the next one. */
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
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }

  check(model: Readonly<Model>): boolean {
    return model.length > 0;
  }

  async run(model: Model, t: CheckContext): Promise<void> {
    const { id, pet } = model[this.index % model.length]!;
    const response = await t.fixtures.getCreated(id);
    const [got] = response.pets;
    t.require(
      got?.id === id && got.name === pet.name && got.categoryId === pet.categoryId,
      response,
      `animal ${id} as it was created: ${newPetText(pet)}`,
      got === undefined ? `${response.status}` : inJson(got),
    );
  }

  toString(): string {
    return `get created[${this.index}]`;
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

/** The rule animals.agree judges the animals of the model in every list. */
class List implements Command {
  readonly query: { readonly limit?: number; readonly status?: PetStatus };

  constructor(query: { readonly limit?: number; readonly status?: PetStatus }) {
    this.query = query;
  }

  check(): boolean {
    return true;
  }

  async run(_: Model, t: CheckContext): Promise<void> {
    await t.send(listPets(t.key, this.query));
  }

  toString(): string {
    return `list ${inJson(this.query)}`;
  }
}

/**
 * Finds faults that need no generated sequence: an equal second animal, a rejected create, repeated gets, and a get of
 * the id that the next animal probably has: a server must not remember that it did not find it.
 */
async function repeatedGets(t: CheckContext): Promise<void> {
  const model: Model = [];
  await new CreateInvalid('{"name":"Nobody"}').run(model, t);
  for (const status of statuses) await new Create(t.fixtures.newPet(status)).run(model, t);
  const [first, second, third] = model;
  if (first === undefined) return;
  const next = second !== undefined && third !== undefined ? 2n * third.id - second.id : -1n;
  if (next > 0n && next <= int64Max) await t.send(getPet(t.key, next));
  await new Create(first.pet).run(model, t);
  for (let round = 0; round < 3; round++) {
    for (let index = 0; index < model.length; index++) await new Get(index).run(model, t);
  }
}

/** Sends creates, lists and gets at the same time. The rules judge the responses. */
async function together(t: CheckContext, getExists: boolean): Promise<void> {
  const requests = [
    ...statuses.map((status) => createPet(t.key, t.fixtures.newPet(status))),
    ...[{}, ...statuses.map((status) => ({ status }))].map((query) => listPets(t.key, query)),
    ...(getExists ? t.history.createdIds().slice(-2) : []).map((id) => getPet(t.key, id)),
  ];
  await t.room(requests.length);
  const responses = await t.sendTogether(requests);
  if (!getExists) return;
  const model = responses.flatMap(({ request: { sent }, pets: [created] }) =>
    created === undefined || sent === undefined ? [] : [{ id: created.id, pet: created }],
  );
  for (let index = 0; index < model.length; index++) await new Get(index).run(model, t);
}

/** Animals must not disappear in the course of a run. */
async function oldestCreated(t: CheckContext): Promise<void> {
  await t.each(t.history.createdIds().slice(0, oldest), async (id) => {
    const response = await t.fixtures.getCreated(id);
    t.require(response.status === 200, response, '200, because the run has created the animal');
  });
}

/** Requires that getPet shows the status of lists, for animals whose status is the same in lists before and after. */
async function sameStatus(t: CheckContext): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const before = await t.send(listPets(t.key, { limit: 100 }));
    const responses: Response[] = [];
    for (const status of statuses) {
      const [filtered] = (await t.send(listPets(t.key, { limit: 1, status }))).pets;
      for (const pet of [filtered, before.pets.find((listed) => listed.status === status)])
        if (pet !== undefined) responses.push(await t.send(getPet(t.key, pet.id)));
    }
    const after = await t.send(listPets(t.key, { limit: 100 }));
    const listedAs = (id: bigint | undefined) =>
      [before, after].map((list) => list.pets.find((pet) => pet.id === id)?.status);
    const comparable = responses.filter(({ pets: [got] }) => {
      const [first, last] = listedAs(got?.id);
      return got?.status !== undefined && first !== undefined && first === last;
    });
    const contradiction = comparable.find(({ pets: [got] }) => got!.status !== listedAs(got!.id)[0]);
    if (contradiction !== undefined && attempt < attempts) {
      await t.beforeComparingAgain(attempt);
      continue;
    }
    const response = contradiction ?? comparable[0];
    const [got] = response?.pets ?? [];
    if (response === undefined || got === undefined) return;
    t.require(
      contradiction === undefined,
      response,
      `animal ${got.id} as ${listedAs(got.id)[0]}, as in the lists before and after`,
      `${got.status}`,
    );
    return;
  }
}

export const animalChecks: readonly Check[] = [
  check(
    'animals.agree',
    {
      requests: 19 + 12 + oldest + 11 * attempts,
      creates: 4 + 3,
      perCase: { requests: maxCommands, creates: maxCommands / 2, share: 0.25 },
    },
    async (t) => {
      const getExists = !(await t.fixtures.getIsRemoved());
      if (getExists) await sameStatus(t);
      if (!t.mayWrite) return;
      if (getExists) {
        await repeatedGets(t);
        await oldestCreated(t);
      }
      await together(t, getExists);
      // Categories by index, so that a seed generates the same sequences for any categories.
      const category = fc.nat(9).map((n) => t.fixtures.categories[n % t.fixtures.categories.length]!);
      const pets = fc.record(
        { name: anyName, categoryId: category, status: fc.constantFrom(...statuses) },
        { requiredKeys: ['name', 'categoryId'] },
      );
      const queries = fc.record(
        { limit: fc.integer({ min: 1, max: 100 }), status: fc.constantFrom(...statuses) },
        { requiredKeys: [] },
      );
      const invalidBodies = fc.constantFrom('{"name":"Nobody"}', '{"name":"Nobody","categoryId":"1","status":"sold"}');
      const commands: fc.Arbitrary<Command>[] = [
        pets.map((pet) => new Create(pet)),
        invalidBodies.map((body) => new CreateInvalid(body)),
        ...(getExists ? [fc.nat(9).map((index) => new Get(index)), fc.constant(new GetUnknown())] : []),
        queries.map((query) => new List(query)),
      ];
      const replayPath = t.options.path?.split('@')[1];
      const sequences = fc.commands(commands, { maxCommands, ...(replayPath !== undefined && { replayPath }) });
      await t.forAll(sequences, String, (sequence) => fc.asyncModelRun(() => ({ model: [], real: t }), sequence));
    },
  ),
];
