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
  /** The routes of paths without a parameter. */
  readonly #fixed = new Map<string, Route<Operation>>();
  /** The others, by what stands before the parameter: `/pets/`. */
  readonly #open = new Map<string, Route<Operation>>();

  /** Adds an operation: `add('GET', '/pets/{petId}', …)`. */
  add(method: string, pattern: string, operation: Operation): this {
    const before = pattern.replace(/\{\w+\}$/, '');
    const routes = before === pattern ? this.#fixed : this.#open;
    const operations = new Map(routes.get(before)?.operations).set(method, operation);
    routes.set(before, { operations, parameter: '', allow: allowOf(operations) });
    return this;
  }

  /** The route of a path as it was sent, or null. Its segments are decoded; what was an escaped slash separates none. */
  find(path: string): Route<Operation> | null {
    const fixed = this.#fixed.get(path);
    if (fixed !== undefined) return fixed;
    if (path.includes('%')) return this.#findDecoded(splitPath(path));
    const begin = path.lastIndexOf('/') + 1;
    return this.#with(path.slice(0, begin), path.slice(begin));
  }

  #findDecoded(segments: readonly (string | null)[]): Route<Operation> | null {
    const texts = segments.map((segment) => (segment === null || segment.includes('/') ? noSegment : segment));
    const before = texts.slice(0, -1).map((text) => `/${text}`).join('');
    return this.#fixed.get(`${before}/${texts.at(-1)}`) ?? this.#with(`${before}/`, segments.at(-1) ?? '');
  }

  #with(before: string, parameter: string): Route<Operation> | null {
    const route = parameter === '' ? undefined : this.#open.get(before);
    return route === undefined ? null : { operations: route.operations, parameter, allow: route.allow };
  }
}

/** Stands for a segment that no pattern has: one with a broken escape, or with a slash in it. */
const noSegment = '/';

function allowOf(operations: ReadonlyMap<string, unknown>): string {
  return [...operations.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).concat('OPTIONS').join(', ');
}
