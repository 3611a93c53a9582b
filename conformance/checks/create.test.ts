/** How servers treat bodies that the specification or JSON leaves open is reported, and never judged. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smallServer } from '../testing/servers.ts';
import { run, session } from '../testing/sessions.ts';
import { groups } from './suite.ts';

const wanted = {
  'the small server': {
    'create.lone-surrogate': 'yes',
    'create.tiny-fraction': 'no: 400',
    'create.utf-16': 'no: 400',
    'create.nan': 'no: 400',
    'create.comments': 'no: 400',
    'create.malformed': '400',
    'create.ordinary-name': 'yes',
    'create.category-range': 'yes',
  },
  parser: {
    'create.lone-surrogate': 'yes, and changed',
    'create.tiny-fraction': 'yes',
    'create.utf-16': 'yes',
    'create.nan': 'yes',
    'create.comments': 'yes',
  },
  strict: {
    'create.lone-surrogate': 'no: 400',
    'create.tiny-fraction': 'no: 400',
    'create.utf-16': 'no: 400',
    'create.nan': 'no: 400',
    'create.category-range': 'no: 123456789 gets 400',
  },
  picky: {
    'create.comments': 'no: 422',
    'create.malformed': '422',
    'create.ordinary-name': 'no: " leading, trailing and  double spaces " gets 400',
    'create.category-range': 'no: 2147483648 gets 400',
  },
};

for (const [variant, gaps] of Object.entries(wanted)) {
  test(variant, async (t) => {
    const tested = session(await smallServer(t, variant === 'the small server' ? {} : { variant }));
    const results = await run(tested, groups.filter(([title]) => title === 'Add an animal'));
    assert.deepEqual(results.filter(({ verdict }) => verdict === 'failed'), []);
    const observations = tested.ledger.observations();
    const observed = new Map(observations.map(({ id, behaviour }): [string, unknown] => [id, behaviour]));
    for (const [gap, response] of Object.entries(gaps)) assert.equal(observed.get(gap), response, gap);
  });
}
