/**
 * Section 4.2: a body that is not a NewPet gets 400. If it is not JSON, it may get another 4xx, which is a gap. Each
 * body has one error.
 */
import * as fc from 'fast-check';
import { int64Max, int64Min, statuses } from '../client/pet.ts';
import { createPetOf } from '../client/requests.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import { check, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';

/** The JSON texts of a body's fields; undefined leaves a field out. */
interface Fields {
  readonly name?: string | undefined;
  readonly categoryId?: string | undefined;
  readonly status?: string | undefined;
}

export const refusalChecks: readonly Check[] = [
  refusals(
    'create.required',
    'a required field is missing',
    () => [
      bodyWith({ name: undefined }),
      bodyWith({ categoryId: undefined }),
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
    'null is not a valid value',
    () => [bodyWith({ name: 'null' }), bodyWith({ categoryId: 'null' }), bodyWith({ status: 'null' })],
    3,
  ),
  refusals(
    'create.wrong-type',
    'a value has the wrong type',
    (c) => [
      ...['1', '0', 'true', 'false', '[]', '["Rex"]', '{}', '{"name":"Rex"}'].map((name) => bodyWith({ name })),
      ...[`"${c}"`, '""', '"one"', 'true', 'false', '[]', `[${c}]`, '{}', `{"id":${c}}`].map((categoryId) =>
        bodyWith({ categoryId }),
      ),
      ...['0', '1', 'true', 'false', '[]', '["sold"]', '{}'].map((status) => bodyWith({ status })),
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
        await refuse(t, bodyWith({ status: JSON.stringify(text) }), 'the status is unknown');
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
      async (categoryId) => refuse(t, bodyWith({ categoryId }), 'the categoryId is beyond 64 bits'),
      examples,
    );
  }),
  check('create.fraction', { requests: 11, writes: true, perCase: { requests: 1, share: 0.25 } }, async (t) => {
    // A parser may read numbers as doubles (RFC 8259, section 6), which turns 1.0000000000000001 into 1.
    const decimals = fc
      .tuple(fc.bigInt({ min: -(2n ** 52n), max: 2n ** 52n }), fc.stringMatching(/^[0-9]{0,20}[1-9]$/))
      .map(([whole, fraction]) => `${whole}.${fraction}`)
      .filter((text) => !Number.isInteger(Number(text)));
    // A parser may accept NaN and Infinity (RFC 8259, section 9), but they are not integers.
    const examples = [
      'NaN',
      'Infinity',
      '1.5',
      '0.5',
      '-0.5',
      '0.1',
      '1.000000000000001',
      '2251799813685247.5',
      '15e-1',
      '1e-1',
      '1.5e0',
    ];
    await t.forAll(
      decimals,
      (text) => text,
      async (categoryId) => refuse(t, bodyWith({ categoryId }), 'the categoryId is not an integer'),
      examples,
    );
  }),
  check('create.not-json', { requests: 23, writes: true, perCase: { requests: 1, share: 0.5 } }, async (t) => {
    const whole = bodyWith({ status: '"sold"' });
    await t.forAll(
      fc
        .tuple(fc.nat(whole.length - 1), fc.constantFrom('', "'", '\\', '\n', '/', '\u0000', '#'))
        .map(([at, put]) => whole.slice(0, at) + put + whole.slice(at + 1))
        .filter(isNotJson),
      (text) => text,
      async (body) => refuse(t, body, 'the body is not JSON'),
      notJson,
    );
  }),
  refusals(
    'create.not-object',
    'the body is not an object',
    () => [
      '[]',
      `[${bodyWith({})}]`,
      `[[${bodyWith({})}]]`,
      '"Rex"',
      JSON.stringify(bodyWith({})),
      '1',
      'true',
      'null',
    ],
    8,
  ),
  refusals('create.empty', 'the body is empty', () => ['', ' \n'], 2),
];

/** Texts that lenient parsers accept. Each is not JSON for one reason. Comments are a gap: create.comments. */
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
  '{"name":"Rex","categoryId":01}',
  '{"name":"Rex","categoryId":+1}',
  '{"name":"Rex","categoryId":1.}',
  '{"name":"Rex","categoryId":0x1}',
  '{"name":"Rex\nMax","categoryId":1}',
  '{"name":"Rex\\x41","categoryId":1}',
  '{"name":"Rex\\u12","categoryId":1}',
  '{"name":"Rex,"categoryId":1}',
  'name=Rex&categoryId=1',
  '<pet><name>Rex</name></pet>',
  '{"name":"Rex","categoryId":1,"status":sold}',
];

/** A valid body with some fields replaced. */
function bodyWith(replaced: Fields): string {
  const all = { name: '"Rex"', categoryId: '1', ...replaced };
  return `{${Object.entries(all)
    .filter(([, text]) => text !== undefined)
    .map(([name, text]) => `"${name}":${text}`)
    .join(',')}}`;
}

/** A check that each of `count` bodies is refused. */
function refusals(
  id: RequirementId,
  reason: string,
  bodies: (category: bigint) => readonly string[],
  count: number,
): Check {
  return check(id, { requests: count, writes: true }, async (t) =>
    t.each(bodies(t.fixtures.category), async (body) => refuse(t, body, reason)),
  );
}

/**
 * Sends a body that must get 400, or another 4xx if it is not JSON. Replaces the categoryId 1 by a category that the
 * server accepts.
 */
async function refuse(t: CheckContext, body: string, reason: string): Promise<void> {
  const response = await t.send(
    createPetOf(t.key, body.replace(/"categoryId":1(?=[,}])/, `"categoryId":${t.fixtures.category}`)),
  );
  const { status } = response;
  const isRefused = status >= 400 && status < 500 && status !== 401 && status !== 429;
  if (isNotJson(body)) t.require(isRefused, response, `400 or another 4xx, because ${reason}`);
  else t.require(status === 400, response, `400, because ${reason}`);
}

function isNotJson(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}
