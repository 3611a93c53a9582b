/** Which requirements the servers in this folder are expected to fail: the table in README.md. */
import { readFileSync } from 'node:fs';
import type { RequirementResult } from '../verdicts/results.ts';

/** The requirements that README.md lists for a server. */
export function expectedFailures(server: string): readonly string[] {
  const text = readFileSync(new URL('README.md', import.meta.url), 'utf8');
  const rows = [...text.matchAll(/^\| (\w+) \| `([\w.-]+)` \| .+ \|$/gm)];
  return rows.filter(([, name]) => name === server).map(([, , id]) => id!);
}

/** One line for each requirement that fails and should not, and for each that should fail and does not. */
export function differences(
  expected: readonly string[],
  results: readonly Pick<RequirementResult, 'id' | 'verdict' | 'reason' | 'failures'>[],
): readonly string[] {
  const unexpected = results
    .filter(({ id, verdict }) => verdict === 'failed' && !expected.includes(id))
    .map(({ id, failures }) => {
      const { required, received, smallestCase } = failures[0]!;
      return `${id} failed: required ${required}, received ${received}, smallest case ${smallestCase}`;
    });
  const missing = expected
    .map((id) => [id, results.find((result) => result.id === id)] as const)
    .filter(([, result]) => result?.verdict !== 'failed')
    .map(([id, result]) => `${id} should have failed: ${result?.verdict ?? 'it was not checked'}`);
  return [...unexpected, ...missing];
}
