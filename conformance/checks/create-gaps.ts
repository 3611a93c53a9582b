/** Section 4.2: bodies at the border of what the specification says. A server may refuse them; what it accepts it must not change. */
import { observe, type Check } from '../session/check.ts';
import type { Response } from '../client/response.ts';
import type { GapId } from '../requirements/gaps.ts';
import { controlName, halfName, nulName } from './names.ts';
import { createPet, createPetOf } from '../client/requests.ts';
import type { CheckContext } from '../session/context.ts';

export const borderChecks: readonly Check[] = [
  observe(
    [
      'create.empty-name',
      'create.blank-name',
      'create.long-name',
      'create.control-characters',
      'create.nul',
      'create.lone-surrogate',
    ],
    { requests: 10, creates: 10, writes: true },
    async (t) => {
      const named = async (name: string) => t.send(pet(t, name));
      const cases = [
        ['create.empty-name', ''],
        ['create.blank-name', '   '],
        ['create.control-characters', controlName],
        ['create.nul', nulName],
        ['create.lone-surrogate', halfName],
        ['create.lone-surrogate', '\udc08\ud83d'],
      ] as const;
      for (const [gap, name] of cases) accepted(t, gap, await named(name));
      let longest = 0;
      for (const length of [256, 1_000, 10_000, 50_000]) {
        const response = await named(`${'Rex'.padEnd(length - 3, ' the dog')}🐕.`);
        if (response.status === 201) longest = length;
        else break;
      }
      t.observe(
        'create.long-name',
        longest === 0
          ? 'fewer than 256 characters'
          : longest === 50_000
            ? '50000 characters and maybe more'
            : `at least ${longest} characters`,
      );
    },
  ),
  observe(
    [
      'create.whole-fraction',
      'create.duplicate-name',
      'create.byte-order-mark',
      'create.invalid-utf-8',
      'create.unknown-field',
      'create.own-id',
      'create.content-type',
    ],
    { requests: 9, creates: 9, writes: true },
    async (t) => {
      const c = t.fixtures.category;
      const sent = { name: 'Rex', categoryId: c };
      const rest = `"name":"Rex","categoryId":${c}`;
      for (const text of [`${c}.0`, `${c}e0`, `${c}0e-1`])
        accepted(
          t,
          'create.whole-fraction',
          await t.send({ ...createPetOf(t.key, `{"name":"Rex","categoryId":${text}}`), sent }),
        );
      accepted(
        t,
        'create.duplicate-name',
        await t.send({ ...createPetOf(t.key, `{"name":"First",${rest}}`), sent: { categoryId: c } }),
      );
      accepted(t, 'create.byte-order-mark', await t.send({ ...createPetOf(t.key, `\ufeff{${rest}}`), sent }));
      const latin1 = Buffer.from(`{"name":"R\u00e9x","categoryId":${c}}`, 'latin1');
      accepted(t, 'create.invalid-utf-8', await t.send({ ...createPetOf(t.key, latin1), sent: { categoryId: c } }));
      accepted(t, 'create.unknown-field', await t.send({ ...createPetOf(t.key, `{${rest},"colour":"red"}`), sent }));
      accepted(t, 'create.own-id', await t.send({ ...createPetOf(t.key, `{"id":4611686018427387904,${rest}}`), sent }));
      accepted(
        t,
        'create.content-type',
        await t.send({ ...createPetOf(t.key, `{${rest}}`), sent, headers: [['Content-Type', 'text/plain']], open: true }),
      );
    },
  ),
];

/** A create whose 201 must return what was sent, and which may be refused. */
function pet(t: CheckContext, name: string): ReturnType<typeof createPet> {
  const { mustBe: _, ...request } = createPet(t.key, { name, categoryId: t.fixtures.category });
  return request;
}

function accepted(t: CheckContext, gap: GapId, response: Response): void {
  t.observe(gap, response.status === 201 ? 'yes' : `no: ${response.status}`, response);
}
