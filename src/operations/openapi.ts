import { readFileSync } from 'node:fs';
import type { Operation } from './operation.ts';

/** Where openapi.json has the base path. It is replaced as text, because JSON.parse would round the int64s. */
const server = '"servers": [{"url": "/v1"}]';

/** `GET /openapi.json`: the description of the interface in OpenAPI 3.1. */
export function openApi(basePath: string): Operation {
  const text = readFileSync(new URL('openapi.json', import.meta.url), 'utf8');
  if (!text.includes(server)) throw new Error('openapi.json has no servers to fill in');
  const body = [Buffer.from(text.replace(server, `"servers": [{"url": "${basePath}"}]`))];
  return { name: 'openapi', takesJson: false, begin: () => () => ({ status: 200, headers: [], body }) };
}
