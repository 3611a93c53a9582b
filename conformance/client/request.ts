/** A request as the kit sends it, with what the specification says about its response. */
import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import type { NewPet, PetStatus } from './pet.ts';

export type Operation = 'listPets' | 'createPet' | 'getPet' | 'listOrders' | 'other';

/** An Authorization header, and how to write it in a shell without showing the key. */
export interface Credential {
  /** The value of the header; undefined for no header. */
  readonly header: string | undefined;
  /** The same for a POSIX shell between double quotes, with the key as $API_KEY. */
  readonly shell: string | undefined;
  /** The key whose limits the request uses, or 'none' if the credential is not valid. */
  readonly key: 'main' | 'exhaust' | 'none';
  /** The key whose limits the request uses if a server accepts the credential, which the specification leaves open. */
  readonly acceptedAs?: 'main' | 'exhaust';
}

/** Sends requests one after the other on one connection, while the server keeps it open. */
export type Connection = HttpAgent | HttpsAgent;

/** The statuses with which a server may refuse a request. */
export type Refusals = readonly (number | '4xx')[];

export interface Request {
  readonly operation: Operation;
  readonly method: string;
  /** Path and query, below the base URL. */
  readonly target: string;
  /** `target` for a shell, if it contains the key. */
  readonly shellTarget?: string;
  readonly credential: Credential;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** `headers` for a shell between double quotes, if they contain the key. */
  readonly shellHeaders?: Request['headers'];
  /** The name of a header that every other request has, and this one does not. */
  readonly without?: string;
  readonly body?: Uint8Array;
  /** How the names of its headers are spelled; as usual if absent. */
  readonly headerCase?: 'lower' | 'upper';
  /** The requests that are sent before it on the same new connection. */
  readonly before?: readonly Request[];
  /** The connection on which it is sent; any idle one if absent. */
  readonly connection?: Connection;
  /** The requests that are sent at the same time. */
  readonly beside?: readonly Request[];
  /** Whether it is sent with those on one new connection, before there is a response to any of them. */
  readonly isPipelined?: true;
  /** The values of its combination that are not plain, in words. */
  readonly combines?: string;
  /** Sends the body in pieces, which end at these numbers of bytes, with a pause after each. */
  readonly cuts?: readonly number[];
  /** The limit asked for, if the specification allows it. */
  readonly limit?: number;
  /** The filter asked for, if the specification allows it. */
  readonly status?: PetStatus;
  /** The animal asked for, if the path names one. */
  readonly petId?: bigint;
  /** The fields of the body that a 201 must return. */
  readonly sent?: Partial<NewPet>;
  /** The status that the specification requires, if it leaves no choice. */
  readonly mustBe?: number;
  /** The specification does not say how to respond: only the rules of every response apply. */
  readonly open?: true;
  /** The statuses with which the server may refuse it because of its headers, whatever it asks for. */
  readonly mayBeRefused?: Refusals;
  /** Whether it is sent only once, even if it gets a 429. */
  readonly isSentOnce?: true;
  /** Whether it repeats a request that got a server error. */
  readonly repeats?: true;
  /** Whether an earlier attempt got no response, a 503 or the page of a proxy. The server may have carried it out. */
  readonly isSentAgain?: true;
}

/** The name of a header as the request spells it. */
export function spelled(name: string, { headerCase }: Request): string {
  if (headerCase === undefined) return name;
  return headerCase === 'lower' ? name.toLowerCase() : name.toUpperCase();
}

/** Whether the status may be a refusal of the headers of the request. */
export function isOfHeaders({ mayBeRefused = [] }: Request, status: number): boolean {
  return mayBeRefused.some((one) => (one === '4xx' ? status >= 400 && status < 500 : one === status));
}

/** Whether the request permits a body that is compressed. */
export function permitsCoding({ headers }: Request): boolean {
  return headers.some(([name]) => name === 'Accept-Encoding');
}

/** The request as `GET /pets?limit=1`, without a key. */
export function nameOf({ method, target, shellTarget }: Request): string {
  return `${method} ${shellTarget ?? target}`;
}
