/** Returns the token in the value of `Authorization` (RFC 6750 section 2.1), or null if its scheme is not Bearer. */
export function bearerToken(credentials: string): string | null {
  // The usual form, which takes a tenth of the time.
  const isUsual = credentials.startsWith('Bearer ') && credentials.length > 7 && credentials[7] !== ' ';
  if (isUsual) return credentials.slice(7);
  return /^bearer +([^ ].*)$/is.exec(credentials)?.[1] ?? null;
}
