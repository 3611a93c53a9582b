/** Section 4.2: a valid NewPet is accepted, returned as it was sent, and stored. */
import { isUniqueName, statuses } from '../client/pet.ts';
import { createPet, createPetOf, listPets, tryPet } from '../client/requests.ts';
import { anyName, exampleNames, fragileNames, isOrdinary, meaningfulNames } from '../model/names.ts';
import { costOf } from '../model/plan.ts';
import { check, type Check } from '../session/check.ts';
import type { CaseResponse } from '../session/context.ts';
import type { Cost } from '../session/cost.ts';
import { observeBy } from './usual.ts';

/** The number of animals that create.stored gets, as a multiple of --runs. */
const getsPerRun = 2.6;

/** The same for animals with usual values whose creates had unusual headers, forms or other fields. */
const combinationsPerRun = 0.5;

/** create.answers sends a list after so many creates, and at most so many lists. */
const createsPerList = 4;
const maxLists = 6;

const ofNames: Cost = {
  ...{ requests: 3, writes: true, planned: costOf('create.name') },
  perCase: { requests: 1.1, creates: 1, share: 0.25 },
};

const ofStored: Cost = {
  ...{ requests: 12, creates: 12, writes: true },
  perCase: { requests: getsPerRun + combinationsPerRun },
};

export const createChecks: readonly Check[] = [
  check('create.answers', { requests: maxLists, writes: true, planned: costOf('create.answers') }, async (t) => {
    let count = 0;
    // A list may be wrong only while there are few animals. A limit below their number shows whether it is obeyed.
    const listSome = async () => {
      if (++count % createsPerList !== 0 || count > maxLists * createsPerList) return;
      const status = statuses[count % statuses.length]!;
      const limit = Math.min(100, Math.max(1, t.history.count(status) - 1));
      await t.send(listPets(t.key, { limit, status }));
    };
    for (const { response } of await t.sendCasesAnd(listSome, 'create.answers')) {
      const [pet] = response.pets;
      if (response.request.sent?.status === undefined && pet !== undefined)
        t.observe('pet.default-status', pet.status ?? 'none is shown', response);
      if (response.status === 201)
        t.observe('create.location', response.all('location').length > 0 ? 'yes' : 'no', response);
    }
  }),
  check('create.category', { writes: true, planned: costOf('create.category') }, async (t) => {
    observeBy(t, 'create.category-range', await t.sendCases('create.category'));
  }),
  check('create.name', ofNames, async (t) => {
    let count = 0;
    await t.forAll(anyName, JSON.stringify, async (name) => {
      // Which strings are valid names is a gap (section 2).
      await t.send(tryPet(t.key, { name, categoryId: t.fixtures.category }));
      // While the animals may be on the first page, for the rule animals.agree.
      if (++count % 15 === 0) await t.send(listPets(t.key, { limit: 100 }));
    });
    const named = await t.sendCases('create.name');
    const isOrdinaryCase = ({ response }: CaseResponse) => isOrdinary(response.request.sent?.name ?? '');
    observeBy(t, 'create.ordinary-name', named.filter(isOrdinaryCase));
  }),
  check('create.refused', { requests: 2, writes: true }, async (t) => {
    // Other checks have sent creates with other errors, and without a valid key.
    const { name } = t.fixtures.newPet();
    await t.send({ ...createPetOf(t.key, `{"name":${JSON.stringify(name)},"categoryId":null}`), sent: { name } });
    await t.send(listPets(t.key, { limit: 100 }));
  }),
  check('create.status', { requests: 8 * 2, creates: 8, writes: true }, async (t) => {
    const getExists = !(await t.fixtures.getIsRemoved());
    await t.each([undefined, ...statuses, ...statuses, undefined], async (status) => {
      const [created] = (await t.send(createPet(t.key, t.fixtures.newPet(status)))).pets;
      if (getExists && created !== undefined) await t.getCreated(created.id);
    });
  }),
];

/** Runs after all other creates, whose animals it gets. */
export const storedChecks: readonly Check[] = [
  check('create.stored', ofStored, async (t) => {
    await t.fixtures.needGet();
    const { category: categoryId, categories } = t.fixtures;
    for (const name of fragileNames.slice(0, Math.max(0, 12 - t.history.createdIds().length)))
      await t.send(tryPet(t.key, { name, categoryId }));
    // Some combinations, then an animal of each value: first those of the model, then those with generated names.
    const [ofModel, generated] = [new Map<string, bigint>(), new Map<string, bigint>()];
    const combined: bigint[] = [];
    for (const id of t.history.createdIds()) {
      const { sent, first } = t.history.known(id)!;
      const { name, categoryId } = sent!;
      if (!categories.includes(categoryId)) ofModel.set(`${categoryId}`, id);
      else if ([...exampleNames, ...meaningfulNames].includes(name) || name.length > 255) ofModel.set(name, id);
      else if (isUniqueName(name) && first.request.combines !== undefined) combined.push(id);
      else generated.set(isUniqueName(name) ? '' : name, id);
    }
    const step = Math.max(1, combined.length / (t.options.runs * combinationsPerRun));
    const ofCombinations = combined.filter((_, i) => i % step < 1);
    const values = [...ofModel.values(), ...generated.values()].slice(0, t.options.runs * getsPerRun);
    const ids = [...ofCombinations, ...values];
    await t.each(ids, async (id) => {
      const response = await t.getCreated(id);
      const [created, got] = [t.history.known(id)?.sent, response.pets[0]];
      if (created?.status !== undefined)
        t.observe('pet.status-moves', got?.status === created.status ? 'not seen' : 'yes', response);
    });
  }),
];
