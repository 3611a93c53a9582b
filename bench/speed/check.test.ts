import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import { check, checkKept, createOne, type Demand } from './check.ts';
import { createRow, getRow, listRow, refusedRow, unauthorizedRow, type Row } from './rows.ts';
import { askOnce, newAnimal, spend } from './site.ts';
import { failure, right, serve, type Reply } from './testing.ts';

describe('before a server is measured', () => {
  it('right answers pass', async (t) => {
    const site = await serve(t, right());
    for (const row of [listRow, getRow, createRow, unauthorizedRow, refusedRow]) await check(site, row, 'service');
  });

  /** A fault in some answer, the row that sees it, and what is said of it. */
  const faults: readonly (readonly [string, Row, (reply: Reply, request: IncomingMessage) => Reply, RegExp])[] = [
    ['a wrong status', listRow, (reply) => ({ ...reply, status: 500 }), /must be answered 200, and was 500/],
    ['nineteen animals', listRow, (reply) => ({ ...reply, body: (reply.body as unknown[]).slice(1) }), /GET \/pets\?limit=20 must give/],
    ['another animal', getRow, (reply) => ({ ...reply, body: { ...(reply.body as object), name: 'Rex' } }), /must give .*Animal 500.* and gave .*Rex/],
    ['no id', createRow, (reply) => (reply.status === 201 ? { ...reply, body: newAnimal } : reply), /must have an id/],
    ['a created animal that is gone', createRow, (reply, { method }) => (method === 'GET' ? failure(404) : reply), /GET \/pets\/1001 .* was 404/],
    ['no validation', createRow, (reply) => (reply.status === 400 ? { ...reply, status: 201 } : reply), /without a category must be answered 400/],
    ['any key', unauthorizedRow, (reply, { headers }) => (headers.authorization === undefined ? reply : { ...reply, status: 200 }), /wrong key must be answered 401/],
    ['no error body', unauthorizedRow, (reply) => ({ ...reply, body: { error: 'no' } }), /must have an Error/],
    ['no Retry-After', refusedRow, (reply) => ({ status: reply.status, body: reply.body }), /Retry-After/],
    ['no limit', listRow, (reply) => ({ ...reply, headers: { 'X-RateLimit-Limit': 'none' } }), /x-ratelimit-limit/],
  ];
  for (const [title, row, fault, said] of faults) {
    it(`${title} is found and named`, async (t) => {
      const answer = right();
      const site = await serve(t, (request, body) => fault(answer(request, body), request));
      await assert.rejects(check(site, row, 'service'), said);
    });
  }

  it('no more is asked than was demanded', async (t) => {
    const site = await serve(t, (request, body) => ({ ...right()(request, body), headers: { 'X-RateLimit-Limit': '' } }));
    for (const demand of ['animals', 'status'] as readonly Demand[]) await check(site, listRow, demand);
  });

  it('a create that was answered and not kept is found', async (t) => {
    const site = await serve(t, right());
    const before = await createOne(site, createRow);
    for (let i = 0; i < 30; i++) await askOnce(site, createRow);
    await checkKept(site, createRow, before, 30);
    await assert.rejects(checkKept(site, createRow, before, 32), /^Error: 32 creates were answered 201, and 31 animals were added$/);
    const answer = right();
    const forgetful = await serve(t, (request, body) => (request.url === '/v1/pets/1016' ? failure(404) : answer(request, body)));
    const first = await createOne(forgetful, createRow);
    for (let i = 0; i < 30; i++) await askOnce(forgetful, createRow);
    await assert.rejects(checkKept(forgetful, createRow, first, 30), /GET \/pets\/1016 of a created animal .* was 404/);
  });

  it('a key is spent until it is refused, or said to be endless', async (t) => {
    let left = 1;
    await spend(await serve(t, (request, body) => (left-- > 0 ? { status: 200, body: [] } : right()(request, body))), refusedRow);
    await assert.rejects(spend(await serve(t, () => ({ status: 200, body: [] })), refusedRow), /answered 200, 200, 200, 200, never 429/);
  });
});

describe('without sync', () => {
  it('nothing waits for the disk', () => {
    // No such file is open, so each of them would fail.
    const script = `
      import { fdatasync, fsync, fdatasyncSync, fsyncSync } from 'node:fs';
      import { open } from 'node:fs/promises';
      fdatasyncSync(9999); fsyncSync(9999);
      for (const sync of [fdatasync, fsync]) await new Promise((resolve, reject) => sync(9999, (error) => error ? reject(error) : resolve()));
      const file = await open(process.execPath);
      await file.close();
      await file.sync(); await file.datasync();
      console.log('fine');`;
    const preload = new URL('no-sync.mjs', import.meta.url).href;
    const { stdout, stderr } = spawnSync(process.execPath, ['--import', preload, '--input-type=module', '--eval', script], { encoding: 'utf8' });
    assert.equal(stdout, 'fine\n', stderr);
  });
});
