/** The reference page: fetches the description of the interface and renders it. */
import { Description, type OpenApi } from './description.ts';
import { byId, code, element, link, type Child } from './dom.ts';
import { readJson } from './json.ts';
import { checkProxy, receive, statusOf } from './receive.ts';
import { guideOf, headersOf, operationText, schemasOf, schemesOf } from './reference.ts';
import { requestForm } from './request.ts';

const main = byId('main', HTMLElement);
const contents = byId('contents', HTMLDetailsElement);

/** Adds a part of the page, and its title and its sections to the table of contents. */
function addPart(title: string, sections: readonly HTMLElement[], ...before: readonly Child[]): void {
  const id = title.toLowerCase().replaceAll(' ', '-');
  const heading = element('h2', { id: `${id}-title` }, title);
  main.append(element('section', { id, 'aria-labelledby': heading.id }, heading, ...before, ...sections));
  const items = sections.filter(({ id: target }) => target !== '').map((section) =>
    element('li', {}, link(section.id, section.querySelector('h3')?.firstChild?.textContent ?? '')));
  contents.append(element('p', {}, link(id, title)), element('ul', {}, ...items));
}

function render(api: Description): void {
  const { info, tags } = api.root;
  document.title = `${info.title} ${info.version}`;
  byId('title', HTMLElement).replaceChildren(info.title, ' ', element('small', {}, info.version));
  main.replaceChildren(element('p', { class: 'lead' }, info.summary));
  for (const { name, description } of tags) {
    const entries = api.entries.filter(({ operation }) => operation.tags.includes(name));
    addPart(name, entries.map((entry) => {
      const { method, path, operation: { operationId, summary } } = entry;
      const title = element('h3', { id: `${operationId}-title` }, summary);
      return element('section', { id: operationId, 'aria-labelledby': title.id }, title,
        element('p', { class: 'address' }, element('b', { class: 'method' }, method), ' ', code(path),
          ' ', element('span', { class: 'type' }, operationId)),
        element('div', { class: 'columns' }, operationText(api, entry), requestForm(api, entry)));
    }), element('p', {}, description));
  }
  addPart('Guide', guideOf(info.description));
  addPart('Authentication', schemesOf(api));
  const note = element('p', {}, 'A required header is in every response that lists it.');
  addPart('Response headers', [headersOf(api)], note);
  addPart('Schemas', schemasOf(api));
}

/** Fetches the description and renders it. Throws an error whose message is a reason and what to do. */
async function load(): Promise<void> {
  const { response, text } = await receive('openapi.json');
  if (!response.ok) {
    const advice = response.status < 500 ? checkProxy : 'Wait until the server is ready';
    throw new Error(`the status is ${statusOf(response)}. ${advice}`);
  }
  try {
    render(new Description(readJson(text) as OpenApi));
  } catch (error) {
    throw new Error(`it is not the description of this server (${(error as Error).name}). ${checkProxy}`);
  }
}

contents.open = matchMedia('(min-width: 64rem)').matches;
try {
  await load();
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
} catch (error) {
  const alert = `openapi.json cannot be shown: ${(error as Error).message}, then reload the page.`;
  main.replaceChildren(element('p', { role: 'alert' }, alert));
}
