/** Bodies that a server or a proxy compresses although the kit asks for the coding `identity`. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { version } from '../../harness/bundle.ts';
import { fakeClock } from '../testing/responses.ts';
import { proxy, smallServer, type Server } from '../testing/servers.ts';
import { headersOfGet, headersOfPost } from '../model/exchange.ts';
import { failuresText, run, session } from '../testing/sessions.ts';
import type { Owner } from '../../harness/owner.ts';
import { codingsIn, decode } from './content-coding.ts';

const json = Buffer.from('[{"id":1,"name":"Zo\u00eb","categoryId":7}]');

test('gzip, deflate with and without its header, br, and several codings are decoded', () => {
  const cases: readonly (readonly [string[], Uint8Array])[] = [
    [['gzip'], gzipSync(json)],
    [['X-GZip'], gzipSync(json)],
    [['deflate'], deflateSync(json)],
    [['deflate'], deflateRawSync(json)],
    [['br'], brotliCompressSync(json)],
    [['gzip, identity', 'br'], brotliCompressSync(gzipSync(json))],
    [['identity', ''], json],
  ];
  for (const [values, body] of cases) assert.deepEqual(decode(body, values, 1_000), { body: json }, values.join());
});

test('an unknown coding and an empty body are left as they are', () => {
  assert.deepEqual(decode(json, ['utf-8'], 1_000), { body: json });
  assert.deepEqual(decode(Buffer.alloc(0), ['gzip'], 1_000), { body: Buffer.alloc(0) });
  assert.deepEqual(codingsIn(['identity, GZIP', ' br']), ['GZIP', 'br']);
});

test('a body that is truncated, not compressed, or too large when decoded is kept, with the reason', () => {
  const bomb = gzipSync(Buffer.alloc(1_000_000));
  for (const [body, reason] of [
    [gzipSync(json).subarray(0, -9), /^it has Content-Encoding: gzip, but cannot be decoded: unexpected end of file$/],
    [json, /^it has Content-Encoding: gzip, but cannot be decoded: incorrect header check$/],
    [bomb, /^it has Content-Encoding: gzip, but cannot be decoded: .*larger than 1000 bytes$/],
  ] as const) {
    const decoded = decode(body, ['gzip'], 1_000);
    assert.match(decoded.decodingError ?? '', reason);
    assert.equal(decoded.body, body);
  }
});

describe('a run of the kit', () => {
  /** The results of a run through a proxy that changes every body and labels it as gzip. */
  const behind = async (t: Owner, server: Server, change: (body: Buffer) => Buffer) => {
    const changing = await proxy(t, server, (_, response) => {
      response.body = change(response.body);
      response.headers.push(['Content-Encoding', 'gzip']);
    });
    const of = session(changing, { only: ['service.json', 'pets.', 'list.answers'] }, fakeClock(Date.now()));
    const results = await run(of);
    const compression = of.ledger.observations().find(({ id }) => id === 'service.compression');
    return { results, failed: results.filter(({ verdict }) => verdict === 'failed'), compression, changing };
  };

  test('behind a proxy that compresses is reported once, and fails nothing', async (t) => {
    const { failed, results, compression, changing } = await behind(t, await smallServer(t), gzipSync);
    assert.deepEqual(failed, [], failuresText(results));
    assert.equal(compression?.behaviour, 'yes, as gzip, perhaps by a proxy');
    // The model varies these headers in some requests.
    const rows = [headersOfGet, headersOfPost].flatMap((dimension) => dimension.rows);
    const varied = rows.map(({ name }) => name.replace(/ only$/, ''));
    for (const { headers } of changing.received) {
      const { accept, 'accept-encoding': coding, 'user-agent': agent } = headers;
      assert.ok(coding === 'identity' || varied.includes(`Accept-Encoding: ${coding}`), coding);
      assert.ok(accept === '*/*' || varied.includes(accept === undefined ? 'no Accept' : `Accept: ${accept}`), accept);
      const isNameless = agent === undefined && varied.includes('no User-Agent');
      assert.ok(isNameless || agent === `petstore-conformance/${version}`, agent);
    }
    for (const name of ['accept', 'accept-encoding', 'user-agent'])
      assert.ok(new Set(changing.received.slice(0, 20).map(({ headers }) => headers[name])).size === 1, name);
  });

  test('behind a proxy whose bodies cannot be decoded fails service.json, with the reason', async (t) => {
    for (const [change, reason] of [
      [(body: Buffer) => gzipSync(body).subarray(0, -9), 'unexpected end of file'],
      [(body: Buffer) => body, 'incorrect header check'],
    ] as const) {
      const { failed } = await behind(t, await smallServer(t), change);
      const json = failed.find(({ id }) => id === 'service.json');
      const received = `a body that is not JSON: it has Content-Encoding: gzip, but cannot be decoded: ${reason}`;
      assert.equal(json?.failures[0]?.received, received);
    }
  });

  test('ends with the name of a coding that the kit cannot decode, and what to do; nothing fails', async (t) => {
    const zstd = Buffer.from('28b52ffd0400110000', 'hex');
    for (const [from, coding] of [[1, 'zstd'], [1, 'compress'], [20, 'zstd']] as const) {
      const server = await proxy(t, await smallServer(t), (_, response) => {
        if (server.received.length < from) return;
        response.body = zstd;
        response.headers.push(['Content-Encoding', coding]);
      });
      const of = session(server, { only: ['service.json', 'list.', 'get.'] }, fakeClock(Date.now()));
      const message = new RegExp(
        `^http.* returns \\d+ with Content-Type: application/json in the content coding ${coding}, which cannot be ` +
          'decoded: the server, or a proxy or CDN in front of it, compresses although .*; turn off this compression',
      );
      if (from === 1) {
        await assert.rejects(run(of), { name: 'Untestable', message });
        assert.equal(server.received.length, 1);
      } else {
        assert.deepEqual((await run(of)).filter(({ verdict }) => verdict === 'failed'), []);
        assert.match(of.lost?.message ?? '', message);
      }
    }
  });

  test('continues if a text is labelled with a coding that does not exist', async (t) => {
    const server = await proxy(t, await smallServer(t), (_, response) => {
      response.headers.push(['Content-Encoding', 'utf-8']);
      if (response.status === 404) response.body = Buffer.from('<p>Not found: Zo\u00eb</p>');
    });
    const of = session(server, { only: ['list.', 'get.', 'error.object'] }, fakeClock(Date.now()));
    const failed = (await run(of)).filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
    assert.deepEqual([failed, of.lost], [['error.object'], undefined]);
  });
});
