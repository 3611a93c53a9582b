/** The keys of a run: given by the user, or created on our own server as needed. */
import { randomBytes } from 'node:crypto';
import { redactor } from '../../conformance/client/credentials.ts';

export interface Key {
  readonly secret: string;
  /** Whether it was created for this run, as all keys then are. */
  readonly own: boolean;
  /** The key of a quiet client. If it was given, its plan may differ from that of the main key. */
  readonly quiet: boolean;
}

export interface Keys {
  /** The key that is measured. */
  readonly main: Key;
  /** A key that has not been used yet, or the main one if there is no other. */
  spare(): Promise<Key>;
  /** A second key for a quiet client; undefined if there is none. */
  quiet(): Promise<Key | undefined>;
  /** Replaces every key in a text. */
  redact(text: string): string;
}

/** Keys that the user has given. */
export function givenKeys(main: string, neighbour: string | undefined): Keys {
  const key = { secret: main, own: false, quiet: false };
  const quiet = neighbour === undefined ? undefined : { secret: neighbour, own: false, quiet: true };
  const redact = redactor([main, neighbour].filter((secret) => secret !== undefined));
  return { main: key, spare: async () => key, quiet: async () => quiet, redact };
}

/** Keys that `make` creates. */
export async function madeKeys(make: () => Promise<string>): Promise<Keys> {
  const secrets: string[] = [];
  const create = async (quiet = false): Promise<Key> => {
    const secret = await make();
    secrets.push(secret);
    return { secret, own: true, quiet };
  };
  const redact = (text: string) => redactor(secrets)(text);
  return { main: await create(), spare: () => create(), quiet: () => create(true), redact };
}

/** A wrong key of the same form: a server may refuse other forms before it compares or hashes a key. */
export function wrongKey(like: string): string {
  return like.slice(0, -8) + randomBytes(4).toString('hex');
}
