/** Renders the top of the page: what a new client needs for its first request. */
import { firstCurlOf } from './curl.ts';
import type { Description } from './description.ts';
import { code, copyButton, element, inline, link, scrollable, type Child } from './dom.ts';
import { plansOf, tableOf } from './reference.ts';

/** Returns the base address, how to get a key, a first request, and the plans. */
export function overview(api: Description): Child[] {
  const { info, servers } = api.root;
  const absolute = (path: string): string => new URL(path, location.href).href;
  const base = code(absolute(servers[0]!.url));
  const first = api.entries.find(({ method, path }) => method === 'GET' && !path.includes('{')) ?? api.entries[0]!;
  const curl = element('code', {}, firstCurlOf(first.method, absolute(first.path)));
  const plans = plansOf(info.description);
  return [element('div', { class: 'columns' },
    element('div', {},
      element('p', { class: 'lead' }, ...inline(info.summary)),
      element('h2', {}, 'Base address'),
      element('p', { class: 'address' }, base, ' ', copyButton(base)),
      element('h2', {}, 'Get a key'),
      element('p', {}, `${info.contact.name} creates API keys: `, code('petstore keys create --name NAME --plan free'),
        '. With ', code('--demo'), ', the server prints one when it starts for the first time.')),
    element('div', {}, element('div', { class: 'card' },
      element('div', { class: 'bar' }, element('b', {}, 'First call'), copyButton(curl)),
      element('pre', scrollable('First call'), curl)),
      element('p', { class: 'type' }, 'Paste these lines into a shell, then paste your key. They send the request ',
        link(first.operation.operationId, first.operation.summary),
        '. To send it from this page, enter the key at the top, follow this link, and press Send.'),
      ...(plans === undefined ? [] : [element('h2', { id: 'plans' }, 'Plans'), tableOf(plans, 'Plans')])))];
}
