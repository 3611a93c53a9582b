/** The keys of a run, and whom they belong to: given by whoever started it, or made for our own server as they are needed. */
import { redactor } from '../../conformance/client/credentials.ts';

export interface Key {
  readonly secret: string;
  /** The day of such a key is nobody's concern: it was made for this run. */
  readonly own: boolean;
  /** Its plan may be another than the one that the run was promised. */
  readonly otherPlan?: true;
}

export interface Keys {
  /** The key that is measured. */
  readonly main: Key;
  /** A key that nobody has used yet, or the main one where there is no other. */
  spare(): Promise<Key>;
  /** A second key, whose holder keeps quiet; undefined where there is none. */
  quiet(): Promise<Key | undefined>;
  /** Whether keys cost nothing: made as they are needed. */
  readonly plenty: boolean;
  /** Takes every key out of a text. */
  redact(text: string): string;
}

/** Keys that were given. */
export function givenKeys(main: string, neighbour: string | undefined): Keys {
  const key: Key = { secret: main, own: false };
  const quiet: Key | undefined = neighbour === undefined ? undefined : { secret: neighbour, own: false, otherPlan: true };
  return {
    main: key,
    spare: async () => key,
    quiet: async () => quiet,
    plenty: false,
    redact: redactor([main, neighbour].filter((secret) => secret !== undefined)),
  };
}

/** Keys that `make` makes. */
export async function madeKeys(make: () => Promise<string>): Promise<Keys> {
  const secrets: string[] = [];
  const spare = async (): Promise<Key> => {
    const secret = await make();
    secrets.push(secret);
    return { secret, own: true };
  };
  return { main: await spare(), spare, quiet: spare, plenty: true, redact: (text) => redactor(secrets)(text) };
}
