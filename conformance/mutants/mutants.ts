/** All mutants, by subject. */
import { authMutants } from './table/auth.ts';
import { bodyMutants } from './table/body.ts';
import type { Mutant } from './table/changes.ts';
import { createMutants } from './table/create.ts';
import { errorMutants } from './table/errors.ts';
import { headerMutants } from './table/headers.ts';
import { limitMutants } from './table/limits.ts';
import { listMutants } from './table/list.ts';
import { nameMutants } from './table/names.ts';
import { numberMutants } from './table/numbers.ts';
import { petMutants } from './table/pets.ts';
import { recoveryMutants } from './table/recovery.ts';
import { stateMutants } from './table/state.ts';
import { togetherMutants } from './table/together.ts';
import { valueMutants } from './table/values.ts';

/** The mutants of each subject, in the order of the results table. */
export const subjects: readonly (readonly [subject: string, mutants: readonly Mutant[]])[] = [
  ['authentication', authMutants],
  ['errors and types', errorMutants],
  ['pets and lists', [...petMutants, ...listMutants]],
  ['create', [...createMutants, ...valueMutants, ...bodyMutants]],
  ['exactness', [...nameMutants, ...numberMutants]],
  ['state', [...stateMutants, ...togetherMutants]],
  ['headers', headerMutants],
  ['limits', [...limitMutants, ...recoveryMutants]],
];

export const mutants: readonly Mutant[] = subjects.flatMap(([, ofSubject]) => ofSubject);
