/** The history records what was shown before what, and the state of animals. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bearer } from '../client/credentials.ts';
import { newPetText, uniqueName, type NewPet, type Pet } from '../client/pet.ts';
import { createPet, getPet, listPets } from '../client/requests.ts';
import { response, start, type ResponseFields } from '../testing/responses.ts';
import { apiKey } from '../testing/servers.ts';
import { History } from './history.ts';
import { animalRules } from './rules/animals.ts';

const key = bearer(apiKey);
const bello: NewPet = { name: 'Bello', categoryId: 3n };

const text = ({ id, ...pet }: Pet) => newPetText(pet).replace('{', `{"id":${id},`);

const list = (pets: readonly Pet[], fields: ResponseFields = {}) =>
  response({ request: listPets(key), body: `[${pets.map(text).join()}]`, ...fields });
const got = (pet: Pet, fields: ResponseFields = {}) =>
  response({ request: getPet(key, pet.id), body: text(pet), ...fields });
const made = (sent: NewPet, shown: Pet, fields: ResponseFields = {}) =>
  response({ request: createPet(key, sent), status: 201, body: text(shown), ...fields });

const violates = (id: string, history: History, one: ReturnType<typeof response>) =>
  typeof animalRules.find((rule) => rule.id === id)!.judge(one, history) === 'object';
const differs = (history: History, pet: Pet) => violates('animals.agree', history, list([pet]));

/** A history with these responses. */
function after(...responses: readonly ReturnType<typeof response>[]): History {
  const history = new History();
  for (const one of responses) history.add(one);
  return history;
}

describe('shown before', () => {
  const pet = { id: 7n, ...bello };

  test('means that a response arrived before the request was sent', () => {
    const history = after(list([pet], { turns: [1, 4] }));
    const isShown = (id: bigint, turns: [number, number]) =>
      history.shownBefore(id, made(bello, pet, { turns })) !== undefined;
    assert.equal(isShown(7n, [2, 5]), false, 'sent before the list came');
    assert.equal(isShown(7n, [3, 9]), false, 'whenever its response comes');
    assert.equal(isShown(7n, [5, 6]), true);
    assert.equal(isShown(8n, [5, 6]), false, 'another animal');
  });

  test('distinguishes moments within a millisecond', () => {
    const history = after(list([pet], { at: start, turns: [1, 2] }));
    assert.ok(history.shownBefore(7n, made(bello, pet, { at: start, turns: [3, 4] })));
  });

  test('starts with the first response of a list, getPet or create', () => {
    for (const first of [
      list([pet], { turns: [1, 2] }),
      got(pet, { turns: [1, 2] }),
      made(bello, pet, { turns: [1, 2] }),
    ]) {
      const history = after(first, list([pet], { turns: [5, 6] }), got(pet, { turns: [7, 8] }));
      assert.equal(history.shownBefore(7n, made(bello, pet, { turns: [3, 4] }))?.request, first.request);
    }
  });
});

test('an animal differs if it is neither as it was sent nor as it was returned', () => {
  const sent = { name: 'half \ud83d', categoryId: 3n };
  const shown = (name: string, categoryId = 3n): Pet => ({ id: 7n, name, categoryId });
  const ordinary = after(made(bello, shown('BELLO')));
  assert.deepEqual(
    ['Bello', 'BELLO', 'Bell', 'Bello\ufffd'].map((name) => differs(ordinary, shown(name))),
    [false, false, true, true],
  );
  for (const returned of [sent.name, 'half \ufffd', 'half ?']) {
    const lone = after(made(sent, shown(returned)));
    for (const name of ['half \ufffd', 'half ?', sent.name]) assert.equal(differs(lone, shown(name)), false, name);
    assert.equal(differs(lone, shown(sent.name, 4n)), true, 'another category');
  }
});

describe('the number of animals', () => {
  test('a status is kept if a later response shows none', () => {
    const history = after(
      list([
        { id: 7n, ...bello, status: 'sold' },
        { id: 8n, ...bello },
      ]),
      got({ id: 7n, ...bello }),
      list([{ id: 7n, ...bello }]),
    );
    assert.deepEqual([history.count('sold'), history.count('available'), history.count()], [1, 0, 2]);
    assert.deepEqual(history.statuses(), ['sold']);
  });

  test('a status that changes is the latest one', () => {
    const history = after(list([{ id: 7n, ...bello, status: 'available' }]), got({ id: 7n, ...bello, status: 'sold' }));
    assert.deepEqual([history.count('sold'), history.count('available'), history.count()], [1, 0, 1]);
  });

  test('an animal has the status it was created with if the server shows none', () => {
    const history = after(made({ ...bello, status: 'pending' }, { id: 7n, ...bello }));
    assert.equal(history.count('pending'), 1);
    history.add(got({ id: 7n, ...bello, status: 'sold' }));
    assert.deepEqual([history.count('pending'), history.count('sold')], [0, 1]);
  });

  test('ids are sorted as numbers, also beyond 2^53; creates keep their order', () => {
    const ids = [2n ** 53n + 1n, 9n, 2n ** 53n, -1n, 10n];
    const history = after(...ids.map((id) => made(bello, { id, ...bello })));
    assert.deepEqual(history.ids(), [-1n, 9n, 10n, 2n ** 53n, 2n ** 53n + 1n]);
    assert.deepEqual(history.createdIds(), ids);
  });

  test('only lists determine listed animals and known categories', () => {
    const history = after(
      made(bello, { id: 7n, ...bello }),
      got({ id: 7n, ...bello }),
      list([{ id: 8n, ...bello, categoryId: 5n }]),
    );
    assert.equal(history.known(7n)?.listed, undefined);
    assert.equal(history.known(8n)?.listed?.pet.categoryId, 5n);
    assert.deepEqual(history.categories(), [5n]);
  });
});

describe('an animal differs', () => {
  const sent: NewPet = { name: 'Bello', categoryId: 3n, status: 'available' };
  const returned: Pet = { id: 7n, name: 'bello', categoryId: 4n, status: 'available' };

  test('only if it is neither as it was sent nor as the 201 showed it', () => {
    const history = after(made(sent, returned));
    assert.equal(differs(history, { ...sent, id: 7n }), false, 'as sent');
    assert.equal(differs(history, returned), false, 'as returned');
    for (const shown of [
      { ...returned, name: 'BELLO' },
      { ...returned, categoryId: 5n },
      { ...sent, id: 7n, name: 'Bello ' },
      { ...sent, id: 7n, categoryId: 2n },
      { ...sent, id: 7n, categoryId: 4n }, // half of each
    ])
      assert.equal(differs(history, shown), true, `${shown.name} ${shown.categoryId}`);
  });

  test('never by its status', () => {
    assert.equal(differs(after(made(sent, returned)), { ...returned, status: 'sold' }), false);
  });

  test('from the first response with it, if this run did not create it; and from the first list', () => {
    const pet = { id: 8n, ...bello };
    const history = after(got(pet), list([{ ...pet, name: 'Luna' }]), list([{ ...pet, name: 'Rex' }]));
    for (const [name, first, listed] of [['Bello', false, true], ['Luna', true, false], ['Rex', true, true]] as const) {
      assert.equal(differs(history, { ...pet, name }), first, name);
      assert.equal(violates('get.answers', history, got({ ...pet, name })), listed, name);
    }
    assert.equal(differs(history, { id: 9n, name: 'Luna', categoryId: 1n }), false, 'an unknown one');
  });

  test('not by what another key shows: its animals may be others', () => {
    const other = { request: listPets(bearer('other', 'exhaust')) };
    assert.equal(after(list([{ id: 8n, ...bello }], other)).count(), 0);
  });

  test('what was sent is completed by the 201', () => {
    const history = after(made(bello, returned));
    assert.deepEqual(history.known(7n)?.sent, { ...returned, ...bello });
    assert.equal(history.known(8n), undefined);
  });
});

describe('exchanges', () => {
  const rates = { limit: 60, remaining: 59, reset: Math.ceil(start / 1000) };

  test('keep the response with a truncated body', () => {
    const head = `[{"id":1,"name":"`;
    const history = after(
      ...Array.from({ length: 3 }, () =>
        response({ ...rates, body: Buffer.from(`${head}${'x'.repeat(1_000_000)}","categoryId":1}]`) }),
      ),
    );
    assert.equal(history.limits.of('main').length, 3);
    for (const { response } of history.limits.of('main')) {
      assert.ok(response.body.buffer.byteLength <= 16_384, `${response.body.buffer.byteLength} bytes stay alive`);
      assert.ok(response.body.length >= 2_000 && Buffer.from(response.body).toString().startsWith(head));
      assert.equal(response.integer('x-ratelimit-remaining'), 59);
    }
  });

  test('keep a small body complete, and the times of the response', () => {
    const whole = list([{ id: 7n, ...bello }], { ...rates, turns: [3, 8] });
    const [kept] = after(whole).limits.of('main');
    assert.deepEqual(Buffer.from(kept!.response.body), Buffer.from(whole.body));
    assert.deepEqual([kept!.response.sentTurn, kept!.response.receivedTurn, kept!.response.receivedAt], [3, 8, start]);
  });
});

test('large Errors are not kept for observations, because a run has hundreds of them', () => {
  const large = 'x'.repeat(64 * 1024);
  const error = (message: string) =>
    response({ request: listPets(key), status: 400, body: JSON.stringify({ code: 'c', message, status: 400 }) });
  const history = after(error(large), error('no'));
  assert.equal(history.errors.length, 1);
});

test('an animal whose create was refused is a violation; only unique names are compared', () => {
  const refused = (name: string, status: number) =>
    response({ request: createPet(key, { name, categoryId: 3n }), status, body: '{}' });
  const unique = (number: number) => `Conformance 3f9a1c07 ${number}`;
  const shows = (name: string) => list([{ id: 7n, name, categoryId: 3n }]);
  const history = after(refused(unique(1), 400), refused(unique(2), 401), refused(unique(3), 409), refused('Rex', 400));
  for (const [name, isViolation] of [
    ...[[unique(1), true], [unique(2), true], [unique(3), false], ['Rex', false], [unique(11), false]] as const,
  ])
    assert.equal(violates('create.refused', history, shows(name)), isViolation, name);
  assert.equal(violates('create.refused', new History(), shows(unique(1))), false);
});

test('a create that was refused with 429 adds no animal, unless it may have been sent again', () => {
  const [sent, other] = [1, 2].map((number) => ({ name: uniqueName('1234abcd', number), categoryId: 3n }));
  const refused = (pet: NewPet, isSentOnce: boolean) => {
    const request = { ...createPet(key, pet), ...(isSentOnce && ({ isSentOnce } as const)) };
    return response({ request, status: 429, body: '{}' });
  };
  const isStored = (history: History) => violates('create.refused', history, list([{ id: 7n, ...sent! }]));
  assert.equal(isStored(after(refused(sent!, true))), true);
  assert.equal(isStored(after(refused(other!, true))), false);
  assert.equal(isStored(after(refused(sent!, false))), false);
});
