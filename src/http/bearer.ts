/** The tokens in the values of `Authorization` (RFC 6750 section 2.1). */
export class BearerTokens {
  #lastAuthorization = '';
  #lastToken: string | null = null;

  /**
   * The token in credentials of the bearer scheme, or null where there is none. Where they are those that were asked for last, as most are,
   * it is the same string, whose hash V8 knows: to look up a new one takes longer than all else about it.
   *
   * (How long two texts take to compare tells how much they have in common, but not to someone who may try 60 times a minute.)
   */
  in(authorization: string): string | null {
    if (authorization !== this.#lastAuthorization) {
      this.#lastAuthorization = authorization;
      this.#lastToken = tokenIn(authorization);
    }
    return this.#lastToken;
  }
}

function tokenIn(credentials: string): string | null {
  if (!credentials.startsWith('Bearer ') && !/^bearer /i.test(credentials)) return null;
  let start = 'Bearer '.length;
  while (credentials[start] === ' ') start++;
  return start < credentials.length ? credentials.slice(start) : null;
}
