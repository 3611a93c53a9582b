/** What the router finds for a path: its operations by method, and more. */
export interface Route<Operation> {
  readonly operations: ReadonlyMap<string, Operation>;
  /** The value of the pattern's parameter; empty if the pattern has none. */
  readonly parameter: string;
  /** The value of `Allow` (RFC 9110 section 10.2.1). Every path has OPTIONS. */
  readonly allow: string;
}

/** Finds operations by path. The last segment of a pattern may be a parameter, as in `/pets/{petId}`. */
export class Router<Operation> {
  /** By the text before the parameter. There are so few that comparing a path with each is faster than hashing it. */
  readonly #known: { readonly text: string; readonly isOpen: boolean; readonly route: Route<Operation> }[] = [];

  /** Adds an operation: `add('GET', '/pets/{petId}', …)`. */
  add(method: string, pattern: string, operation: Operation): this {
    const text = pattern.replace(/\{\w+\}$/, '');
    const index = this.#known.findIndex((other) => other.text === text);
    const operations = new Map(this.#known[index]?.route.operations).set(method, operation);
    if (method === 'GET') operations.set('HEAD', operation); // a HEAD is a GET without the body of the response
    const allow = [...operations.keys(), 'OPTIONS'].join(', ');
    const known = { text, isOpen: text !== pattern, route: { operations, parameter: '', allow } };
    this.#known[index < 0 ? this.#known.length : index] = known;
    this.#known.sort((one, other) => Number(one.isOpen) - Number(other.isOpen)); // a whole path before a parameter
    return this;
  }

  /** All operations; one that has several methods is there several times. */
  get operations(): readonly Operation[] {
    return this.#known.flatMap(({ route }) => [...route.operations.values()]);
  }

  /** Returns the route of a decoded path (see `decodePath`), or null. */
  find(path: string): Route<Operation> | null {
    for (const { text, isOpen, route } of this.#known) {
      if (text === path && !isOpen) return route;
      if (!isOpen || path.length <= text.length || !path.startsWith(text) || path.includes('/', text.length)) continue;
      return { operations: route.operations, parameter: path.slice(text.length), allow: route.allow };
    }
    return null;
  }
}
