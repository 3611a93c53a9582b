/** Groups failures with the same cause, which are reported together, with one example. */
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

/**
 * Whether two failures of different requirements have one cause: one response shows both, or both requests received
 * the same error status instead of the same other status.
 */
export function haveOneCause(one: Failure, other: Failure): boolean {
  const isOneResponse = one.curl === other.curl && one.response === other.response;
  const isErrorStatus = /^\d{3}\b/.test(one.required) && /^[45]\d\d$/.test(one.received);
  return isOneResponse || (isErrorStatus && kindOf(one) === kindOf(other));
}

/** The failed requirements in groups whose first failures have one cause. */
export function failedGroups(requirements: readonly RequirementResult[]): readonly (readonly RequirementResult[])[] {
  const groups: RequirementResult[][] = [];
  for (const result of requirements.filter(({ verdict }) => verdict === 'failed')) {
    const [failure] = result.failures;
    const group = groups.find(([first]) => {
      const example = first!.failures[0];
      return failure !== undefined && example !== undefined && haveOneCause(example, failure);
    });
    if (group === undefined) groups.push([result]);
    else group.push(result);
  }
  return groups;
}
