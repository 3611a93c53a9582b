/**
 * The groups of families: two halves of the first families, and the later ones. Authors of checks may look at the
 * faults of the seen half and at the later ones; the unseen half is only measured. The hash of the commit that added
 * the first families decides which half a family is in, so nobody chose.
 */
import { createHash } from 'node:crypto';
import { addedFamilies, firstFamilies } from './families.ts';
import type { Family } from './family.ts';

const commit = 'b10f0faeab40f49b15fbcdf7691c3181ba0faafc';

export const groupNames = ['seen', 'unseen', 'later'] as const;
export type Group = (typeof groupNames)[number];

const rank = ({ name }: Family): string =>
  createHash('sha256')
    .update(commit + name)
    .digest('hex');

/** The families of a group. */
export function familiesOf(group: Group): readonly Family[] {
  if (group === 'later') return addedFamilies;
  const sorted = firstFamilies.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1));
  const middle = Math.ceil(sorted.length / 2);
  return group === 'seen' ? sorted.slice(0, middle) : sorted.slice(middle);
}
