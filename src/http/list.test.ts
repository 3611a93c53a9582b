import assert from 'node:assert/strict';
import test from 'node:test';
import { ListElement } from './list.ts';

const close = new ListElement('close');

test('finds an element of a list, in any case, and others', () => {
  const cases: [list: string | undefined, isIn: boolean, hasOthers: boolean][] = [
    [undefined, false, false],
    ['', false, false],
    ['close', true, false],
    ['Close', true, false],
    [' \tCLOSE\t ', true, false],
    ['close,', true, false],
    [', ,\t,close , ,', true, false],
    ['close, close', true, false],
    [' , ,', false, false],
    ['keep-alive', false, true],
    ['keep-alive, close', true, true],
    ['close,a', true, true],
    ['a,close,b', true, true],
    ['closed', false, true],
    ['a close', false, true],
    ['close b', false, true],
    ['close close', false, true],
    ['"close"', false, true],
  ];
  for (const [list, isIn, hasOthers] of cases) {
    assert.deepEqual([close.isIn(list), close.hasOthersIn(list)], [isIn, hasOthers], list);
  }
});

test('takes time linear in the length', () => {
  const start = performance.now();
  for (const unit of [',', ', ', ' ', '\t,', 'close,', 'close ,', 'close', 'a,', 'a']) {
    for (const end of ['', 'a', 'close', ',']) {
      const list = unit.repeat((1 << 18) / unit.length) + end;
      close.isIn(list);
      close.hasOthersIn(list);
    }
  }
  assert(performance.now() - start < 20_000);
});
