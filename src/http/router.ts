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
  /** The routes of paths without a parameter. They are a handful: to compare a path with each is cheaper than to hash it. */
  readonly #fixed: Known<Operation>[] = [];
  /** The others, by what stands before the parameter: `/pets/`. */
  readonly #open: Known<Operation>[] = [];

  /** Adds an operation: `add('GET', '/pets/{petId}', …)`. */
  add(method: string, pattern: string, operation: Operation): this {
    const text = pattern.replace(/\{\w+\}$/, '');
    const known = text === pattern ? this.#fixed : this.#open;
    const index = known.findIndex((other) => other.text === text);
    const operations = new Map(known[index]?.route.operations).set(method, operation);
    known[index < 0 ? known.length : index] = { text, route: { operations, parameter: '', allow: allowOf(operations) } };
    return this;
  }

  /** The route of a path as it was sent, or null. Its segments are decoded; what was an escaped slash separates none. */
  find(path: string): Route<Operation> | null {
    const fixed = routeOf(this.#fixed, path);
    if (fixed !== null) return fixed;
    if (path.includes('%')) return this.#findDecoded(splitPath(path));
    for (const { text, route } of this.#open) {
      if (path.startsWith(text) && !path.includes('/', text.length)) return withParameter(route, path.slice(text.length));
    }
    return null;
  }

  #findDecoded(segments: readonly (string | null)[]): Route<Operation> | null {
    const texts = segments.map((segment) => (segment === null || segment.includes('/') ? noSegment : segment));
    const before = texts.slice(0, -1).map((text) => `/${text}`).join('');
    return routeOf(this.#fixed, `${before}/${texts.at(-1)}`) ?? withParameter(routeOf(this.#open, `${before}/`), segments.at(-1) ?? '');
  }
}

interface Known<Operation> {
  readonly text: string;
  readonly route: Route<Operation>;
}

function routeOf<Operation>(known: readonly Known<Operation>[], path: string): Route<Operation> | null {
  for (const { text, route } of known) {
    if (text === path) return route;
  }
  return null;
}

function withParameter<Operation>(route: Route<Operation> | null, parameter: string): Route<Operation> | null {
  return route === null || parameter === '' ? null : { operations: route.operations, parameter, allow: route.allow };
}

/** Stands for a segment that no pattern has: one with a broken escape, or with a slash in it. */
const noSegment = '/';

function allowOf(operations: ReadonlyMap<string, unknown>): string {
  return [...operations.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).concat('OPTIONS').join(', ');
}
