/** The form of an operation: curl lines, and requests from the page. */
import type { Description, Entry, Field, Schema } from './description.ts';
import { byId, codeBox, element, scrollable, type Child } from './dom.ts';
import { indentJson, writeJson } from './json.ts';
import { receive } from './receive.ts';

const isLimit = (name: string): boolean => name.startsWith('x-ratelimit-') || name === 'retry-after';

/** Quotes a text for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

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

/** Returns a button that copies a text, or selects it where the browser does not allow copying. */
function copyButton(box: HTMLElement): HTMLButtonElement {
  const button = element('button', { type: 'button', class: 'copy' }, 'Copy');
  button.addEventListener('click', () => {
    getSelection()?.selectAllChildren(box);
    const copied = navigator.clipboard?.writeText(box.textContent ?? '') ?? Promise.reject(new Error('not allowed'));
    copied.then(() => 'Copied', () => 'Selected').then((label) => (button.textContent = label));
  });
  button.addEventListener('blur', () => (button.textContent = 'Copy'));
  return button;
}

/** Returns the form of an operation, which also shows the response to the request that was sent last. */
export function requestForm(api: Description, { operation, method, path }: Entry): HTMLElement {
  const { operationId, parameters = [], requestBody, summary } = operation;
  const inputs = parameters.map((one) => api.resolve(one)).map((field) =>
    ({ ...field, control: controlOf(api, field, `${operationId}-${field.name}`) }));
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const examples = Object.values(media?.examples ?? {}).map((one) => api.resolve(one));
  const texts = examples.map(({ value }) => indentJson(writeJson(value)));
  const body = element('textarea', { id: `${operationId}-body`, rows: '6', spellcheck: 'false' }, texts[0] ?? '');
  const choice = element('select', { id: `${operationId}-example` },
    ...examples.map(({ summary: title }, i) => element('option', { value: String(i) }, title)));

  const target = (): string => {
    let filled = path;
    const query: string[] = [];
    for (const { name = '', in: place, control: { value } } of inputs) {
      if (place === 'path') filled = filled.replace(`{${name}}`, () => encodeURIComponent(value));
      else if (value !== '') query.push(`${name}=${encodeURIComponent(value)}`);
    }
    return new URL(query.length === 0 ? filled : `${filled}?${query.join('&')}`, location.href).href;
  };
  const curl = element('code');
  const showCurl = (): void => {
    // Through a pipe, because other users of the machine can read the arguments of curl.
    const option = method === (type === undefined ? 'GET' : 'POST') ? '' : `-X ${method} `; // curl uses these by itself
    const lines = ['echo "Authorization: Bearer $KEY" |', `curl -i -H @- ${option}${quoted(target())}`];
    if (type !== undefined) lines.push(`-H ${quoted(`Content-Type: ${type}`)}`, `--data-raw ${quoted(body.value)}`);
    curl.textContent = lines.join(' \\\n  ');
  };

  const status = element('p', { role: 'status' });
  const result = element('div');
  const button = element('button', { type: 'submit' }, 'Send');
  const send = async (): Promise<void> => {
    // A second response could arrive before the first. The attribute `disabled` would take the focus away.
    if (button.hasAttribute('aria-disabled')) return;
    const key = byId('key', HTMLInputElement).value.trim();
    result.replaceChildren();
    if (/[^\0-\xff]/.test(key)) {
      status.textContent = 'Nothing was sent: the API key has a character that no header can contain.';
      return;
    }
    const authorization = key === '' ? {} : { Authorization: `Bearer ${key}` };
    const content = type === undefined ? {} : { headers: { 'Content-Type': type }, body: body.value };
    button.setAttribute('aria-disabled', 'true');
    status.textContent = 'Sending …';
    const startedAt = performance.now();
    let received;
    try {
      received = await receive(target(), { method, ...content, headers: { ...content.headers, ...authorization } });
    } catch (error) {
      const more = method === 'GET' ? '' : ' The request may have taken effect.';
      status.textContent = `The request failed: ${(error as Error).message}.${more}`;
      return;
    } finally {
      button.removeAttribute('aria-disabled');
    }
    const { response, text } = received;
    const ms = Math.round(performance.now() - startedAt);
    const number = element('b', { class: `s${Math.floor(response.status / 100)}` }, String(response.status));
    status.replaceChildren(number, ` ${response.statusText} · ${ms} ms`);
    result.replaceChildren(...resultOf(response.headers, text));
  };

  const labelled = (text: string, control: HTMLElement) => [element('label', { for: control.id }, text), control];
  const form = element('form', { 'aria-label': `Request: ${summary}` },
    ...inputs.flatMap(({ name, required, control }) => labelled(required ? `${name}` : `${name} (optional)`, control)),
    ...(examples.length > 1 ? labelled('Example', choice) : []),
    ...(type === undefined ? [] : labelled(`Body, ${type}`, body)),
    element('div', { class: 'curl' }, element('pre', scrollable(`curl: ${summary}`), curl), copyButton(curl)),
    button, status, result);
  choice.addEventListener('input', () => (body.value = texts[Number(choice.value)] ?? ''));
  form.addEventListener('input', showCurl);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send();
  });
  showCurl();
  return form;
}

/** Returns the limits, the body and the headers of a response. The body has the digits that were received. */
function resultOf(headers: Headers, text: string): Child[] {
  const sorted = [...headers].sort(([one], [other]) => Number(isLimit(other)) - Number(isLimit(one)));
  return [
    ...limitsOf(headers),
    text === '' ? element('p', {}, 'The response has no body.') : codeBox('Body of the response', text),
    element('dl', { class: 'received' }, ...sorted.flatMap(([name, value]) => {
      const kind = { class: isLimit(name) ? 'limit' : 'other' };
      return [element('dt', kind, name), element('dd', kind, value)];
    })),
  ];
}

/** Returns the limits in a sentence, as far as the response has them: a proxy may change or omit its headers. */
function limitsOf(headers: Headers): Child[] {
  const [limit, remaining, reset = '', wait = ''] = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset',
    'Retry-After'].map((name) => headers.get(name) ?? undefined);
  if (limit === undefined || remaining === undefined) return [];
  let until = '';
  if (/^\d{1,11}$/.test(reset)) { // seconds; with more digits it is in another unit, or beyond the range of Date
    const seconds = Number(reset) - Math.floor((Date.parse(headers.get('Date') ?? '') || Date.now()) / 1000);
    const time = new Date(Number(reset) * 1000).toISOString().replace(/T(.*)\.000Z/, ' $1 UTC');
    until = ` until ${time}, in ${seconds} s`;
  }
  return [element('p', { class: 'limits' }, element('b', {}, `${remaining} of ${limit}`), ` requests remain${until}.`,
    ...(/^\d+$/.test(wait) ? [element('b', {}, ` Wait ${wait} s before the next attempt.`)] : []))];
}
