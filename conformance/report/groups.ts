/** Failures of a requirement that have the same cause, of which one example is reported. */
import type { Failure, RequirementResult } from '../verdicts/results.ts';

/**
 * Failures of the same kind: they differ only in numbers and in quoted values, and in why something is required.
 * Statuses are not such numbers.
 */
function kindOf({ required, received }: Failure): string {
  const status = /^(\d{3})\b/.exec(required)?.[1];
  if (status !== undefined) return `${status}; ${received}`;
  const noun = (_: string, unit = ''): string => `#${unit.replace(/s$/, '')}`;
  const general = (text: string): string => text.replace(/"(?:[^"\\]|\\.)*"/g, '"…"').replace(/\d+( \w+?s?\b)?/g, noun);
  return `${general(required)}; ${general(received)}`;
}

/** One failure of each kind. */
export function examplesOf({ failures }: RequirementResult): readonly Failure[] {
  return failures.filter((failure, i) => failures.findIndex((other) => kindOf(other) === kindOf(failure)) === i);
}
