/** Raw headers, as Node has them: name, value, name, value, … */

/** The value of a header's first line (`name` in lower case); undefined without one. */
export function firstLineOf(rawHeaders: readonly string[], name: string): string | undefined {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (sameName(rawHeaders[i]!, name)) return rawHeaders[i + 1];
  }
  return undefined;
}

/** The values of all lines of a header (`name` in lower case), in order. */
export function linesOf(rawHeaders: readonly string[], name: string): readonly string[] {
  let lines: string[] | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!sameName(rawHeaders[i]!, name)) continue;
    if (lines === undefined) lines = [rawHeaders[i + 1]!]; // an empty list would get room for 17 at the first push
    else lines.push(rawHeaders[i + 1]!);
  }
  return lines ?? noLines;
}

const noLines: readonly string[] = [];

function sameName(given: string, lowerCase: string): boolean {
  return given.length === lowerCase.length && given.toLowerCase() === lowerCase;
}
