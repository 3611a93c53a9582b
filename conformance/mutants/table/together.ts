/** Sections 2, 4 and 5: faults that show only while another request is under way, or only later in a run. */
import { base, type Exchange, type Pet } from '../server/hooks.ts';
import { Digits } from '../server/json.ts';
import { alsoAdmits, failing, found, setHeader, shown, table, type Change, type Kind } from './changes.ts';

/**
 * How many turns of the event loop, in which kit and server run both, a response is held back: enough for other requests
 * to arrive, on a busy machine, too.
 */
const heldTurns = 300;

function afterTurns(turns: number, then: () => void): void {
  if (turns === 0) then();
  else setImmediate(afterTurns, turns - 1, then);
}

const running = (kind: string, { world }: Exchange): number => Number(world.notes.get(`running ${kind}`) ?? 0);

/** Holds some responses back, and counts them meanwhile. */
function slow(kind: string, which: Kind): Change {
  const change = (exchange: Exchange, by: number) =>
    void exchange.world.notes.set(`running ${kind}`, String(running(kind, exchange) + by));
  return {
    response: (response, exchange) => {
      if (which(response, exchange)) {
        change(exchange, 1);
        setHeader(response, 'Slow', kind);
      }
      return response;
    },
    write: (to, status, headers, body, exchange) => {
      if (!headers.includes('Slow')) return base.write(to, status, headers, body, exchange);
      afterTurns(heldTurns, () => {
        change(exchange, -1);
        base.write(to, status, headers, body, exchange);
      });
    },
  };
}

const creates = slow('creates', ({ status }) => status === 201);
const gets = slow('gets', ({ status }, { operation }) => operation === 'get' && status === 200);
const lists = slow('lists', ({ status }, { operation }) => operation === 'list' && status === 200);
const admitted = slow('admitted', ({ status }) => status < 300);

/** The first of the requests of a kind that are under way decides. */
function ofFirst(kind: string, exchange: Exchange, value: () => string): string {
  const { notes } = exchange.world;
  const known = running(kind, exchange) > 0 ? notes.get(`first ${kind}`) : undefined;
  const first = known ?? value();
  notes.set(`first ${kind}`, first);
  return first;
}

/** The animals with these ids. */
const byIds = (ids: string, { world }: Exchange): Pet[] => ids.split(',').flatMap((id) => world.pets.get(id) ?? []);

/** getPet no longer finds some of the animals that were created. */
const gone = (isGone: (pet: Pet, exchange: Exchange) => boolean): Change =>
  found((pet, _id, exchange) => (pet !== undefined && pet.at > 0 && isGone(pet, exchange) ? undefined : pet));

export const togetherMutants = table([
  ['together-same-id', 'pet.unique-id', 'A create gets the id of another one that is under way.',
    {
      ...creates,
      newId: (pet, exchange) =>
        running('creates', exchange) > 0 ? String(exchange.world.nextId - 1n) : base.newId(pet, exchange),
    }],
  ['together-status-500', 'service.status', 'getPet gets 500 while another getPet is under way.',
    {
      ...gets,
      response: (response, exchange) => {
        const isBusy = exchange.operation === 'get' && running('gets', exchange) > 0;
        const failed = failing(() => isBusy, 500, 'Busy.').response!(response, exchange);
        return gets.response!(failed, exchange);
      },
    }],
  ['together-lost', 'animals.agree', 'Of creates at the same time, only the last one is stored.',
    {
      ...creates,
      keep: (pet, exchange) => {
        const { pets } = exchange.world;
        if (running('creates', exchange) > 0) pets.delete([...pets.keys()].at(-1) ?? '');
        return pet;
      },
    }],
  ['together-name-of-other', 'create.name', 'Creates at the same time return the name of the first of them.',
    {
      ...creates,
      ...shown('create', (fields, pet, exchange) => {
        fields.set('name', ofFirst('creates', exchange, () => pet.name));
      }),
    }],
  ['together-half-made', 'pet.name', 'While a create is under way, lists show its animal without a name.',
    {
      ...creates,
      keep: (pet, { world }) => {
        world.notes.set('half-made', pet.id);
        return pet;
      },
      ...shown('list', (fields, pet, exchange) => {
        if (running('creates', exchange) > 0 && exchange.world.notes.get('half-made') === pet.id)
          fields.set('name', null);
      }),
    }],
  ['together-get', 'get.answers', 'getPet returns the animal of another getPet that is under way.',
    {
      ...gets,
      ...found((pet, _id, exchange) =>
        pet === undefined ? undefined : byIds(ofFirst('gets', exchange, () => pet.id), exchange)[0]),
    }],
  ['together-list', 'list.status', 'A list returns the animals of another list that is under way.',
    {
      ...lists,
      page: (rows, limit, exchange) =>
        byIds(ofFirst('lists', exchange, () => base.page(rows, limit, exchange).map(({ id }) => id).join()), exchange),
    }],
  ['together-key', 'auth.missing', 'A request without a key is accepted while one with the key is under way.',
    {
      ...admitted,
      ...alsoAdmits((exchange) => exchange.authorization === '' && running('admitted', exchange) > 0),
    }],
  ['together-key-create', 'auth.missing', 'createPet needs no key while a list with the key is under way.',
    {
      ...lists,
      ...alsoAdmits((exchange) =>
        exchange.operation === 'create' && exchange.authorization === '' && running('lists', exchange) > 0),
    }],

  ['later-404-remembered', 'animals.agree', 'getPet of an id that it did not find returns 404 forever.',
    found((pet, id, { world }) => {
      if (pet === undefined) world.notes.set(`missing ${id}`, 'yes');
      return world.notes.has(`missing ${id}`) ? undefined : pet;
    })],
  ['later-30-kept', 'create.stored', 'getPet finds only the newest 30 animals that were created.',
    gone((pet, { world }) => BigInt(pet.id) < world.nextId - 30n)],
  ['later-gone', 'animals.agree', 'getPet finds an animal only until 400 more requests have arrived.',
    {
      newId: (pet, exchange) => {
        const id = base.newId(pet, exchange);
        exchange.world.notes.set(`made ${id}`, String(exchange.world.requests));
        return id;
      },
      ...gone((pet, { world }) => world.requests > Number(world.notes.get(`made ${pet.id}`)) + 400),
    }],
  ['later-category', 'create.stored', 'After 300 requests, getPet shows the category of created animals as 0.',
    shown('get', (fields, pet, { world }) => {
      if (pet.at > 0 && world.requests > 300) fields.set('categoryId', new Digits('0'));
    })],
  ['later-get-404-sold', 'get.answers', 'After 200 requests, getPet returns 404 for sold animals.',
    found((pet, _id, { world }) => (pet?.status === 'sold' && world.requests > 200 ? undefined : pet))],
  ['later-same-name-409', 'create.answers', 'A name that an animal already has gets 409.',
    failing(
      (response, { operation, body, world }) => {
        if (operation !== 'create' || response.status !== 201) return false;
        const name = `named ${/"name"\s*:\s*("[^"]*")/.exec(body)?.[1]}`;
        return world.notes.has(name) || (world.notes.set(name, 'yes'), false);
      },
      409, 'There is an animal with this name.')],
]);
