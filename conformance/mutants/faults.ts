/** Every fault that the server can be given, by topic. */
import { authFaults } from './faults/auth.ts';
import { bodyFaults } from './faults/body.ts';
import { createFaults } from './faults/create.ts';
import { errorFaults } from './faults/errors.ts';
import type { Fault } from './faults/fault.ts';
import { headerFaults } from './faults/headers.ts';
import { limitFaults } from './faults/limits.ts';
import { listFaults } from './faults/list.ts';
import { nameFaults } from './faults/names.ts';
import { numberFaults } from './faults/numbers.ts';
import { petFaults } from './faults/pets.ts';
import { recoveryFaults } from './faults/recovery.ts';
import { stateFaults } from './faults/state.ts';
import { valueFaults } from './faults/values.ts';

export type { Fault } from './faults/fault.ts';

/** The topics, in the order of a report. */
export const topics: readonly (readonly [topic: string, faults: readonly Fault[]])[] = [
  ['authentication', authFaults],
  ['errors and types', errorFaults],
  ['pets and lists', [...petFaults, ...listFaults]],
  ['create', [...createFaults, ...valueFaults, ...bodyFaults]],
  ['exactness', [...nameFaults, ...numberFaults]],
  ['state', stateFaults],
  ['headers', headerFaults],
  ['limits', [...limitFaults, ...recoveryFaults]],
];

export const faults: readonly Fault[] = topics.flatMap(([, ofTopic]) => ofTopic);
