import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ratioText, table } from './table.ts';

it('a table is Markdown with aligned columns, whatever is in its cells', () => {
  assert.equal(
    table(
      ['a', 'b'],
      [
        ['x|y', '1'],
        ['line\nbreak', '22'],
      ],
    ),
    ['| a          |   b |', '|------------|----:|', '| x\\|y       |   1 |', '| line break |  22 |'].join('\n'),
  );
});

it('a ratio has as many digits as are credible', () => {
  assert.deepEqual([0.0123, 0.87, 1.15, 12.34, 140.2, NaN].map(ratioText), [
    '0.012',
    '0.87',
    '1.15',
    '12.3',
    '140',
    '–',
  ]);
});
