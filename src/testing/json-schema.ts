/**
 * A JSON Schema validator, as far as our OpenAPI document needs one.
 *
 * It knows the keywords that the document uses, and throws on any other: a rule that it cannot check must not look like
 * a rule that was kept. The only numbers it knows are int64. Schema and value are both what readJson made of them.
 */
import { int64OfJsonNumber } from '../domain/int64.ts';
import { JsonArray, JsonNumber, JsonObject } from '../json/read.ts';
import type { JsonValue } from '../json/read.ts';

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

export class JsonSchemaValidator {
  readonly #lookUp: (pointer: string) => JsonValue;

  /** `lookUp` gives the schema that a `$ref` refers to. */
  constructor(lookUp: (pointer: string) => JsonValue) {
    this.#lookUp = lookUp;
  }

  /** How the value breaks its schema; nothing if it keeps to it. `at` says where the value stands. */
  errors(schema: JsonValue, value: JsonValue, at: string): string[] {
    if (schema === true) return [];
    return [...record(schema)].flatMap(([keyword, rule]) => this.#keywordErrors(record(schema), keyword, rule, value, at));
  }

  #keywordErrors(
    schema: ReadonlyMap<string, JsonValue>, keyword: string, rule: JsonValue, value: JsonValue, at: string,
  ): string[] {
    const unless = (good: boolean, error: string): string[] => (good ? [] : [`${at} ${error}`]);
    const number = value instanceof JsonNumber ? int64OfJsonNumber(value.text) : undefined; // null: no int64
    const string = typeof value === 'string' ? value : undefined;
    const items = value instanceof JsonArray ? value.items : [];
    const members = value instanceof JsonObject ? value.members : undefined;
    switch (keyword) {
      case 'title': case 'description': case 'default': case 'examples':
        return [];
      case '$ref':
        return this.errors(this.#lookUp(text(rule)), value, at);
      case 'type':
        return unless(isOfType(text(rule), value), `is not of type ${text(rule)}: ${show(value)}`);
      case 'enum':
        return unless(list(rule).some((one) => same(one, value)), `is none of the values allowed: ${show(value)}`);
      case 'const':
        return unless(same(rule, value), `is not ${show(rule)}: ${show(value)}`);
      case 'minimum':
        return unless(number === undefined || (number ?? -Infinity) >= integer(rule), `is below ${show(rule)}: ${show(value)}`);
      case 'maximum':
        return unless(number === undefined || (number ?? Infinity) <= integer(rule), `is above ${show(rule)}: ${show(value)}`);
      case 'format':
        return unless(hasFormat(text(rule), value), `is not in the format ${text(rule)}: ${show(value)}`);
      case 'pattern':
        return unless(string === undefined || new RegExp(text(rule), 'u').test(string), `does not match ${text(rule)}: ${show(value)}`);
      case 'minLength':
        return unless(string === undefined || [...string].length >= integer(rule), `is shorter than ${show(rule)}: ${show(value)}`);
      case 'maxItems':
        return unless(items.length <= integer(rule), `has more than ${show(rule)} items`);
      case 'items':
        return items.flatMap((item, index) => this.errors(rule, item, `${at}/${index}`));
      case 'required':
        return list(rule).flatMap((name) => unless(members?.has(text(name)) ?? true, `has no ${text(name)}`));
      case 'properties':
        return [...record(rule)].flatMap(([name, property]) => {
          const part = members?.get(name);
          return part === undefined ? [] : this.errors(property, part, `${at}/${name}`);
        });
      case 'additionalProperties': {
        const known = schema.get('properties');
        const others = [...(members ?? [])].filter(([name]) => member(known, name) === undefined);
        return others.flatMap(([name, part]) => rule === false ? unless(false, `has ${name}, which is not documented`)
          : this.errors(rule, part, `${at}/${name}`));
      }
      default:
        return fail(`the validator does not know the keyword ${keyword}`);
    }
  }
}

function isOfType(type: string, value: JsonValue): boolean {
  switch (type) {
    case 'object': return value instanceof JsonObject;
    case 'array': return value instanceof JsonArray;
    case 'integer': return value instanceof JsonNumber && int64OfJsonNumber(value.text) !== null;
    case 'string': case 'boolean': return typeof value === type;
    default: return fail(`the validator does not know the type ${type}`);
  }
}

function hasFormat(format: string, value: JsonValue): boolean {
  const number = value instanceof JsonNumber ? int64OfJsonNumber(value.text) : undefined;
  switch (format) {
    case 'int32': return number === undefined || (number !== null && BigInt.asIntN(32, number) === number);
    case 'int64': return number !== null;
    case 'date-time': return typeof value !== 'string' || (dateTime.test(value) && !Number.isNaN(Date.parse(value)));
    default: return fail(`the validator does not know the format ${format}`);
  }
}

function same(a: JsonValue, b: JsonValue): boolean {
  return a instanceof JsonNumber && b instanceof JsonNumber ? integer(a) === int64OfJsonNumber(b.text) : a === b;
}

function show(value: JsonValue): string {
  if (value instanceof JsonNumber) return value.text;
  if (value instanceof JsonObject) return '{…}';
  return value instanceof JsonArray ? '[…]' : JSON.stringify(value);
}

/** The member of that name, if the value is an object and has one. */
export function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value instanceof JsonObject ? value.get(name) : undefined;
}

// What the document itself must be, or the check cannot go on.
export const record = (value: JsonValue) => (value instanceof JsonObject ? value.members : fail(`${show(value)} is no object`));
export const list = (value: JsonValue) => (value instanceof JsonArray ? value.items : fail(`${show(value)} is no array`));
export const text = (value: JsonValue) => (typeof value === 'string' ? value : fail(`${show(value)} is no string`));
const integer = (value: JsonValue) =>
  (value instanceof JsonNumber ? int64OfJsonNumber(value.text) : null) ?? fail(`${show(value)} is no integer`);

/** The document is at fault, or asks for more than is known here. */
export function fail(why: string): never {
  throw new Error(`The OpenAPI document cannot be checked: ${why}.`);
}
