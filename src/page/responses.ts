/** Renders the responses of the description and their examples. */
import { nameOf, type Described, type Description, type Entry } from './description.ts';
import { code, codeBox, element, inline, labelled, link, type Child } from './dom.ts';
import { writeJson } from './json.ts';
import { typeOf } from './schema.ts';

/** A response with its status. `operations` are named if a shared error does not apply to all operations. */
export interface Listed extends Described {
  readonly status: string;
  readonly operations?: readonly string[];
}

/** The errors that every client must handle. They are shown with each operation, even if all operations have them. */
const essential = ['400', '401', '429'];

const isShared = (api: Description, status: string): boolean => status >= '400' && !essential.includes(status)
  && api.entries.every(({ operation: { responses } }) => status in responses);

/** Returns the responses of an operation, except the errors that all operations share. */
export function responsesOf(api: Description, { operation: { responses } }: Entry): Listed[] {
  return Object.entries(responses).filter(([status]) => !isShared(api, status))
    .map(([status, one]) => ({ status, ...api.resolve(one) }));
}

/** Returns the errors that all operations share: one for each status and description. */
export function sharedResponses(api: Description): Listed[] {
  const statuses = Object.keys(api.entries[0]?.operation.responses ?? {}).filter((status) => isShared(api, status));
  return statuses.flatMap((status) => {
    const all = api.entries.map(({ operation: { operationId, responses } }) =>
      ({ operationId, ...api.resolve(responses[status]!) }));
    return [...new Set(all.map(({ description }) => description))].map((description) => {
      const same = all.filter((one) => one.description === description);
      const headers = Object.entries(same[0]?.headers ?? {})
        .filter(([name]) => same.every((one) => name in (one.headers ?? {})));
      const operations = same.length === all.length ? [] : same.map(({ operationId }) => operationId);
      return { ...same[0]!, status, headers: Object.fromEntries(headers), operations };
    });
  });
}

/** Returns the names of the headers that every response has. */
export function commonHeaders(api: Description): string[] {
  const all = api.entries.flatMap(({ operation }) => Object.values(operation.responses))
    .map((one) => api.resolve(one).headers ?? {});
  return Object.keys(all[0] ?? {}).filter((name) => all.every((headers) => name in headers));
}

/** Returns a list of responses, with their error codes, and their headers except those that every response has. */
export function responseList(api: Description, responses: readonly Listed[]): HTMLElement {
  const common = commonHeaders(api);
  return element('dl', { class: 'responses' }, ...responses.map((one) => {
    const { status, description, headers = {}, content = {}, operations = [] } = one;
    const names = Object.entries(headers).filter(([name]) => !common.includes(name)).map(([name, header]) =>
      link(`header-${'$ref' in header ? nameOf(header.$ref) : name}`, code(name)));
    const types = Object.values(content).map(({ schema }) => typeOf(schema));
    const codes = [...new Set(examplesOf(api, one).flatMap(({ error }) => error ?? []))];
    const parts = [types, codes.map((error) => link(`error-${error}`, code(error))), names];
    return element('div', {},
      element('dt', {}, element('b', { class: `status s${status[0]}` }, status)),
      element('dd', {},
        ...(operations.length === 0 ? [] : [element('p', { class: 'type' }, `${operations.join(', ')}:`)]),
        element('p', {}, ...inline(description)),
        element('p', { class: 'names' }, ...parts.flat().flatMap((part) => [part, ' ']))));
  }));
}

function examplesOf(api: Description, { status, content = {} }: Listed) {
  const examples = Object.values(content).flatMap(({ examples: named = {} }) => Object.values(named));
  return examples.map((one) => api.resolve(one)).map(({ summary, value }) => {
    const error = value instanceof Object && 'code' in value ? String(value.code) : undefined;
    return { title: [status, error, summary].filter((part) => part !== undefined).join(' '), error, value };
  });
}

/** Returns a box that shows one example of the responses, and lets the reader choose another. */
export function exampleBox(
  api: Description, id: string, title: string, responses: readonly Listed[],
): HTMLElement {
  const all = responses.flatMap((one) => examplesOf(api, one));
  const examples = [...new Map(all.map((one) => [one.title, one])).values()];
  const choice = element('select', { id: `${id}-response` },
    ...examples.map((one, i) => element('option', { value: String(i) }, one.title)));
  const boxes = examples.map((one) => codeBox(`${title}: ${one.title}`, writeJson(one.value)));
  const shown = element('div', {}, ...boxes.slice(0, 1));
  choice.addEventListener('input', () => shown.replaceChildren(boxes[Number(choice.value)]!));
  return element('div', { class: 'card' },
    element('div', { class: 'bar' }, labelled('Response example', choice)), shown);
}

/** Returns the content of the section about the errors that all operations share. */
export function sharedErrors(api: Description): Child[] {
  const responses = sharedResponses(api);
  return [
    element('p', {}, 'Every operation can also return these errors.'),
    element('div', { class: 'columns' }, responseList(api, responses),
      element('div', { class: 'aside' }, exampleBox(api, 'shared', 'Shared errors', responses))),
  ];
}
