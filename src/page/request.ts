/** The form of an operation: curl lines, and requests from the page. */
import { curlOf } from './curl.ts';
import type { Description, Entry, Field, Schema } from './description.ts';
import { copyButton, element, labelled, scrollable } from './dom.ts';
import { indentJson, writeJson } from './json.ts';
import { apiKey, refuseKey } from './key.ts';
import { receive } from './receive.ts';
import { nextQueryOf, resultOf } from './result.ts';

/** Returns a control for a parameter. It is empty if the parameter is not to be sent. */
function controlOf(api: Description, field: Field, id: string): HTMLInputElement | HTMLSelectElement {
  const { required, schema, example = '' } = field;
  const { enum: values, type, default: byDefault = '' } = api.resolve<Schema>(schema);
  if (values !== undefined) {
    const options = values.map((value) => element('option', {}, String(value)));
    return element('select', { id }, ...(required ? [] : [element('option', { value: '' }, '(not sent)')]), ...options);
  }
  const given = required ? { required: '', value: String(example) } : { placeholder: String(byDefault) };
  const inputmode = type === 'integer' ? 'numeric' : 'text';
  return element('input', { id, autocomplete: 'off', spellcheck: 'false', inputmode, ...given });
}

/** Returns the form of an operation, which also shows the response to the request that was sent last. */
export function requestForm(api: Description, { operation, method, path }: Entry): HTMLElement {
  const { operationId, parameters = [], requestBody, summary, security = api.root.security } = operation;
  const inputs = parameters.map((one) => api.resolve(one)).map(({ name = '', ...field }) =>
    ({ ...field, name, control: controlOf(api, field, `${operationId}-${name}`) }));
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const examples = Object.values(media?.examples ?? {}).map((one) => api.resolve(one));
  const texts = examples.map(({ value }) => indentJson(writeJson(value)));
  const body = element('textarea', { id: `${operationId}-body`, rows: '5', spellcheck: 'false' }, texts[0] ?? '');
  const choice = element('select', { id: `${operationId}-example` },
    ...examples.map(({ summary: title }, i) => element('option', { value: String(i) }, title)));

  const target = (): string => {
    let filled = path;
    const query: string[] = [];
    for (const { name, in: place, control: { value } } of inputs) {
      if (place === 'path') filled = filled.replace(`{${name}}`, () => encodeURIComponent(value));
      else if (value !== '') query.push(`${name}=${encodeURIComponent(value)}`);
    }
    return new URL(query.length === 0 ? filled : `${filled}?${query.join('&')}`, location.href).href;
  };
  const curl = element('code');
  const showCurl = (): void => void (curl.textContent = curlOf(method, target(), type, body.value));

  const status = element('p', { role: 'status' });
  const result = element('div');
  const [, verb, noun] = /^(\w+) an? (.+)$/.exec(summary) ?? [];
  const label = method === 'GET' ? 'Send' : verb === undefined ? summary : `${verb} the ${noun}`;
  const note = method === 'GET' ? '' : 'This changes real data permanently.';
  const button = element('button', { type: 'submit' }, label);
  const nextButton = element('button', { type: 'button', class: 'next', hidden: '' }, 'Next page');
  let nextQuery: URLSearchParams | null = null;

  const send = async (): Promise<void> => {
    // A second response could arrive before the first. The attribute `disabled` would take the focus away.
    if (button.hasAttribute('aria-disabled')) return;
    const secret = apiKey();
    result.replaceChildren();
    const wrong = security.length > 0 && secret === '' ? 'enter an API key first'
      : /[^\0-\xff]/.test(secret) ? 'the API key has a character that no header can contain' : '';
    if (wrong !== '') {
      status.textContent = `Nothing was sent: ${wrong}.`;
      refuseKey(status.textContent);
      return;
    }
    const authorization = secret === '' ? {} : { Authorization: `Bearer ${secret}` };
    const content = type === undefined ? {} : { headers: { 'Content-Type': type }, body: body.value };
    for (const one of [button, nextButton]) one.setAttribute('aria-disabled', 'true');
    status.textContent = 'Sending …';
    const startedAt = performance.now();
    nextQuery = null;
    try {
      const { response, text } = await receive(target(),
        { method, ...content, headers: { ...content.headers, ...authorization } });
      const ms = Math.round(performance.now() - startedAt);
      const number = element('b', { class: `s${Math.floor(response.status / 100)}` }, String(response.status));
      status.replaceChildren(number, ` ${response.statusText} · ${ms} ms`);
      result.replaceChildren(...resultOf(response.headers, text));
      nextQuery = nextQueryOf(response.headers);
    } catch (error) {
      const more = method === 'GET' ? '' : ' The request may have taken effect.';
      status.textContent = `The request failed: ${(error as Error).message}.${more}`;
    } finally {
      for (const one of [button, nextButton]) one.removeAttribute('aria-disabled');
      const hadFocus = document.activeElement === nextButton;
      nextButton.hidden = nextQuery === null;
      if (hadFocus && nextButton.hidden) button.focus();
    }
  };

  const form = element('form', { class: 'card', 'aria-label': `Request: ${summary}` },
    element('div', { class: 'bar' }, element('b', {}, 'Request example'), copyButton(curl)),
    element('pre', scrollable(`curl: ${summary}`), curl),
    element('div', { class: 'fields' },
      ...inputs.map(({ name, required, control }) => labelled(required ? name : `${name} (optional)`, control)),
      ...(examples.length > 1 ? [labelled('Example', choice, 'wide')] : []),
      ...(type === undefined ? [] : [labelled(`Body, ${type}`, body, 'wide')])),
    element('div', { class: 'send' }, button, nextButton, ...(note === '' ? [] : [element('p', {}, note)]), status),
    result);
  choice.addEventListener('input', () => (body.value = texts[Number(choice.value)] ?? ''));
  form.addEventListener('input', showCurl);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send();
  });
  nextButton.addEventListener('click', () => {
    if (nextQuery === null) return;
    for (const { name, control } of inputs) control.value = nextQuery.get(name) ?? '';
    showCurl();
    void send();
  });
  showCurl();
  return form;
}
