/**
 * SQL literals. A message of the simple query protocol has no parameters, but it can contain a whole transaction, which
 * takes less CPU time than the separate messages of the extended one (docs/benchmarks.md).
 */

/** Returns a literal for a text without U+0000. The prefix `E` gives backslashes one meaning under any setting. */
export function textLiteral(value: string): string {
  return `E'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** Returns an expression for an array of texts, none of which has a line feed. The first one is not empty. */
export function textArray(values: readonly string[]): string {
  return `pg_catalog.string_to_array(${textLiteral(values.join('\n'))}, E'\\n')`;
}

/**
 * Returns a literal for an array of integers, booleans, or texts of ASCII letters, digits, `_` and `-`. Undefined
 * becomes null.
 */
export function wordArray(values: readonly (string | number | boolean | null | undefined)[]): string {
  const words = values.map((value) => {
    if (value === null || value === undefined) return 'null';
    if (!/^(?!null$)[\w-]+$/i.test(`${value}`)) throw new TypeError('a value needs escaping');
    return value;
  });
  return `'{${words.join()}}'`;
}
