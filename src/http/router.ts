/** What a path leads to: its operations by method, and what stood in the pattern's braces. */
export interface Route<Operation> {
  readonly operations: ReadonlyMap<string, Operation>;
  /** The value of the pattern's parameter, or '' if it has none. */
  readonly parameter: string;
  /** The value of `Allow` (RFC 9110 section 10.2.1): HEAD goes with GET, OPTIONS with everything. */
  readonly allow: string;
}

interface Pattern<Operation> {
  readonly segments: readonly string[];
  readonly operations: Map<string, Operation>;
}

/** Finds operations by path. A pattern's segment in braces, `{petId}`, takes any one segment that is not empty. */
export class Router<Operation> {
  readonly #patterns: Pattern<Operation>[] = [];

  /** Adds an operation: `add('GET', 'pets/{petId}', …)`. */
  add(method: string, pattern: string, operation: Operation): this {
    const segments = pattern.split('/');
    let entry = this.#patterns.find((known) => known.segments.join('/') === pattern);
    if (entry === undefined) this.#patterns.push((entry = { segments, operations: new Map() }));
    entry.operations.set(method, operation);
    return this;
  }

  /** The route of a path's segments (a null segment matches nothing), or null. */
  find(path: readonly (string | null)[]): Route<Operation> | null {
    for (const { segments, operations } of this.#patterns) {
      if (segments.length !== path.length) continue;
      let parameter = '';
      const matches = segments.every((segment, index) => {
        const given = path[index];
        if (!segment.startsWith('{')) return segment === given;
        parameter = given ?? '';
        return parameter !== '';
      });
      if (matches) return { operations, parameter, allow: allowOf(operations) };
    }
    return null;
  }
}

function allowOf(operations: ReadonlyMap<string, unknown>): string {
  return [...operations.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).concat('OPTIONS').join(', ');
}
