/**
 * Checks responses against the OpenAPI document.
 *
 * The document and the bodies are read with readJson, because an int64 can have more digits than a JavaScript number.
 */
import { JsonArray, JsonNumber, JsonObject, readJson } from '../json/read.ts';
import type { JsonValue } from '../json/read.ts';
import type { HttpResponse } from './http-response.ts';
import { fail, JsonSchemaValidator, list, member, record, text } from './json-schema.ts';

/** A response, and the operation that it belongs to. */
export interface OperationResponse extends HttpResponse {
  readonly method: string;
  /** The path's template: `/pets/{petId}`. */
  readonly path: string;
}

/** Headers that belong to the message or are for browsers. The document does not name them. */
const transportHeaders = [
  'access-control-allow-origin', 'access-control-expose-headers', 'connection', 'content-length', 'content-type',
  'date', 'keep-alive', 'transfer-encoding', 'vary',
];

const nothing = readJson(Buffer.from('{}')) as JsonObject;

/** Where the document describes a response with only the headers and the body of every error. */
const everyError = '#/components/responses/InternalError';
const errorBody = readJson(Buffer.from('{"$ref":"#/components/schemas/ErrorBody"}'));

export class OpenApiDocument {
  readonly #root: JsonObject;
  readonly #schemas = new JsonSchemaValidator((pointer) => this.#lookUp(pointer));

  /** `document` is what readJson returns for the text of the document. */
  constructor(document: unknown) {
    this.#root = document instanceof JsonObject ? document : fail('it was not read with readJson');
  }

  /** Returns every deviation of the response from the document; nothing if it conforms. */
  check(response: OperationResponse): string[] {
    const method = response.method === 'HEAD' ? 'get' : response.method.toLowerCase();
    const operation = member(member(member(this.#root, 'paths'), response.path), method);
    const documented = this.#resolve(member(member(operation, 'responses'), String(response.status)));
    const errors = operation === undefined ? ['the operation is not documented']
      : documented === undefined ? ['the status is not documented']
      : [...this.#headerErrors(documented, response), ...this.#bodyErrors(documented, response)];
    return describe(response, errors);
  }

  /**
   * Returns every deviation of a response that belongs to no operation of the document. The text of the document says
   * that it has the headers of every response, `Allow` if the method is the reason, and an error body, which has one more
   * member while the server is starting.
   */
  checkOther(response: OperationResponse): string[] {
    const { status, body, headers } = response;
    const hasAllow = status === 405 || (status === 204 && response.method === 'OPTIONS');
    const missing = hasAllow && !headers.has('allow') ? ['header Allow is missing'] : [];
    const own = hasAllow ? 'allow' : 'retry-after';
    const others = new Map([...headers].filter(([name]) => name !== own));
    const errors = [...missing, ...this.#headerErrors(this.#lookUp(everyError), { ...response, headers: others })];
    if (status >= 400 && response.method !== 'HEAD') {
      const error = parse(body);
      if (error === undefined) errors.push('the body is not JSON');
      else errors.push(...this.#schemas.errors(errorBody, error, 'body'), ...statusErrors(error, status));
    }
    const isAllowed = (error: string): boolean => response.path === '/readyz' && error.startsWith('body has percent,');
    return describe(response, errors.filter((error) => !isAllowed(error)));
  }

  /** Returns an error for each example or default that its own schema does not allow, and for each unused component. */
  checkExamples(): string[] {
    const errors: string[] = [];
    const used = new Set<string>();
    for (const [pointer, object] of objectsIn(this.#root, '#')) {
      const reference = object.get('$ref');
      if (reference !== undefined) used.add(text(reference));
      for (const requirement of list(object.get('security') ?? readJson(Buffer.from('[]')))) {
        for (const name of record(requirement).keys()) used.add(`#/components/securitySchemes/${name}`);
      }
      for (const [name, schema, example] of this.#examplesOf(object)) {
        errors.push(...this.#schemas.errors(schema, example, `${pointer}: ${name}`));
      }
    }
    for (const [kind, components] of record(member(this.#root, 'components') ?? nothing)) {
      for (const name of record(components).keys()) {
        const pointer = `#/components/${kind}/${name}`;
        if (!used.has(pointer)) errors.push(`${pointer}: nothing refers to it`);
      }
    }
    return errors;
  }

  /** Yields name, schema and value of each example in an object (a schema, parameter, header or media type). */
  *#examplesOf(object: JsonObject): Generator<[string, JsonValue, JsonValue]> {
    const { members } = object;
    const schema = members.get('schema') ?? object;
    const defaultValue = members.get('default');
    if (defaultValue !== undefined) yield ['default', object, defaultValue];
    const example = members.get('example');
    if (example !== undefined) yield ['example', schema, example];
    const examples = members.get('examples');
    if (examples instanceof JsonArray) {
      for (const [index, value] of examples.items.entries()) yield [`examples/${index}`, schema, value];
    } else if (members.has('schema') && examples !== undefined) {
      for (const [name, value] of record(examples)) {
        const exampleValue = member(this.#resolve(value), 'value') ?? fail(`the example ${name} has no value`);
        yield [`examples/${name}`, schema, exampleValue];
      }
    }
  }

  #headerErrors(documented: JsonValue, response: OperationResponse): string[] {
    const errors: string[] = [];
    const undocumented = new Set([...response.headers.keys()].filter((name) => !transportHeaders.includes(name)));
    for (const [name, reference] of record(member(documented, 'headers') ?? nothing)) {
      const header = this.#resolve(reference);
      const value = response.headers.get(name.toLowerCase());
      undocumented.delete(name.toLowerCase());
      if (value !== undefined) {
        const schema = member(header, 'schema') ?? fail(`the header ${name} has no schema`);
        const isInteger = member(this.#resolve(schema), 'type') === 'integer' && /^(0|-?[1-9]\d*)$/.test(value);
        const parsed = isInteger ? readJson(Buffer.from(value)) : value;
        errors.push(...this.#schemas.errors(schema, parsed, `header ${name}`));
      } else if (member(header, 'required') === true) {
        errors.push(`header ${name} is missing`);
      }
    }
    return [...errors, ...[...undocumented].map((name) => `header ${name} is not documented`)];
  }

  #bodyErrors(documented: JsonValue, response: OperationResponse): string[] {
    const content = member(documented, 'content');
    if (content === undefined) return response.body === '' ? [] : ['a body where none is documented'];
    const contentType = response.headers.get('content-type') ?? '';
    const media = member(content, contentType.replace(/;.*/s, '').trim().toLowerCase());
    if (media === undefined) return [`content type ${JSON.stringify(contentType)} is not documented`];
    if (response.method === 'HEAD') return response.body === '' ? [] : ['a body in a response to HEAD'];
    const body = parse(response.body);
    if (body === undefined) return ['the body is not JSON'];
    const errors = this.#schemas.errors(member(media, 'schema') ?? fail('a media type has no schema'), body, 'body');
    if (response.status < 400) return errors;
    const examples = [...record(member(media, 'examples') ?? nothing).values()].map((one) => this.#resolve(one));
    const codes = examples.map((one) => member(member(one, 'value'), 'code'));
    const code = member(body, 'code');
    if (!codes.includes(code)) errors.push(`body/code is not in an example of the response: ${JSON.stringify(code)}`);
    return [...errors, ...statusErrors(body, response.status)];
  }

  /** Follows a Reference Object. Returns every other value as it is. */
  #resolve<Value extends JsonValue | undefined>(value: Value): JsonValue | Value {
    const reference = member(value, '$ref');
    return reference === undefined ? value : this.#resolve(this.#lookUp(text(reference)));
  }

  #lookUp(pointer: string): JsonValue {
    const [document, ...names] = pointer.split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
    const found = names.reduce<JsonValue | undefined>(member, this.#root);
    return document === '#' && found !== undefined ? found : fail(`${pointer} refers to nothing`);
  }
}

function describe({ method, path, status }: OperationResponse, errors: string[]): string[] {
  return errors.map((error) => `${method} ${path} ${status}: ${error}`);
}

/** Returns the value of a JSON text; undefined if it is not JSON. */
function parse(body: string): JsonValue | undefined {
  try {
    return readJson(Buffer.from(body));
  } catch {
    return undefined;
  }
}

/** Returns an error if the `status` in an error body is not that of the response. */
function statusErrors(body: JsonValue, status: number): string[] {
  const found = member(body, 'status');
  return found instanceof JsonNumber && found.text === String(status) ? [] : [`body/status is not ${status}`];
}

/** Yields every object outside examples and defaults, with its JSON pointer. */
function* objectsIn(value: JsonValue, pointer: string): Generator<[string, JsonObject]> {
  if (value instanceof JsonArray) {
    for (const [index, item] of value.items.entries()) yield* objectsIn(item, `${pointer}/${index}`);
  } else if (value instanceof JsonObject) {
    yield [pointer, value];
    for (const [name, part] of value.members) {
      const isList = name === 'examples' && part instanceof JsonArray;
      const isExample = isList || ['value', 'example', 'default'].includes(name);
      if (!isExample) yield* objectsIn(part, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
    }
  }
}
