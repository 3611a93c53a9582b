/** Renders the response to a request that the page has sent. */
import { codeBox, element, tableBox, type Child } from './dom.ts';
import { readJson, writeJson, type Json } from './json.ts';

const isLimit = (name: string): boolean => name.startsWith('x-ratelimit-') || name === 'retry-after';

/** Returns the limits, the body and the headers of a response. Numbers in the body keep all their digits. */
export function resultOf(headers: Headers, text: string): Child[] {
  const sorted = [...headers].sort(([one], [other]) => Number(isLimit(other)) - Number(isLimit(one)));
  const rows = entriesOf(text);
  return [
    ...limitsOf(headers),
    ...(rows.length === 0 ? [] : [folded(`Table, ${rows.length} rows`, true, tableOf(rows))]),
    text === '' ? element('p', {}, 'The response has no body.')
      : folded('Body', rows.length === 0, codeBox('Body of the response', text)),
    folded(`${sorted.length} headers`, false,
      element('dl', { class: 'received' }, ...sorted.flatMap(([name, value]) => {
        const kind = { class: isLimit(name) ? 'limit' : 'other' };
        return [element('dt', kind, name), element('dd', kind, value)];
      }))),
  ];
}

/** Returns the query of the next page of a list; null if there is none. */
export function nextQueryOf(headers: Headers): URLSearchParams | null {
  const target = /<([^>]*)>; *rel="?next"?/.exec(headers.get('Link') ?? '')?.[1];
  return target === undefined ? null : new URL(target, location.href).searchParams;
}

function folded(title: string, isOpen: boolean, content: HTMLElement): HTMLElement {
  return element('details', isOpen ? { open: '' } : {}, element('summary', {}, title), content);
}

type Entry = { readonly [name: string]: Json };

/** Returns the entries of a list of objects; none if the text is something else. */
function entriesOf(text: string): readonly Entry[] {
  try {
    const value = readJson(text);
    const isList = value instanceof Array && value.every((one) => one instanceof Object && !(one instanceof Array));
    return isList ? value : [];
  } catch {
    return []; // a proxy may have replaced the body
  }
}

function tableOf(entries: readonly Entry[]): HTMLElement {
  const names = [...new Set(entries.flatMap((one) => Object.keys(one)))];
  const cellOf = (value: Json | undefined): string =>
    value === undefined ? '' : typeof value === 'string' ? value : writeJson(value);
  return tableBox('Entries of the response', names,
    entries.map((one) => ({ cells: names.map((name) => [cellOf(one[name])]) })));
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
