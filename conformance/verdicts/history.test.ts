/** One response is held against another: what was shown before what, and what is still known of an animal. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bearer } from '../client/credentials.ts';
import { History } from './history.ts';
import { newPetText, type NewPet, type Pet } from '../client/pet.ts';
import { createPet, getPet, listPets } from '../client/requests.ts';
import { response, start, type Told } from '../testing/responses.ts';
import { apiKey } from '../testing/servers.ts';

const key = bearer(apiKey);
const bello: NewPet = { name: 'Bello', categoryId: 3n };

const text = ({ id, ...pet }: Pet) => newPetText(pet).replace('{', `{"id":${id},`);

const list = (pets: readonly Pet[], told: Told = {}) =>
  response({ request: listPets(key), body: `[${pets.map(text).join()}]`, ...told });
const got = (pet: Pet, told: Told = {}) => response({ request: getPet(key, pet.id), body: text(pet), ...told });
const made = (sent: NewPet, shown: Pet, told: Told = {}) =>
  response({ request: createPet(key, sent), status: 201, body: text(shown), ...told });

/** A history that has had these responses. */
function after(...responses: readonly ReturnType<typeof response>[]): History {
  const history = new History();
  for (const one of responses) history.add(one);
  return history;
}

describe('seen before', () => {
  const pet = { id: 7n, ...bello };

  test('is what had been shown when the request was sent, not what came while it was under way', () => {
    const history = after(list([pet], { turns: [1, 4] }));
    assert.equal(history.seenBefore(7n, made(bello, pet, { turns: [2, 5] })), false, 'sent before the list came');
    assert.equal(history.seenBefore(7n, made(bello, pet, { turns: [3, 9] })), false, 'whenever its response comes');
    assert.equal(history.seenBefore(7n, made(bello, pet, { turns: [5, 6] })), true);
    assert.equal(history.seenBefore(8n, made(bello, pet, { turns: [5, 6] })), false, 'another animal');
  });

  test('has an order within one millisecond', () => {
    const history = after(list([pet], { at: start, turns: [1, 2] }));
    assert.equal(history.seenBefore(7n, made(bello, pet, { at: start, turns: [3, 4] })), true);
  });

  test('counts from the first response that showed it, be it of a list, a get or a create', () => {
    for (const first of [
      list([pet], { turns: [1, 2] }),
      got(pet, { turns: [1, 2] }),
      made(bello, pet, { turns: [1, 2] }),
    ]) {
      const history = after(first, list([pet], { turns: [5, 6] }), got(pet, { turns: [7, 8] }));
      assert.equal(history.seenBefore(7n, made(bello, pet, { turns: [3, 4] })), true);
    }
  });
});

describe('how many there are', () => {
  test('a status is not forgotten when a later response shows none', () => {
    const history = after(
      list([
        { id: 7n, ...bello, status: 'sold' },
        { id: 8n, ...bello },
      ]),
      got({ id: 7n, ...bello }),
      list([{ id: 7n, ...bello }]),
    );
    assert.deepEqual([history.count('sold'), history.count('available'), history.count()], [1, 0, 2]);
    assert.equal(history.statuses(), 1);
  });

  test('a status that moves is the last one shown', () => {
    const history = after(list([{ id: 7n, ...bello, status: 'available' }]), got({ id: 7n, ...bello, status: 'sold' }));
    assert.deepEqual([history.count('sold'), history.count('available'), history.count()], [1, 0, 1]);
  });

  test('one that was created with a status has it, where the server shows none', () => {
    const history = after(made({ ...bello, status: 'pending' }, { id: 7n, ...bello }));
    assert.equal(history.count('pending'), 1);
    history.add(got({ id: 7n, ...bello, status: 'sold' }));
    assert.deepEqual([history.count('pending'), history.count('sold')], [0, 1]);
  });

  test('ids are sorted as numbers, beyond 2^53 too; creates are kept in their order', () => {
    const ids = [2n ** 53n + 1n, 9n, 2n ** 53n, -1n, 10n];
    const history = after(...ids.map((id) => made(bello, { id, ...bello })));
    assert.deepEqual(history.ids(), [-1n, 9n, 10n, 2n ** 53n, 2n ** 53n + 1n]);
    assert.deepEqual(history.createdIds(), ids);
  });

  test('only what a list has shown counts as listed, and its category as known', () => {
    const history = after(
      made(bello, { id: 7n, ...bello }),
      got({ id: 7n, ...bello }),
      list([{ id: 8n, ...bello, categoryId: 5n }]),
    );
    assert.equal(history.listed(7n), undefined);
    assert.equal(history.listed(8n)?.categoryId, 5n);
    assert.deepEqual(history.categories(), [5n]);
  });
});

describe('an animal differs', () => {
  const sent: NewPet = { name: 'Bello', categoryId: 3n, status: 'available' };
  const answered: Pet = { id: 7n, name: 'bello', categoryId: 4n, status: 'available' };

  test('from what was created only where it is neither as it was sent nor as the 201 has shown it', () => {
    const history = after(made(sent, answered));
    assert.equal(history.differs({ ...sent, id: 7n }), false, 'as sent');
    assert.equal(history.differs(answered), false, 'as answered');
    for (const shown of [
      { ...answered, name: 'BELLO' },
      { ...answered, categoryId: 5n },
      { ...sent, id: 7n, name: 'Bello ' },
      { ...sent, id: 7n, categoryId: 2n },
      { ...sent, id: 7n, categoryId: 4n }, // half of each
    ])
      assert.equal(history.differs(shown), true, `${shown.name} ${shown.categoryId}`);
  });

  test('never by its status, which may move, and not where this run has not created it', () => {
    const history = after(made(sent, answered), list([{ id: 8n, ...bello }]));
    assert.equal(history.differs({ ...answered, status: 'sold' }), false);
    assert.equal(history.differs({ id: 8n, name: 'Luna', categoryId: 1n }), false);
  });

  test('what was sent is known by its id, and completed by the 201', () => {
    const history = after(made(bello, answered));
    assert.deepEqual(history.created(7n), { ...answered, ...bello });
    assert.equal(history.created(8n), undefined);
  });
});

describe('the headers that are kept', () => {
  const rates = { limit: 60, remaining: 59, reset: Math.ceil(start / 1000) };

  test('hold few bytes, and what is worth showing of the response', () => {
    const head = `[{"id":1,"name":"`;
    const history = after(
      ...Array.from({ length: 3 }, () =>
        response({ ...rates, body: Buffer.from(`${head}${'x'.repeat(1_000_000)}","categoryId":1}]`) }),
      ),
    );
    assert.equal(history.readings.length, 3);
    for (const { response } of history.readings) {
      assert.ok(response.body.buffer.byteLength <= 16_384, `${response.body.buffer.byteLength} bytes stay alive`);
      assert.ok(response.body.length >= 2_000 && Buffer.from(response.body).toString().startsWith(head));
      assert.equal(response.integer('x-ratelimit-remaining'), 59);
    }
  });

  test('a small body is kept whole, with the times of its response', () => {
    const whole = list([{ id: 7n, ...bello }], { ...rates, turns: [3, 8] });
    const [kept] = after(whole).readings;
    assert.deepEqual(Buffer.from(kept!.response.body), Buffer.from(whole.body));
    assert.deepEqual([kept!.response.sentTurn, kept!.response.receivedTurn, kept!.response.receivedAt], [3, 8, start]);
  });
});
