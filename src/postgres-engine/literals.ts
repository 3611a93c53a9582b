/**
 * Literals of SQL. A message of the simple query protocol has no parameters, but it can hold a whole transaction, and
 * costs half as much as an extended query on both sides.
 */

/** Returns a literal for a text without U+0000. The prefix `E` gives backslashes the same meaning on each server. */
export function textLiteral(value: string): string {
  return `E'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** Returns an expression for an array of texts, none of which has a line feed. The first one is not empty. */
export function textArray(values: readonly string[]): string {
  return `pg_catalog.string_to_array(${textLiteral(values.join('\n'))}, E'\\n')`;
}

/** Returns a literal for an array of numbers, or of texts of ASCII letters, digits and `_`. Undefined becomes null. */
export function wordArray(values: readonly (string | number | boolean | null | undefined)[]): string {
  const words = values.map((value) => value ?? 'null').join();
  if (!/^[\w,-]*$/.test(words)) throw new TypeError('a value needs escaping');
  return `'{${words}}'`;
}
