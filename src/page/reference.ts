/** Renders the description: the guide, operations, ways to authenticate, headers and schemas. */
import { nameOf, type Description, type Entry, type Schema } from './description.ts';
import { code, element, inline, link, methodLabel, tableBox, type Child } from './dom.ts';
import { commonHeaders, responseList, responsesOf, sharedResponses } from './responses.ts';
import { constraintsOf, fieldOf, propertiesOf, typeOf } from './schema.ts';

/** Returns the description of an operation, with its parameters, its request body and its responses. */
export function operationText(api: Description, entry: Entry): HTMLElement {
  const { method, path, operation } = entry;
  const { operationId, summary, description, deprecated, parameters = [], requestBody } = operation;
  const { responses, security = api.root.security } = operation;
  const sunset = Object.values(responses).flatMap((one) => api.resolve(one).headers?.['Sunset'] ?? [])[0];
  const removal = sunset === undefined ? '' : `, to be removed on ${String(api.resolve(sunset).schema.const)}`;
  const schemes = security.flatMap((one) => Object.keys(one)).map((name) => link(`auth-${name}`, name));
  const fields = parameters.map((one) => api.resolve(one)).map((one) => fieldOf(api, one.name ?? '', one));
  const bodies = Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema }]) => [
    element('p', {}, ...inline(requestBody?.description ?? ''), ' ', code(type), ', ', typeOf(schema)),
    ...propertiesOf(api, api.resolve<Schema>(schema)),
  ]);
  const shared = [...new Set(sharedResponses(api).map(({ status }) => status))].join(', ');
  return element('div', {},
    element('h3', { id: `${operationId}-title` }, summary),
    element('p', { class: 'address' }, methodLabel(method), ' ', code(path)),
    element('p', { class: 'type' }, `${operationId} · authentication: `, ...schemes),
    ...(deprecated ? [element('p', { class: 'notice' }, element('b', {}, 'Deprecated'), removal)] : []),
    element('p', {}, ...inline(description)),
    ...(fields.length === 0 ? [] : [element('h4', {}, 'Parameters'), element('dl', {}, ...fields)]),
    ...(bodies.length === 0 ? [] : [element('h4', {}, 'Request body'), ...bodies]),
    element('h4', {}, 'Responses'), responseList(api, responsesOf(api, entry)),
    element('p', { class: 'type' }, `Every operation can also return ${shared}: `,
      link('shared-errors', 'Shared errors')));
}

/** Returns the table of the plans in a Markdown text; undefined if there is none. */
export function plansOf(markdown: string): string | undefined {
  return /(?<=^|\n)\| *plan [^]*?(?=\n\n|$)/.exec(markdown)?.[0];
}

/**
 * Returns the sections of a Markdown text, which may contain only headings, paragraphs, tables and code. Of each
 * section, only the first sentence is visible until the reader opens it. The overview has the table of the plans.
 */
export function guideOf(markdown: string): HTMLElement[] {
  const [before = '', ...sections] = markdown.split(/^## /m);
  const plans = plansOf(markdown);
  return [element('p', {}, ...inline(before)), ...sections.map((section) => {
    const [title = '', ...lines] = section.split('\n');
    const [first = '', ...blocks] = lines.join('\n').trim().replace(/^(.*?\.) /, '$1\n\n').split(/\n{2,}/);
    const id = `guide-${title.toLowerCase().replaceAll(' ', '-')}`;
    return element('section', { id }, element('h3', {}, title), element('details', {},
      element('summary', {}, ...inline(first)), ...blocks.map((block) =>
        block === plans ? element('p', {}, 'The limits of each plan: ', link('plans', 'Plans'))
          : block.startsWith('|') ? tableOf(block, title) : element('p', {}, ...inline(block)))));
  })];
}

/** Renders a Markdown table. If the first cell of a row is an error code, links to that code lead to the row. */
export function tableOf(block: string, title: string): HTMLElement {
  const [head = [], , ...rows] = block.split('\n').map((line) =>
    line.split('|').slice(1, -1).map((cell) => cell.trim()));
  return tableBox(title, head, rows.map((row) => {
    const error = /^`(.+)`$/.exec(row[0] ?? '')?.[1];
    return { ...(error !== undefined && { id: `error-${error}` }), cells: row.map(inline) };
  }));
}

/** Returns all ways to authenticate. */
export function schemesOf({ root: { components } }: Description): HTMLElement[] {
  return Object.entries(components.securitySchemes).map(([name, { type, scheme, description }]) =>
    element('section', { id: `auth-${name}` }, element('h3', {}, name),
      element('p', {}, `${type} ${scheme}. `, ...inline(description))));
}

/** Returns all headers of responses, with the names that the responses give them. */
export function headersOf(api: Description): Child[] {
  const responses = api.entries.flatMap(({ operation }) => Object.values(operation.responses));
  const uses = responses.flatMap((one) => Object.entries(api.resolve(one).headers ?? {}));
  const names = new Map(uses.map(([name, header]) => ['$ref' in header ? nameOf(header.$ref) : name, name]));
  const common = commonHeaders(api).flatMap((name, i) => [i === 0 ? ' ' : ', ', code(name)]);
  return [
    element('p', {}, 'Every response has', ...common, '. The other headers are only in the responses that list them. '
      + 'There, a required header is always present.'),
    element('dl', { class: 'grid' }, ...Object.entries(api.root.components.headers).map(([id, header]) =>
      fieldOf(api, names.get(id) ?? id, header, `header-${id}`))),
  ];
}

/** Returns all schemas. */
export function schemasOf(api: Description): HTMLElement[] {
  return Object.entries(api.root.components.schemas).map(([name, schema]) =>
    element('section', { id: `schema-${name}` }, element('h3', {}, name, ' ', typeOf(schema)),
      element('p', {}, ...inline(schema.description ?? '')), ...constraintsOf(schema), ...propertiesOf(api, schema)));
}
