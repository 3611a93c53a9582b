/** Renders the description: operations, guide, ways to authenticate, headers and schemas. */
import { nameOf, type Described, type Description, type Entry, type Field, type Schema } from './description.ts';
import { code, codeBox, element, inline, link, scrollable, type Child } from './dom.ts';
import { writeJson, type Json } from './json.ts';

/** The keywords of a schema that are shown elsewhere than in its list of constraints. */
const structure = ['$ref', 'type', 'format', 'description', 'properties', 'required', 'items'];

function typeOf(schema: Schema): HTMLElement {
  const { $ref, items, type = '', format = '' } = schema;
  const name: Child[] = $ref !== undefined ? [link(`schema-${nameOf($ref)}`, nameOf($ref))]
    : items !== undefined ? ['array of ', typeOf(items)] : [`${type} ${format}`.trim()];
  return element('span', { class: 'type' }, ...name);
}

/** Lists every keyword that restricts the value, and the example. */
function constraintsOf(schema: Schema, example?: Json): Child[] {
  const keywords: object = { ...schema, ...(example !== undefined && { example }) };
  const items = Object.entries(keywords).filter(([keyword]) => !structure.includes(keyword)).map(([keyword, value]) => {
    const values = [value as Json].flat() as Json[];
    const shown = values.map((one) => code(typeof one === 'string' && one !== '' ? one : writeJson(one)));
    return element('li', {}, keyword, ...shown.flatMap((one) => [' ', one]));
  });
  return items.length === 0 ? [] : [element('ul', { class: 'constraints' }, ...items)];
}

/** Returns the entry of a parameter, a header or a property in a list. */
function fieldOf(api: Description, name: string, field: Field, id?: string): Child[] {
  const { schema, required, example, in: place } = field;
  const resolved = api.resolve<Schema>(schema);
  const text = field.description ?? schema.description ?? resolved.description ?? '';
  return [
    element('dt', id === undefined ? {} : { id }, code(name), ' ', typeOf(schema),
      ...(place === undefined ? [] : [element('span', { class: 'type' }, ` in ${place}`)]),
      ...(required ? [' ', element('b', { class: 'required' }, 'required')] : [])),
    element('dd', {}, element('p', {}, ...inline(text)), ...constraintsOf(resolved, example)),
  ];
}

function propertiesOf(api: Description, { properties = {}, required = [] }: Schema): Child[] {
  const fields = Object.entries(properties).flatMap(([name, schema]) =>
    fieldOf(api, name, { schema, required: required.includes(name) }));
  return fields.length === 0 ? [] : [element('dl', {}, ...fields)];
}

function responseOf(api: Description, status: string, { description, headers = {}, content = {} }: Described): Node {
  const names = Object.entries(headers).flatMap(([name, header]) =>
    [' ', link(`header-${'$ref' in header ? nameOf(header.$ref) : name}`, code(name))]);
  const bodies = Object.entries(content).flatMap(([type, { schema, examples = {} }]) => [
    element('p', {}, 'Body: ', code(type), ', ', typeOf(schema)),
    ...Object.values(examples).map((one) => api.resolve(one)).flatMap(({ summary, value }) => {
      const error = value instanceof Object && 'code' in value ? String(value.code) : null;
      const title = error === null ? [summary] : [link(`error-${error}`, code(error)), ` ${summary}`];
      return [element('p', { class: 'example' }, ...title), codeBox(`Example: ${summary}`, writeJson(value))];
    }),
  ]);
  return element('details', {},
    element('summary', {}, element('b', { class: `status s${status[0]}` }, status), ' ', ...inline(description)),
    element('p', { class: 'names' }, 'Headers:', ...names), ...bodies);
}

/** Returns the description of an operation, with its parameters, its request body and its responses. */
export function operationText(api: Description, { operation }: Entry): HTMLElement {
  const { description, deprecated, parameters = [], requestBody, responses, security = api.root.security } = operation;
  const described = Object.entries(responses).map(([status, one]) => [status, api.resolve(one)] as const);
  const sunset = described.flatMap(([, { headers = {} }]) => headers['Sunset'] ?? [])[0];
  const removal = sunset === undefined ? '' : `, to be removed on ${String(api.resolve(sunset).schema.const)}`;
  const schemes = security.flatMap((one) => Object.keys(one)).map((name) => link(`auth-${name}`, name));
  const fields = parameters.map((one) => api.resolve(one)).flatMap((one) => fieldOf(api, one.name ?? '', one));
  const bodies = Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema }]) => [
    element('p', {}, ...inline(requestBody?.description ?? ''), ' ', code(type), ', ', typeOf(schema)),
    ...propertiesOf(api, api.resolve<Schema>(schema)),
  ]);
  return element('div', {},
    ...(deprecated ? [element('p', { class: 'notice' }, element('b', {}, 'Deprecated'), removal)] : []),
    element('p', {}, ...inline(description)),
    element('p', {}, 'Authentication: ', ...schemes),
    ...(fields.length === 0 ? [] : [element('h4', {}, 'Parameters'), element('dl', {}, ...fields)]),
    ...(bodies.length === 0 ? [] : [element('h4', {}, 'Request body'), ...bodies]),
    element('h4', {}, 'Responses'), ...described.map(([status, response]) => responseOf(api, status, response)));
}

/** Returns a table. A row whose first cell is code is the target of links to that error code. */
function tableOf(lines: readonly string[], title: string): HTMLElement {
  const [head = [], , ...rows] = lines.map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()));
  const body = rows.map(([first = '', ...others]) => {
    const error = /^`(.+)`$/.exec(first)?.[1];
    return element('tr', error === undefined ? {} : { id: `error-${error}` },
      element('th', { scope: 'row' }, ...inline(first)), ...others.map((cell) => element('td', {}, ...inline(cell))));
  });
  const columns = element('tr', {}, ...head.map((cell) => element('th', { scope: 'col' }, cell)));
  return element('div', { class: 'table', ...scrollable(title) },
    element('table', {}, element('thead', {}, columns), element('tbody', {}, ...body)));
}

/** Returns the sections of a Markdown text, which may contain only headings, paragraphs, tables and code. */
export function guideOf(markdown: string): HTMLElement[] {
  const [before = '', ...sections] = markdown.split(/^## /m);
  return [element('p', {}, ...inline(before)), ...sections.map((section) => {
    const [title = '', ...lines] = section.split('\n');
    const blocks = lines.join('\n').trim().split(/\n{2,}/);
    const id = `guide-${title.toLowerCase().replaceAll(' ', '-')}`;
    return element('section', { id }, element('h3', {}, title), ...blocks.map((block) =>
      block.startsWith('|') ? tableOf(block.split('\n'), title) : element('p', {}, ...inline(block))));
  })];
}

/** Returns all ways to authenticate. */
export function schemesOf({ root: { components } }: Description): HTMLElement[] {
  return Object.entries(components.securitySchemes).map(([name, { type, scheme, description }]) =>
    element('section', { id: `auth-${name}` }, element('h3', {}, name),
      element('p', {}, `${type} ${scheme}. `, ...inline(description))));
}

/** Returns all headers of responses, with the names that the responses give them. */
export function headersOf(api: Description): HTMLElement {
  const responses = api.entries.flatMap(({ operation }) => Object.values(operation.responses));
  const uses = responses.flatMap((one) => Object.entries(api.resolve(one).headers ?? {}));
  const names = new Map(uses.map(([name, header]) => ['$ref' in header ? nameOf(header.$ref) : name, name]));
  return element('dl', {}, ...Object.entries(api.root.components.headers).flatMap(([id, header]) =>
    fieldOf(api, names.get(id) ?? id, header, `header-${id}`)));
}

/** Returns all schemas. */
export function schemasOf(api: Description): HTMLElement[] {
  return Object.entries(api.root.components.schemas).map(([name, schema]) =>
    element('section', { id: `schema-${name}` }, element('h3', {}, name, ' ', typeOf(schema)),
      element('p', {}, ...inline(schema.description ?? '')), ...constraintsOf(schema), ...propertiesOf(api, schema)));
}
