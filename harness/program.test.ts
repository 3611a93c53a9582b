import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotStarted, outputOf, Program, reasonIn } from './program.ts';

test('a command that does not exist ends with the reason', async (t) => {
  const program = new Program(t, ['/no/such/program']);
  await assert.rejects(program.printed(/./), new NotStarted('spawn /no/such/program ENOENT'));
  await assert.rejects(outputOf(program.ended), new NotStarted('spawn /no/such/program ENOENT'));
  assert.notEqual((await program.kill()).code, 0);
});

test('the reason for the end of a program is found in what it printed', () => {
  assert.equal(reasonIn('at x\nError: no such thing\n    at y\n\nNode.js v20\n'), 'Error: no such thing');
  assert.equal(reasonIn('starting\npetstore: the folder is held\n'), 'petstore: the folder is held');
  assert.equal(reasonIn(''), undefined);
});
