/**
 * A JSON Schema validator with the keywords that openapi.json uses.
 *
 * It throws an error on any other keyword, so that a value cannot pass a rule that was not checked. Numbers are int64.
 * Schema and value are both as readJson returns them.
 */
import { int64OfJsonNumber } from '../domain/int64.ts';
import { JsonArray, JsonNumber, JsonObject } from '../json/read.ts';
import type { JsonValue } from '../json/read.ts';

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

export class JsonSchemaValidator {
  readonly #lookUp: (pointer: string) => JsonValue;

  /** `lookUp` returns the schema that a `$ref` refers to. */
  constructor(lookUp: (pointer: string) => JsonValue) {
    this.#lookUp = lookUp;
  }

  /** Returns every way in which the value violates the schema. `at` is the location of the value, for the messages. */
  errors(schema: JsonValue, value: JsonValue, at: string): string[] {
    if (schema === true) return [];
    const keywords = record(schema);
    return [...keywords].flatMap(([keyword, rule]) => this.#keywordErrors(keywords, keyword, rule, value, at));
  }

  #keywordErrors(
    schema: ReadonlyMap<string, JsonValue>, keyword: string, rule: JsonValue, value: JsonValue, at: string,
  ): string[] {
    const unless = (valid: boolean, error: string): string[] => (valid ? [] : [`${at} ${error}`]);
    const number = value instanceof JsonNumber ? int64OfJsonNumber(value.text) : undefined; // null: not an int64
    const string = typeof value === 'string' ? value : undefined;
    const shown = show(value);
    const items = value instanceof JsonArray ? value.items : [];
    const members = value instanceof JsonObject ? value.members : undefined;
    switch (keyword) {
      case 'title': case 'description': case 'default': case 'examples':
        return [];
      case '$ref':
        return this.errors(this.#lookUp(text(rule)), value, at);
      case 'type':
        return unless(isOfType(text(rule), value), `is not of type ${text(rule)}: ${shown}`);
      case 'enum':
        return unless(list(rule).some((one) => same(one, value)), `is none of the values allowed: ${shown}`);
      case 'const':
        return unless(same(rule, value), `is not ${show(rule)}: ${shown}`);
      case 'minimum':
        return unless(
          number === undefined || (number ?? -Infinity) >= integer(rule), `is below ${show(rule)}: ${shown}`,
        );
      case 'maximum':
        return unless(
          number === undefined || (number ?? Infinity) <= integer(rule), `is above ${show(rule)}: ${shown}`,
        );
      case 'format':
        return unless(hasFormat(text(rule), value), `is not in the format ${text(rule)}: ${shown}`);
      case 'pattern':
        return unless(
          string === undefined || new RegExp(text(rule), 'u').test(string), `does not match ${text(rule)}: ${shown}`,
        );
      case 'minLength':
        return unless(
          string === undefined || [...string].length >= integer(rule), `is shorter than ${show(rule)}: ${shown}`,
        );
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
        return fail(`the validator does not support the keyword ${keyword}`);
    }
  }
}

function isOfType(type: string, value: JsonValue): boolean {
  switch (type) {
    case 'object': return value instanceof JsonObject;
    case 'array': return value instanceof JsonArray;
    case 'integer': return value instanceof JsonNumber && int64OfJsonNumber(value.text) !== null;
    case 'string': case 'boolean': return typeof value === type;
    default: return fail(`the validator does not support the type ${type}`);
  }
}

function hasFormat(format: string, value: JsonValue): boolean {
  const number = value instanceof JsonNumber ? int64OfJsonNumber(value.text) : undefined;
  switch (format) {
    case 'int32': return number === undefined || (number !== null && BigInt.asIntN(32, number) === number);
    case 'int64': return number !== null;
    case 'date-time': return typeof value !== 'string' || (dateTime.test(value) && !Number.isNaN(Date.parse(value)));
    default: return fail(`the validator does not support the format ${format}`);
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

/** Returns the member of this name, if the value is an object and has one. */
export function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value instanceof JsonObject ? value.get(name) : undefined;
}

// These require the document to have a value of this type. Without it, the check cannot continue.

export const record = (value: JsonValue) =>
  (value instanceof JsonObject ? value.members : fail(`${show(value)} is not an object`));
export const list = (value: JsonValue) =>
  (value instanceof JsonArray ? value.items : fail(`${show(value)} is not an array`));
export const text = (value: JsonValue) => (typeof value === 'string' ? value : fail(`${show(value)} is not a string`));
const integer = (value: JsonValue) =>
  (value instanceof JsonNumber ? int64OfJsonNumber(value.text) : null) ?? fail(`${show(value)} is not an integer`);

/** Throws: the document has an error, or uses something that is not implemented here. */
export function fail(why: string): never {
  throw new Error(`The OpenAPI document cannot be checked: ${why}.`);
}
