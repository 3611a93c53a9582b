/** Section 4.2: values of a wrong type or out of range, which createPet accepts. */
import { statuses } from '../server/hooks.ts';
import { Digits, type Json } from '../server/json.ts';
import { categoryFrom, failing, nameFrom, noting, statusFrom, table, type Change } from './changes.ts';

const digitsOf = (value: Json | undefined): string => (value instanceof Digits ? value.text : '');
const knownStatus = (text: string): string | undefined => statuses.find((status) => status === text);

/** Accepts numbers that `convert` can convert from their digits. */
const categoryDigits = (convert: (digits: string) => bigint | undefined): Change =>
  categoryFrom((value) => convert(digitsOf(value)));

/** Accepts strings that `convert` can convert. */
const statusText = (convert: (text: string) => string | undefined): Change =>
  statusFrom((value) => (typeof value === 'string' ? convert(value) : undefined));

export const valueMutants = table([
  ['create-name-number', 'create.wrong-type', 'A number is accepted as a name.',
    nameFrom((value) => (value instanceof Digits ? value.text : undefined))],
  ['create-name-boolean', 'create.wrong-type', 'A boolean is accepted as a name.',
    nameFrom((value) => (typeof value === 'boolean' ? String(value) : undefined))],
  ['create-name-array', 'create.wrong-type', 'An array with one string is accepted as a name.',
    nameFrom((value) =>
      Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' ? value[0] : undefined)],
  ['create-name-object', 'create.wrong-type', 'An object is accepted as a name, as [object Object].',
    nameFrom((value) => (value instanceof Map ? '[object Object]' : undefined))],
  ['create-category-string', 'create.wrong-type', 'A string of digits is accepted as a categoryId.',
    categoryFrom((value) => (typeof value === 'string' && /^-?\d{1,18}$/.test(value) ? BigInt(value) : undefined))],
  ['create-category-boolean', 'create.wrong-type', 'true is accepted as a categoryId, as 1.',
    categoryFrom((value) => (value === true ? 1n : undefined))],
  ['create-category-array', 'create.wrong-type', 'An empty array is accepted as a categoryId, as 0.',
    categoryFrom((value) => (Array.isArray(value) && value.length === 0 ? 0n : undefined))],
  ['create-category-word', 'create.wrong-type', 'An empty string is accepted as a categoryId, as 0.',
    categoryFrom((value) => (value === '' ? 0n : undefined))],
  ['create-status-number', 'create.wrong-type', 'A number from 0 to 2 is accepted as a status.',
    statusFrom((value) => statuses[Number(digitsOf(value) || '3')])],
  ['create-status-array', 'create.wrong-type', 'An array with a status is accepted as a status.',
    statusFrom((value) =>
      Array.isArray(value) && typeof value[0] === 'string' ? knownStatus(value[0]) : undefined)],
  ['create-status-false', 'create.wrong-type', 'false is accepted as a status, as if there were none.',
    statusFrom((value) => (value === false ? 'available' : undefined))],
  ['create-status-object-500', 'create.wrong-type', 'An object as a status gets 500.',
    {
      ...noting('status', (value) => value instanceof Map, 'object'),
      ...failing((_response, { world }) => world.notes.delete('object'), 500, 'Internal error.'),
    }],

  ['create-status-case', 'create.unknown-status', 'A status in upper case is accepted.',
    statusText((text) => knownStatus(text.toLowerCase()))],
  ['create-status-trimmed', 'create.unknown-status', 'A status with spaces around it is accepted.',
    statusText((text) => knownStatus(text.trim()))],
  ['create-status-prefix', 'create.unknown-status', 'A status without its last letter is accepted.',
    statusText((text) => statuses.find((status) => status.slice(0, -1) === text))],
  ['create-status-longer', 'create.unknown-status', 'Text after a status is ignored.',
    statusText((text) => statuses.find((status) => text.startsWith(status)))],
  ['create-status-unknown', 'create.unknown-status', 'An unknown status becomes available.',
    statusText(() => 'available')],
  ['create-status-empty', 'create.unknown-status', 'An empty status is accepted, as if there were none.',
    statusText((text) => (text === '' ? 'available' : undefined))],
  ['create-status-long', 'create.unknown-status', 'An unknown status of more than 20 characters becomes available.',
    statusText((text) => (text.length > 20 ? 'available' : undefined))],

  ['create-int64-max', 'create.int64-range', 'The categoryId 2^63 is accepted.',
    categoryDigits((digits) => (digits === '9223372036854775808' ? 2n ** 63n - 1n : undefined))],
  ['create-int64-min', 'create.int64-range', 'The categoryId -2^63 - 1 is accepted.',
    categoryDigits((digits) => (digits === '-9223372036854775809' ? -(2n ** 63n) : undefined))],
  ['create-int64-wraps', 'create.int64-range', 'A categoryId of more than 19 digits is truncated to 64 bits.',
    categoryDigits((digits) => (/^-?\d{20,}$/.test(digits) ? BigInt(digits) : undefined))],
  ['create-int64-exponent', 'create.int64-range', 'A categoryId beyond 64 bits with an exponent is accepted: 1e19.',
    categoryDigits((digits) =>
      /e/i.test(digits) && Math.abs(Number(digits)) >= 2 ** 63 ? 2n ** 63n - 1n : undefined)],

  ['create-fraction-cut', 'create.fraction', 'The fraction of a categoryId is cut off.',
    categoryDigits((digits) => (/^-?\d+\.\d+$/.test(digits) ? BigInt(digits.replace(/\..*/, '')) : undefined))],
  ['create-fraction-small', 'create.fraction', 'A fraction too small for a 32-bit float is ignored.',
    categoryDigits((digits) => {
      const number = digits.includes('.') ? Math.fround(Number(digits)) : NaN;
      return Number.isSafeInteger(number) ? BigInt(number) : undefined;
    })],
  ['create-fraction-exponent', 'create.fraction', 'A categoryId with a negative exponent, such as 15e-1, is rounded.',
    categoryDigits((digits) => (/e-/i.test(digits) ? BigInt(Math.round(Number(digits))) : undefined))],
  ['create-fraction-negative', 'create.fraction', 'A negative categoryId with a fraction is rounded up.',
    categoryDigits((digits) =>
      /^-\d{1,15}\.\d+$/.test(digits) ? BigInt(Math.ceil(Number(digits))) : undefined)],
]);
