/**
 * The two halves of the families. Authors of checks may look at the faults of the seen half; the unseen half is only
 * measured. The hash of the commit that added the families decides which half a family is in, so nobody chose.
 */
import { createHash } from 'node:crypto';
import { faultFamilies } from './families.ts';
import type { Family } from './family.ts';

const commit = 'b10f0faeab40f49b15fbcdf7691c3181ba0faafc';

export const halfNames = ['seen', 'unseen'] as const;
export type Half = (typeof halfNames)[number];

const rank = ({ name }: Family): string =>
  createHash('sha256')
    .update(commit + name)
    .digest('hex');

/** The families of a half. */
export function familiesOf(half: Half): readonly Family[] {
  const sorted = faultFamilies.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1));
  const middle = Math.ceil(sorted.length / 2);
  return half === 'seen' ? sorted.slice(0, middle) : sorted.slice(middle);
}
