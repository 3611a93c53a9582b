import { splitPath } from './url.ts';

/** What a path leads to: its operations by method, and what stood in the pattern's braces. */
export interface Route<Operation> {
  readonly operations: ReadonlyMap<string, Operation>;
  /** The value of the pattern's parameter, or '' if it has none. */
  readonly parameter: string;
  /** The value of `Allow` (RFC 9110 section 10.2.1): HEAD goes with GET, OPTIONS with everything. */
  readonly allow: string;
}

/** Finds operations by path. A pattern's last segment may stand in braces, `/pets/{petId}`: it takes any one that is not empty. */
export class Router<Operation> {
  /** By what stands before the parameter. They are a handful: to compare a path with each takes less time than to hash it. */
  readonly #known: { readonly text: string; readonly isOpen: boolean; readonly route: Route<Operation> }[] = [];

  /** Adds an operation: `add('GET', '/pets/{petId}', …)`. */
  add(method: string, pattern: string, operation: Operation): this {
    const text = pattern.replace(/\{\w+\}$/, '');
    const index = this.#known.findIndex((other) => other.text === text);
    const operations = new Map(this.#known[index]?.route.operations).set(method, operation);
    const allow = [...operations.keys()].flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])).concat('OPTIONS').join(', ');
    this.#known[index < 0 ? this.#known.length : index] = { text, isOpen: text !== pattern, route: { operations, parameter: '', allow } };
    this.#known.sort((one, other) => Number(one.isOpen) - Number(other.isOpen)); // a whole path goes before a parameter
    return this;
  }

  /** The route of a path as it was sent, or null. Its segments are decoded; what was an escaped slash separates none. */
  find(sent: string): Route<Operation> | null {
    const path = sent.includes('%') ? decoded(sent) : sent;
    for (const { text, isOpen, route } of this.#known) {
      if (text === path && !isOpen) return route;
      if (!isOpen || path.length <= text.length || !path.startsWith(text) || path.includes('/', text.length)) continue;
      return { operations: route.operations, parameter: path.slice(text.length).replaceAll(escapedSlash, '/'), allow: route.allow };
    }
    return null;
  }
}

/** Half of a surrogate pair, which no escapes stand for. */
const escapedSlash = '\ud800';

/** The decoded segments. An empty text, which is no path, for a broken escape. */
function decoded(path: string): string {
  const segments = splitPath(path);
  return segments.includes(null) ? '' : segments.map((segment) => `/${segment!.replaceAll('/', escapedSlash)}`).join('');
}
