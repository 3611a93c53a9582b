/** Section 7: what Errors contain that the specification leaves open. */
import { observe, type Check } from '../session/check.ts';
import { otherFields } from './resources.ts';

export const errorChecks: readonly Check[] = [
  observe(['error.extra-fields', 'error.codes'], {}, async (t) => {
    await t.fixtures.oneOfEach();
    const { errors } = t.history;
    if (errors.length === 0) return;
    t.observe('error.extra-fields', otherFields(errors, ['code', 'message', 'status']));
    const codes = errors.map((error) => error.get('code')).filter((code) => typeof code === 'string');
    t.observe('error.codes', [...new Set(codes)].sort().join(', '));
  }),
];
