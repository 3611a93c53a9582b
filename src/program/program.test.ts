import assert from 'node:assert/strict';
import test from 'node:test';
import { asCalled } from './program.ts';

test('the commands in a message are those of this program, with the data of its command line', (t) => {
  const { argv } = process;
  t.after(() => void (process.argv = argv));
  const called = (args: readonly string[], message = 'check with "petstore keys list" or "petstore usage"'): string => {
    process.argv = ['/bin/node', '/usr/bin/petstore', ...args];
    return asCalled(message);
  };
  for (const [args, flag] of [
    [['keys', 'list'], ''],
    [['keys', 'list', '--data', 'a b'], " --data 'a b'"],
    [['--data=$(id)', 'keys', 'rotate', 'k1', '--grace', '1h'], " --data '$(id)'"],
    [['keys', 'create', '--name', '--data'], ''],
    [['usage', '--database', 'postgres://h/d'], ' --database postgres://h/d'],
    [['usage', '--database', 'postgres://u:p@ss@h/d'], ' --database postgres://u@h/d'],
  ] as const) {
    assert.equal(called(args), `check with "petstore keys list${flag}" or "petstore usage${flag}"`, args.join(' '));
  }
  for (const message of ['"petstore verify --data /b" names 2 more', 'the name is "petstore"', 'a petstore key']) {
    assert.equal(called(['restore', '/b', '--data', '/a'], message), message);
  }
});
