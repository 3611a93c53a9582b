/**
 * Conforming servers that fill the gaps of the specification each in another way. None may fail the kit: whatever they do
 * differently from `base` is left open.
 */
import { base, statuses, type Answer, type Exchange, type Hooks, type Pet, type Rates, type Usage } from './hooks.ts';
import { Digits, type Json, type JsonObject } from './json.ts';

export interface Variant {
  readonly id: string;
  /** How it fills the gaps. */
  readonly text: string;
  readonly hooks: Partial<Hooks>;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

const strict: Variant = {
  id: 'strict',
  text:
    'Refuses every borderline value; knows categories 1 to 5 only; other content types are 415; unknown paths are 404 before the key is looked at; ' +
    'a 429 has no body, and an HTTP date in Retry-After; oldest first; without a key the three headers are 0, 0 and the next minute.',
  hooks: {
    order: (pets) => pets,
    accepts: (body, text, { contentType }) =>
      /^application\/json\s*(;|$)/i.test(contentType) &&
      [...body.keys()].every((name) => ['name', 'categoryId', 'status'].includes(name)) &&
      fieldsIn(text) === body.size,
    name: (value) =>
      typeof value === 'string' && /^[^\p{Cc}\p{Cs}]{1,100}$/u.test(value) && value.trim() !== '' ? value : undefined,
    category: (value) => (value instanceof Digits && /^[1-5]$/.test(value.text) ? value.text : undefined),
    retryAfter: (ms, { now }) => new Date(Math.ceil((now + ms) / 1000) * 1000).toUTCString(),
    keyless: ({ now }) => ({ limit: 0, remaining: 0, resetMs: (Math.floor(now / minuteMs) + 1) * minuteMs }),
    answer: (answer, exchange) => {
      if (answer.status === 429) {
        answer.body = undefined;
        answer.headers = answer.headers.filter(([name]) => name !== 'Content-Type');
      }
      if (answer.status === 400 && exchange.operation === 'create' && !/^application\/json\s*(;|$)/i.test(exchange.contentType)) {
        Object.assign(answer, { status: 415, body: base.error(415, 'Send application/json.', exchange) });
      }
      if (answer.status === 401) {
        if (exchange.operation === 'other') {
          Object.assign(answer, { status: 404, body: base.error(404, 'There is no such path.', exchange) });
        } else {
          answer.headers.push(['WWW-Authenticate', 'Bearer realm="pets"']);
        }
      }
      return answer;
    },
  },
};

const lax: Variant = {
  id: 'lax',
  text:
    'Clamps limits and ignores what it does not know; takes 1.0 for 1, any case of the scheme, a BOM, any content type; ' +
    'a 429 has a shape of its own; extra fields in Pet and Error; no status where none was given; ' +
    'ids beyond 2^53; orders are an object; sorted by name; Location on a 201.',
  hooks: {
    admits: ({ authorization }, secret) => /^bearer +(.*)$/is.exec(authorization)?.[1] === secret,
    limit: (text) => {
      const limit = text === null || !/^-?\d+$/.test(text) ? 20 : Number(text);
      return Math.min(100, Math.max(1, limit));
    },
    filter: (text) => (text !== null && statuses.includes(text) ? text : ''),
    order: (pets) => pets.toSorted((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0)),
    text: (bytes) => base.text(bytes)?.replace(/^\ufeff/, ''),
    category: (value, exchange) => {
      // A fraction of zeros only is no fraction.
      const whole = value instanceof Digits ? /^(-?\d+)\.0+$/.exec(value.text)?.[1] : undefined;
      return base.category(whole === undefined ? value : new Digits(whole), exchange);
    },
    status: (value, exchange) => (value === undefined ? '' : base.status(value, exchange)),
    newId: (_pet, { world }) => String(2n ** 53n + 7n * world.nextId++),
    show: (pet, exchange) => {
      const fields: JsonObject = new Map<string, Json>([
        ['object', 'pet'],
        ...base.show(pet, exchange),
        ['tags', []],
        ['owner', null],
        ['weight', new Digits('1.50e1')],
        [
          'created',
          new Map<string, Json>([
            ['at', new Digits(String(pet.at))],
            ['by', 'id: 7, name: "x"'],
          ]),
        ],
      ]);
      if (pet.status === '') fields.delete('status');
      return fields;
    },
    orders: () =>
      new Map<string, Json>([
        ['orders', []],
        ['total', new Digits('0')],
      ]),
    error: (status, message, exchange) =>
      status === 429
        ? new Map<string, Json>([
            ['retry', true],
            ['status', 'slow down'],
          ])
        : new Map<string, Json>([['type', 'about:blank'], ...errorFields(status, message, exchange), ['details', []]]),
    answer: (answer) => {
      const id = answer.status === 201 && answer.body instanceof Map ? answer.body.get('id') : undefined;
      if (id instanceof Digits) answer.headers.push(['Location', `/v1/pets/${id.text}`]);
      answer.headers = answer.headers.map(([name, value]) => [
        name.toLowerCase(),
        name === 'Content-Type' ? `${value}; charset=utf-8` : value,
      ]);
      return answer;
    },
  },
};

const sliding: Variant = {
  id: 'sliding',
  text:
    'A sliding minute, and headers that speak of it only; Reset moves, and is when the whole budget is back; ' +
    'every character beyond ASCII is escaped in bodies, with white space between tokens.',
  hooks: {
    left: (usage, limits, { now }) => {
      usage.times = usage.times.filter((time) => time > now - minuteMs);
      const ofDay = dayOf(usage, limits.day, now);
      const remaining = ofDay.remaining <= 0 ? 0 : limits.minute - usage.times.length;
      const last = usage.times.at(-1) ?? now;
      // A refused key waits for the oldest request to leave the window; the others read when all will have left it.
      const resetMs = ofDay.remaining <= 0 ? ofDay.resetMs : (remaining > 0 ? last : (usage.times[0] ?? now)) + minuteMs;
      return { limit: limits.minute, remaining, resetMs };
    },
    count: (usage, { now }) => {
      usage.times.push(now);
      usage.dayUsed += 1;
    },
    bytes: (text) =>
      Buffer.from(
        text
          .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`)
          // Between tokens only: strings are skipped whole.
          .replace(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g, (token) => (token.startsWith('"') ? token : ` ${token}\n\t`)),
      ),
  },
};

const replica: Variant = {
  id: 'replica',
  text:
    'List and get lag behind a create by up to 2 s; at most 10 animals a page; every list in another order; ' +
    'a status moves by itself, after 20 s to pending and after 40 s to sold; every Pet has a UUID.',
  hooks: {
    visible: seenByReplica,
    find: (id, exchange) => {
      const found = base.find(id, exchange);
      return found && seenByReplica(found, exchange) ? found : undefined;
    },
    order: (pets, { world }) => {
      const rank = (pet: Pet): number => Number((BigInt(pet.id) * 7919n + BigInt(world.lists) * 104_729n) % 1009n);
      return pets.toSorted((one, other) => rank(one) - rank(other));
    },
    fits: (pet, status, exchange) => status === '' || movedStatus(pet, exchange) === status,
    page: (rows, limit) => rows.slice(0, Math.min(limit, 10)),
    show: (pet, exchange) =>
      base
        .show({ ...pet, status: movedStatus(pet, exchange) }, exchange)
        .set('uuid', `00000000-0000-4000-8000-${pet.id.padStart(12, '0')}`),
  },
};

const day: Variant = {
  id: 'day',
  text:
    'Oldest first; the headers always speak of the day, though the minute is enforced too, and Retry-After speaks of the one that refused; ' +
    'HEAD and OPTIONS answer 204.',
  hooks: {
    order: (pets) => pets,
    left: (usage, limits, exchange) => {
      // The conforming decision is kept for `admitted` and Retry-After; what is told is put right in `answer`.
      const rates = base.left(usage, limits, exchange);
      const ofDay = dayOf(usage, limits.day, exchange.now);
      exchange.world.notes.set('day', [ofDay.limit, Math.max(0, ofDay.remaining), Math.ceil(ofDay.resetMs / 1000)].join());
      return rates;
    },
    answer: (answer, { world, method }) => {
      const told = world.notes.get('day')?.split(',');
      world.notes.delete('day');
      if (told !== undefined) {
        const [limit = '', remaining = '', reset = ''] = told;
        tell(answer, limit, remaining, reset);
      }
      if ((method === 'HEAD' || method === 'OPTIONS') && answer.status === 405) {
        Object.assign(answer, { status: 204, body: undefined });
      }
      return answer;
    },
  },
};

const after2030: Variant = {
  id: 'after 2030',
  text: 'Its clock is beyond 5 December 2030, and get answers 410 to every valid key; limits out of range are 422; unknown paths are 403.',
  hooks: {
    time: (now, { notes }) => {
      const start = Date.UTC(2031, 0, 1);
      if (now >= start) return now;
      const began = Number(notes.get('began') ?? now);
      notes.set('began', String(began));
      // The seconds of the day stay as they were, so that a window ends when it would have.
      return now + Math.ceil((start - began) / dayMs) * dayMs;
    },
    answer: (answer, exchange) => {
      if (answer.status === 401 || answer.status === 429) return answer;
      if (exchange.operation === 'get') {
        Object.assign(answer, { status: 410, body: base.error(410, 'This operation has been removed.', exchange) });
      } else if (exchange.operation === 'list' && answer.status === 400) {
        Object.assign(answer, { status: 422, body: base.error(422, 'limit or status is invalid.', exchange) });
      } else if (exchange.operation === 'other') {
        Object.assign(answer, { status: 403, body: base.error(403, 'There is nothing for you here.', exchange) });
      }
      return answer;
    },
  },
};

const firstRequest: Variant = {
  id: 'first request',
  text:
    'A window begins with the first request after the last one, and lasts 60 s; ' +
    'requests without a key count down a budget of their own, which never refuses; ' +
    'a 429 has an array as its body; list has Link, get has Deprecation and Sunset.',
  hooks: {
    left: (usage, limits, { now }) => {
      const [began = now] = usage.times;
      if (usage.times.length === 0 || now >= began + minuteMs) Object.assign(usage, { times: [now], minuteUsed: 0 });
      const start = usage.times[0] ?? now;
      const ofMinute: Rates = { limit: limits.minute, remaining: limits.minute - usage.minuteUsed, resetMs: start + minuteMs };
      const ofDay = dayOf(usage, limits.day, now);
      return ofDay.remaining <= 0 || ofDay.remaining < ofMinute.remaining ? ofDay : ofMinute;
    },
    keyless: ({ now, world }) => {
      const minute = Math.floor(now / minuteMs);
      const used = Number(world.notes.get(`keyless ${minute}`) ?? 0) + 1;
      world.notes.set(`keyless ${minute}`, String(used));
      return { limit: 30, remaining: 30 - used, resetMs: (minute + 1) * minuteMs };
    },
    answer: (answer, { operation }) => {
      if (answer.status === 429) answer.body = ['slow', 'down'];
      if (operation === 'list') answer.headers.push(['Link', '</v1/pets?page=2>; rel="next"']);
      if (operation === 'get') answer.headers.push(['Deprecation', 'true'], ['Sunset', 'Thu, 05 Dec 2030 00:00:00 GMT']);
      return answer;
    },
  },
};

export const variants: readonly Variant[] = [strict, lax, sliding, replica, day, after2030, firstRequest];

/** How many fields the objects of a JSON text give, each as often as it is given. */
function fieldsIn(text: string): number {
  return [...text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g)].filter(([, colon]) => colon !== undefined).length;
}

function errorFields(status: number, message: string, exchange: Exchange): JsonObject {
  const error = base.error(status, message, exchange);
  return error instanceof Map ? error : new Map();
}

function dayOf(usage: Usage, limit: number, now: number): Rates {
  const today = Math.floor(now / dayMs);
  if (usage.day !== today) Object.assign(usage, { day: today, dayUsed: 0 });
  return { limit, remaining: limit - usage.dayUsed, resetMs: (today + 1) * dayMs };
}

function seenByReplica(pet: Pet, { now }: Exchange): boolean {
  return pet.at === 0 || now >= pet.at + Number((BigInt(pet.id) * 700n) % 2001n);
}

function movedStatus(pet: Pet, { now }: Exchange): string {
  // What was there from the start stays as it is, so that there is something of every status.
  if (pet.at === 0) return pet.status;
  const [ageMs, at] = [now - pet.at, statuses.indexOf(pet.status)];
  return statuses[Math.min(2, at + (ageMs >= 40_000 ? 2 : ageMs >= 20_000 ? 1 : 0))] ?? pet.status;
}

function tell(answer: Answer, limit: string, remaining: string, reset: string): void {
  const told = new Map([
    ['X-RateLimit-Limit', limit],
    ['X-RateLimit-Remaining', remaining],
    ['X-RateLimit-Reset', reset],
  ]);
  answer.headers = answer.headers.map(([name, value]) => [name, told.get(name) ?? value]);
}
