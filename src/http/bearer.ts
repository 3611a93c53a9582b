/** The token in the value of `Authorization` (RFC 6750 section 2.1), or null if it is no credentials of the bearer scheme. */
export function bearerToken(credentials: string): string | null {
  if (!credentials.startsWith('Bearer ') && !/^bearer /i.test(credentials)) return null;
  let start = 'Bearer '.length;
  while (credentials[start] === ' ') start++;
  return start < credentials.length ? credentials.slice(start) : null;
}
