import createClient, { type Client } from 'openapi-fetch';
import { parse, stringify } from 'lossless-json';
import type { paths } from './types.js';

/** Integers as bigint, because a number rounds above 2^53. The status of an error and a quantity are integers, too. */
function exact(text: string): unknown {
  return parse(text, null, (digits) => (/^-?\d+$/.test(digits) ? BigInt(digits) : Number(digits)));
}

async function fetchExact(request: Request): Promise<Response> {
  const response = await fetch(request);
  response.json = async () => exact(await response.text());
  return response;
}

/** A client of the pet store at this URL, with exact int64 values. */
export function petStore(baseUrl: string, key: string): Client<paths> {
  return createClient<paths>({
    baseUrl,
    headers: { Authorization: `Bearer ${key}` },
    fetch: fetchExact,
    bodySerializer: (body: unknown) => stringify(body)!,
  });
}
