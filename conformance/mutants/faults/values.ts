/** Which values of a wrong type, or out of range, create accepts: section 4.2. */
import { base, statuses } from '../hooks.ts';
import { Digits, type Json } from '../json.ts';
import { answers, categoryFrom, nameFrom, statusFrom, type Fault } from './fault.ts';

const digitsOf = (value: Json | undefined): string => (value instanceof Digits ? value.text : '');
const knownStatus = (text: string): string | undefined => statuses.find((status) => status === text);

export const valueFaults: readonly Fault[] = [
  {
    id: 'create-name-number',
    requirement: 'create.wrong-type',
    text: 'A number is accepted as a name.',
    shares: 'name type',
    hooks: nameFrom((value) => (value instanceof Digits ? value.text : undefined)),
  },
  {
    id: 'create-name-boolean',
    requirement: 'create.wrong-type',
    text: 'A boolean is accepted as a name.',
    shares: 'name type',
    hooks: nameFrom((value) => (typeof value === 'boolean' ? String(value) : undefined)),
  },
  {
    id: 'create-name-array',
    requirement: 'create.wrong-type',
    text: 'An array with one string is accepted as a name.',
    shares: 'name type',
    hooks: nameFrom((value) =>
      Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' ? value[0] : undefined,
    ),
  },
  {
    id: 'create-name-object',
    requirement: 'create.wrong-type',
    text: 'An object is accepted as a name, as [object Object].',
    shares: 'name type',
    hooks: nameFrom((value) => (value instanceof Map ? '[object Object]' : undefined)),
  },
  {
    id: 'create-category-string',
    requirement: 'create.wrong-type',
    text: 'A string of digits is accepted as a categoryId.',
    shares: 'category type',
    hooks: categoryFrom((value) => (typeof value === 'string' && /^-?\d{1,18}$/.test(value) ? BigInt(value) : undefined)),
  },
  {
    id: 'create-category-boolean',
    requirement: 'create.wrong-type',
    text: 'true is accepted as a categoryId, as 1.',
    shares: 'category type',
    hooks: categoryFrom((value) => (value === true ? 1n : undefined)),
  },
  {
    id: 'create-category-array',
    requirement: 'create.wrong-type',
    text: 'An empty array is accepted as a categoryId, as 0.',
    shares: 'category type',
    hooks: categoryFrom((value) => (Array.isArray(value) && value.length === 0 ? 0n : undefined)),
  },
  {
    id: 'create-category-word',
    requirement: 'create.wrong-type',
    text: 'An empty string is accepted as a categoryId, as 0.',
    shares: 'category type',
    hooks: categoryFrom((value) => (value === '' ? 0n : undefined)),
  },
  {
    id: 'create-status-number',
    requirement: 'create.wrong-type',
    text: 'A number from 0 to 2 is accepted as a status.',
    shares: 'status type',
    hooks: statusFrom((value) => statuses[Number(digitsOf(value) || '3')]),
  },
  {
    id: 'create-status-array',
    requirement: 'create.wrong-type',
    text: 'An array with a status is accepted as a status.',
    shares: 'status type',
    hooks: statusFrom((value) => (Array.isArray(value) && typeof value[0] === 'string' ? knownStatus(value[0]) : undefined)),
  },
  {
    id: 'create-status-false',
    requirement: 'create.wrong-type',
    text: 'false as a status is taken as none.',
    shares: 'status type',
    hooks: statusFrom((value) => (value === false ? 'available' : undefined)),
  },
  {
    id: 'create-status-object-500',
    requirement: 'create.wrong-type',
    text: 'An object as a status is answered with 500.',
    hooks: {
      status: (value, exchange) => {
        if (value instanceof Map) exchange.world.notes.set('object', 'yes');
        return base.status(value, exchange);
      },
      ...answers(
        (_answer, { world }) => world.notes.delete('object'),
        (answer, exchange) => Object.assign(answer, { status: 500, body: base.error(500, 'Internal error.', exchange) }),
      ),
    },
  },
  {
    id: 'create-status-case',
    requirement: 'create.unknown-status',
    text: 'A status in upper case is accepted.',
    shares: 'status near miss',
    hooks: statusFrom((value) => (typeof value === 'string' ? knownStatus(value.toLowerCase()) : undefined)),
  },
  {
    id: 'create-status-trimmed',
    requirement: 'create.unknown-status',
    text: 'A status with spaces around it is accepted.',
    shares: 'status near miss',
    hooks: statusFrom((value) => (typeof value === 'string' ? knownStatus(value.trim()) : undefined)),
  },
  {
    id: 'create-status-prefix',
    requirement: 'create.unknown-status',
    text: 'A status that lacks its last letter is accepted.',
    shares: 'status near miss',
    hooks: statusFrom((value) =>
      typeof value === 'string' ? statuses.find((status) => status.slice(0, -1) === value) : undefined,
    ),
  },
  {
    id: 'create-status-longer',
    requirement: 'create.unknown-status',
    text: 'Whatever follows a status is ignored.',
    shares: 'status near miss',
    hooks: statusFrom((value) => (typeof value === 'string' ? statuses.find((status) => value.startsWith(status)) : undefined)),
  },
  {
    id: 'create-status-unknown',
    requirement: 'create.unknown-status',
    text: 'An unknown status becomes available.',
    shares: 'status unknown',
    hooks: statusFrom((value) => (typeof value === 'string' ? 'available' : undefined)),
  },
  {
    id: 'create-status-empty',
    requirement: 'create.unknown-status',
    text: 'An empty status is taken as none.',
    shares: 'status unknown',
    hooks: statusFrom((value) => (value === '' ? 'available' : undefined)),
  },
  {
    id: 'create-status-long',
    requirement: 'create.unknown-status',
    text: 'An unknown status of more than 20 characters becomes available.',
    shares: 'status unknown',
    hooks: statusFrom((value) => (typeof value === 'string' && value.length > 20 ? 'available' : undefined)),
  },
  {
    id: 'create-int64-max',
    requirement: 'create.int64-range',
    text: '2^63 is accepted as a categoryId.',
    shares: 'int64',
    hooks: categoryFrom((value) => (digitsOf(value) === '9223372036854775808' ? 2n ** 63n - 1n : undefined)),
  },
  {
    id: 'create-int64-min',
    requirement: 'create.int64-range',
    text: '-2^63 - 1 is accepted as a categoryId.',
    shares: 'int64',
    hooks: categoryFrom((value) => (digitsOf(value) === '-9223372036854775809' ? -(2n ** 63n) : undefined)),
  },
  {
    id: 'create-int64-wraps',
    requirement: 'create.int64-range',
    text: 'A categoryId of more than 19 digits is cut to 64 bits.',
    shares: 'int64',
    hooks: categoryFrom((value) => (/^-?\d{20,}$/.test(digitsOf(value)) ? BigInt(digitsOf(value)) : undefined)),
  },
  {
    id: 'create-int64-exponent',
    requirement: 'create.int64-range',
    text: 'A categoryId beyond 64 bits is accepted when it is written with an exponent, such as 1e19.',
    shares: 'int64',
    hooks: categoryFrom((value) =>
      /e/i.test(digitsOf(value)) && Math.abs(Number(digitsOf(value))) >= 2 ** 63 ? 2n ** 63n - 1n : undefined,
    ),
  },
  {
    id: 'create-fraction-cut',
    requirement: 'create.fraction',
    text: 'The fraction of a categoryId is cut off.',
    shares: 'fraction',
    hooks: categoryFrom((value) =>
      /^-?\d+\.\d+$/.test(digitsOf(value)) ? BigInt(digitsOf(value).replace(/\..*/, '')) : undefined,
    ),
  },
  {
    id: 'create-fraction-tiny',
    requirement: 'create.fraction',
    text: 'A fraction too small for a double is not seen.',
    shares: 'fraction',
    hooks: categoryFrom((value) => {
      const number = digitsOf(value).includes('.') ? Number(digitsOf(value)) : NaN;
      return Number.isSafeInteger(number) ? BigInt(number) : undefined;
    }),
  },
  {
    id: 'create-fraction-exponent',
    requirement: 'create.fraction',
    text: 'A categoryId with a negative exponent, such as 15e-1, is rounded.',
    shares: 'fraction',
    hooks: categoryFrom((value) => (/e-/i.test(digitsOf(value)) ? BigInt(Math.round(Number(digitsOf(value)))) : undefined)),
  },
  {
    id: 'create-fraction-negative',
    requirement: 'create.fraction',
    text: 'A negative categoryId with a fraction is rounded up.',
    shares: 'fraction',
    hooks: categoryFrom((value) =>
      /^-\d{1,15}\.\d+$/.test(digitsOf(value)) ? BigInt(Math.ceil(Number(digitsOf(value)))) : undefined,
    ),
  },
];
