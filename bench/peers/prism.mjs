// Prism mocking src/operations/openapi.json: what `prism mock` starts, with its options and no logs, after the README of
// @stoplight/prism-http-server. (By the command line a second process would serve in production, and the bench measures the
// one that it has started.)
//
// What it cannot do is told in ../speed/peers.ts. A page of its has three animals; any bearer token passes, and none is 401; its
// X-RateLimit headers are examples, too.
import { readFileSync } from 'node:fs';
import { getHttpOperationsFromSpec } from '@stoplight/prism-cli/dist/operations.js';
import { createLogger } from '@stoplight/prism-core';
import { createServer } from '@stoplight/prism-http-server';
import { announce } from './contract.mjs';

const description = JSON.parse(readFileSync(new URL('../../src/operations/openapi.json', import.meta.url), 'utf8'));

// A mock of Prism's stands at the root, whatever the servers of the description: so their path becomes part of the paths.
for (const [path, item] of Object.entries(description.paths)) {
  const [{ url }] = item.servers ?? description.servers;
  delete description.paths[path];
  description.paths[url.replace(/\/$/, '') + path] = item;
}

const server = createServer(await getHttpOperationsFromSpec(description), {
  cors: false,
  config: {
    checkSecurity: true,
    validateRequest: true,
    validateResponse: true,
    mock: { dynamic: false },
    isProxy: false,
    errors: false,
  },
  components: { logger: createLogger('prism', { level: 'silent' }) },
});

const address = await server.listen(0, '127.0.0.1');
announce(new URL(address).port, () => {}); // Its own close() waits for idle connections to end.
