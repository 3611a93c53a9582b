import assert from 'node:assert/strict';
import { constants } from 'node:os';
import test from 'node:test';
import { OperatorError } from '../domain/operator-error.ts';
import { diskError } from './errors.ts';

test('an error of the file system names the file, and its code decides the advice', () => {
  const error = (code: string, errno: number, message: string): Error =>
    Object.assign(new Error(message), { code, errno, syscall: 'write' });
  const noSpace = error('ENOSPC', -constants.errno.ENOSPC, 'ENOSPC: no space left on device, write');
  assert.equal(
    diskError('write', '/d/f', noSpace).message,
    'cannot write /d/f: ENOSPC: no space left on device; make room on the disk',
  );
  const unknown = diskError('read', '/d/f', new Error('odd')).message;
  assert.equal(unknown, "cannot read /d/f: odd; the server's user must be able to read it");
  const known = new OperatorError('known');
  assert.equal(diskError('read', '/d/f', known), known);
  // Node reports this error in two ways, neither of which names it.
  for (const code of ['UNKNOWN', 'Unknown system error -122']) {
    assert.equal(
      diskError('write', '/d/f', error(code, -constants.errno.EDQUOT, `${code}: ${code}, write`)).message,
      'cannot write /d/f: EDQUOT: the disk quota is exceeded; '
        + "make room, or raise the disk quota of the server's user",
    );
  }
});
