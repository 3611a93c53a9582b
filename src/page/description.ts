/** The OpenAPI 3.1 document, as far as the page reads it. Integers are bigints. */
import type { Json } from './json.ts';

type Named<Value> = Readonly<Record<string, Value>>;
type Or<Value> = Value | { readonly $ref: string };

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Named<Schema>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly Json[];
  readonly const?: Json;
  readonly default?: Json;
}

/** A parameter, a header or a property. */
export interface Field {
  readonly name?: string;
  readonly in?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example?: Json;
}

export interface Media {
  readonly schema: Schema;
  readonly examples?: Named<Or<{ readonly summary: string; readonly value: Json }>>;
}

export interface Described {
  readonly description: string;
  readonly headers?: Named<Or<Field>>;
  readonly content?: Named<Media>;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly Or<Field>[];
  readonly requestBody?: Described;
  readonly responses: Named<Or<Described>>;
  readonly security?: readonly Named<unknown>[];
}

export interface OpenApi {
  readonly openapi: string;
  readonly info: Readonly<Record<'title' | 'version' | 'summary' | 'description', string>> & {
    readonly contact: { readonly name: string };
  };
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly Named<unknown>[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Named<Named<Operation>>;
  readonly components: {
    readonly securitySchemes: Named<{ readonly type: string; readonly scheme: string; readonly description: string }>;
    readonly headers: Named<Field>;
    readonly schemas: Named<Schema>;
  };
}

/** An operation with its method in upper case and its path, which includes the base path: `/v1/pets/{petId}`. */
export type Entry = { readonly operation: Operation; readonly method: string; readonly path: string };

export class Description {
  readonly root: OpenApi;
  /** All operations, in the order of the document. */
  readonly entries: readonly Entry[];

  constructor(root: OpenApi) {
    this.root = root;
    this.entries = Object.entries(root.paths).flatMap(([path, item]) => Object.entries(item).map(
      ([method, operation]) => ({ operation, method: method.toUpperCase(), path: root.servers[0]!.url + path })));
  }

  /** Follows a reference; returns everything else as it is. */
  resolve<Value extends object>(value: Or<Value>): Value {
    if (!('$ref' in value) || typeof value.$ref !== 'string') return value as Value;
    let found: unknown = this.root;
    for (const name of value.$ref.split('/').slice(1)) found = (found as Named<unknown>)[name];
    return this.resolve(found as Value);
  }
}

/** Returns the name of a component: the last segment of a reference. */
export function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}
