/** Section 7: Error bodies. The rules judge them; the checks make sure that there are errors. */
import { nobody } from '../client/credentials.ts';
import { listPets } from '../client/requests.ts';
import { check, observe, type Check } from '../session/check.ts';
import { otherFields } from './resources.ts';

export const errorChecks: readonly Check[] = [
  ...(['error.object', 'error.code', 'error.message', 'error.status'] as const).map((id) =>
    check(id, {}, async (t) => {
      await t.fixtures.oneOfEach();
      if (t.history.errors().length === 0) await t.send({ ...listPets(nobody), mustBe: 401 });
    }),
  ),

  observe(['error.extra-fields', 'error.codes'], {}, async (t) => {
    await t.fixtures.oneOfEach();
    const errors = t.history.errors();
    if (errors.length === 0) return;
    t.observe('error.extra-fields', otherFields(errors, ['code', 'message', 'status']));
    const codes = errors.map((error) => error.get('code')).filter((code) => typeof code === 'string');
    t.observe('error.codes', [...new Set(codes)].sort().join(', '));
  }),
];
