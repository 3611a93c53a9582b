/** A response that a test has received. */
export interface HttpResponse {
  readonly status: number;
  /** By their names in lower case. No header of the server comes twice. */
  readonly headers: ReadonlyMap<string, string>;
  /** Empty if there is none. */
  readonly body: string;
}

/** Returns the code in an Error body. */
export function codeOf({ body }: HttpResponse): unknown {
  return (JSON.parse(body) as { code: unknown }).code;
}
