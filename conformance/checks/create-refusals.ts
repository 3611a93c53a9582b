/** Section 4.2: bodies that are no NewPet are refused with 400, each with one fault. */
import * as fc from 'fast-check';
import { check, type Check } from '../session/check.ts';
import { int64Max, int64Min, statuses } from '../client/pet.ts';
import { createPetOf } from '../client/requests.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import type { CheckContext } from '../session/context.ts';

/** Pieces of a body, each valid but for what a case replaces. */
interface Members {
  readonly name?: string;
  readonly categoryId?: string;
  readonly status?: string;
}

export const refusalChecks: readonly Check[] = [
  refusals(
    'create.required',
    'a required field is missing',
    () => [
      members({ name: undefined }),
      members({ categoryId: undefined }),
      '{}',
      '{"status":"sold"}',
      '{"name":"Rex","status":"sold"}',
      '{"categoryId":1,"status":"pending"}',
      '{"Name":"Rex","categoryId":1}',
      '{"name":"Rex","categoryid":1}',
      '{"name":"Rex","category_id":1}',
      '{"":"Rex","categoryId":1}',
    ],
    10,
  ),
  refusals(
    'create.null',
    'null is no value of a field',
    () => [members({ name: 'null' }), members({ categoryId: 'null' }), members({ status: 'null' })],
    3,
  ),
  refusals(
    'create.wrong-type',
    'a value has the wrong type',
    (c) => [
      ...['1', '0', 'true', 'false', '[]', '["Rex"]', '{}', '{"name":"Rex"}'].map((name) => members({ name })),
      ...[`"${c}"`, '""', '"one"', 'true', 'false', '[]', `[${c}]`, '{}', `{"id":${c}}`].map((categoryId) =>
        members({ categoryId }),
      ),
      ...['0', '1', 'true', 'false', '[]', '["sold"]', '{}'].map((status) => members({ status })),
    ],
    24,
  ),
  check('create.unknown-status', { requests: 15, writes: true, perCase: { requests: 1, share: 0.5 } }, async (t) => {
    const near = [
      '',
      'Available',
      'SOLD',
      ' sold',
      'sold ',
      'sold\n',
      'sold\u0000',
      'sol',
      'solds',
      'availablepending',
      'available,sold',
      'unknown',
      'null',
      'availableavailableavailable',
      'x'.repeat(300),
    ];
    const any = fc.oneof(
      fc
        .tuple(fc.constantFrom(...statuses), fc.nat(9), fc.constantFrom('', 'x', ' ', '-', '\u0000', 'ſ'))
        .map(([status, at, put]) => status.slice(0, at) + put + status.slice(at + 1)),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
    );
    await t.forAll(
      any.filter((text) => !statuses.some((s) => s === text)),
      (text) => JSON.stringify(text),
      async (text) => {
        await refuse(t, members({ status: JSON.stringify(text) }), 'the status does not exist');
      },
      near,
    );
  }),
  check('create.int64-range', { requests: 10, writes: true, perCase: { requests: 1, share: 0.25 } }, async (t) => {
    const beyond = fc.oneof(
      fc.bigInt({ min: int64Max + 1n, max: 2n ** 65n }),
      fc.bigInt({ min: -(2n ** 65n), max: int64Min - 1n }),
      fc.bigInt({ min: 2n ** 65n, max: 2n ** 300n }),
    );
    const examples = [
      `${int64Max + 1n}`,
      `${int64Min - 1n}`,
      `${2n ** 64n}`,
      `${2n ** 64n + 1n}`,
      `${-(2n ** 64n)}`,
      `${int64Max + 1n}.0`,
      '1e19',
      '-1E+19',
      '1e400',
      '92233720368547758070',
    ];
    await t.forAll(
      beyond.map(String),
      (text) => text,
      async (categoryId) => refuse(t, members({ categoryId }), 'the categoryId is beyond 64 bits'),
      examples,
    );
  }),
  check('create.fraction', { requests: 9, writes: true, perCase: { requests: 1, share: 0.25 } }, async (t) => {
    const decimals = fc
      .tuple(fc.bigInt({ min: int64Min, max: int64Max }), fc.stringMatching(/^[0-9]{0,20}[1-9]$/))
      .map(([whole, fraction]) => `${whole}.${fraction}`);
    const examples = [
      '1.5',
      '0.5',
      '-0.5',
      '1.0000000000000001',
      '9007199254740992.5',
      '15e-1',
      '1e-1',
      '0.99999999999999999999',
      '1.5e0',
    ];
    await t.forAll(
      decimals,
      (text) => text,
      async (categoryId) => refuse(t, members({ categoryId }), 'the categoryId is no whole number'),
      examples,
    );
  }),
  check('create.not-json', { requests: 25, writes: true, perCase: { requests: 1, share: 0.5 } }, async (t) => {
    const whole = members({ status: '"sold"' });
    await t.forAll(
      fc
        .tuple(fc.nat(whole.length - 1), fc.constantFrom('', "'", '\\', '\n', '/', '\u0000', '#'))
        .map(([at, put]) => whole.slice(0, at) + put + whole.slice(at + 1))
        .filter(isNoJson),
      (text) => text,
      async (body) => refuse(t, body, 'the body is no JSON'),
      notJson,
    );
  }),
  refusals(
    'create.not-object',
    'the body is no object',
    () => ['[]', `[${members({})}]`, `[[${members({})}]]`, '"Rex"', JSON.stringify(members({})), '1', 'true', 'null'],
    8,
  ),
  refusals('create.empty', 'the body is empty', () => ['', ' \n'], 2),
];

/** Texts that look like JSON to a reader that is too kind; each is no JSON for one reason. */
const notJson: readonly string[] = [
  '{',
  '{"name":"Rex","categoryId":1',
  '{"name":"Rex","categoryId":1}}',
  '{"name":"Rex","categoryId":1}x',
  '{"name":"Rex","categoryId":1}{}',
  '{"name":"Rex","categoryId":1,}',
  '{,"name":"Rex","categoryId":1}',
  '{"name":"Rex" "categoryId":1}',
  '{"name":"Rex",,"categoryId":1}',
  "{'name':'Rex','categoryId':1}",
  '{name:"Rex",categoryId:1}',
  '{"name":"Rex","categoryId":1}//',
  '{/**/"name":"Rex","categoryId":1}',
  '{"name":"Rex","categoryId":01}',
  '{"name":"Rex","categoryId":+1}',
  '{"name":"Rex","categoryId":1.}',
  '{"name":"Rex","categoryId":0x1}',
  '{"name":"Rex","categoryId":NaN}',
  '{"name":"Rex\nMax","categoryId":1}',
  '{"name":"Rex\\x41","categoryId":1}',
  '{"name":"Rex\\u12","categoryId":1}',
  '{"name":"Rex,"categoryId":1}',
  'name=Rex&categoryId=1',
  '<pet><name>Rex</name></pet>',
  '{"name":"Rex","categoryId":1,"status":sold}',
];

/** A body that is valid but for what is replaced; `undefined` leaves a member out. */
function members(replaced: { [K in keyof Members]?: string | undefined }): string {
  const all = { name: '"Rex"', categoryId: '1', ...replaced };
  return `{${Object.entries(all)
    .filter(([, text]) => text !== undefined)
    .map(([name, text]) => `"${name}":${text}`)
    .join(',')}}`;
}

/** A check that each of the bodies is refused. `count` is how many there are. */
function refusals(id: RequirementId, because: string, bodies: (category: bigint) => readonly string[], count: number): Check {
  return check(id, { requests: count, writes: true }, async (t) =>
    t.each(bodies(t.fixtures.category), async (body) => refuse(t, body, because)),
  );
}

/** Sends a body that must be refused, with a category that the server knows where the body says 1. */
async function refuse(t: CheckContext, body: string, because: string): Promise<void> {
  const response = await t.send(createPetOf(t.key, body.replace(/"categoryId":1(?=[,}])/, `"categoryId":${t.fixtures.category}`)));
  t.require(response.status === 400, response, `400, since ${because}`);
}

function isNoJson(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}
