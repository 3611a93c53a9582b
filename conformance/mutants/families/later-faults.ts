/** Later faults in what a server accepts, stores and returns, but not in how it limits. */
import type { Operation } from '../server/hooks.ts';
import { Digits, type Json } from '../server/json.ts';
import { responses } from '../table/changes.ts';
import { fault, nameOf, type Family } from './family.ts';

const rowCount: Family = {
  name: 'Pets × number of rows × not an array for one number',
  draw: (random) => {
    const rows = random.pick([1, 1, 2, 3, 4, 5, 10, 20]);
    const [text, form] = random.pick<readonly [string, (list: readonly Json[]) => Json]>([
      ['the last Pet alone', (list) => list.at(-1)!],
      ['an object with the indexes as names', (list) => new Map(list.map((row, i) => [String(i), row]))],
      ['an object with an array', (list) => new Map<string, Json>([['items', [...list]]])],
      ['an array in an array', (list) => [[...list]]],
      ['the number of rows', (list) => new Digits(String(list.length))],
    ]);
    return fault('4.1 2', `A list with exactly ${rows} rows is ${text}.`, {
      ...responses(
        ({ body }, { operation }) => operation === 'list' && Array.isArray(body) && body.length === rows,
        (response) => void (response.body = form(response.body as Json[])),
      ),
    });
  },
};

const responseSize: Family = {
  name: 'responses × size in bytes × cut by a buffer',
  draw: (random) => {
    const buffer = random.pick([1_000, 1_024, 1_200, 1_460, 1_500, 2_000, 2_048, 3_000, 4_096]);
    const operation = random.pick<Operation>(['list', 'create', 'get']);
    const [text, cut] = random.pick<readonly [string, (text: string) => string]>([
      ['cut after them', (body) => body.slice(0, buffer)],
      ['sent without them', (body) => body.slice(buffer)],
      ['sent with a line end after them', (body) => `${body.slice(0, buffer)}"\r\n"${body.slice(buffer)}`],
    ]);
    return fault('4.1 4.2 4.3 1 2', `A body of ${nameOf(operation)} of more than ${buffer} characters is ${text}.`, {
      bytes: (body, exchange) =>
        Buffer.from(exchange.operation === operation && body.length > buffer ? cut(body) : body),
    });
  },
};

export const laterFamilies: readonly Family[] = [rowCount, responseSize];
