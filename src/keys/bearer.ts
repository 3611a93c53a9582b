/** Returns the token in the value of `Authorization` (RFC 6750 section 2.1), or null if its scheme is not Bearer. */
export function bearerToken(credentials: string): string | null {
  return /^bearer +([^ ].*)$/is.exec(credentials)?.[1] ?? null;
}
