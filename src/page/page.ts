/** The reference page: fetches the description of the interface and renders it. */
import { addPart, initContents } from './contents.ts';
import { Description, type OpenApi } from './description.ts';
import { byId, element, inline, methodLabel } from './dom.ts';
import { readJson } from './json.ts';
import { initKey } from './key.ts';
import { overview } from './overview.ts';
import { checkProxy, receive, statusOf } from './receive.ts';
import { guideOf, headersOf, operationText, schemasOf, schemesOf } from './reference.ts';
import { requestForm } from './request.ts';
import { exampleBox, responsesOf, sharedErrors } from './responses.ts';
import { initTheme } from './theme.ts';

const main = byId('main', HTMLElement);

function render(api: Description): void {
  const { info, tags } = api.root;
  document.title = `${info.title} ${info.version}`;
  byId('title', HTMLElement).textContent = info.title;
  main.replaceChildren();
  const title = element('h1', {}, info.title, ' ', element('small', {}, info.version));
  addPart('Overview', [], overview(api), [], title);
  addPart('Guide', guideOf(info.description));
  addPart('Authentication', schemesOf(api));
  for (const { name, description } of tags) {
    const entries = api.entries.filter(({ operation }) => operation.tags.includes(name));
    addPart(name, entries.map((entry) => {
      const { operationId, summary } = entry.operation;
      return element('section', { id: operationId, 'aria-labelledby': `${operationId}-title`, class: 'columns' },
        operationText(api, entry), element('div', { class: 'aside' },
          requestForm(api, entry), exampleBox(api, operationId, summary, responsesOf(api, entry))));
    }), [element('p', {}, ...inline(description))],
    entries.map(({ method, operation: { summary } }) => [methodLabel(method), summary]));
  }
  addPart('Shared errors', [], sharedErrors(api));
  addPart('Response headers', [], headersOf(api));
  addPart('Schemas', schemasOf(api));
  initContents();
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

initTheme();
initKey();
main.replaceChildren(element('p', { role: 'status' }, 'Loading the description…'));
try {
  await load();
  for (const one of document.querySelectorAll('body > [hidden]')) one.removeAttribute('hidden');
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
} catch (error) {
  const alert = `openapi.json cannot be shown: ${(error as Error).message}, then reload the page.`;
  main.replaceChildren(element('p', { role: 'alert' }, alert));
}
