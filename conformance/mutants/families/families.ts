/** All families of faults. Their authors knew the specification but not the checks. */
import { faultsOf, type Family, type Fault } from './family.ts';
import { fifthFamilies } from './fifth-faults.ts';
import { fifthLimitFamilies } from './fifth-limit-faults.ts';
import { fourthFamilies } from './fourth-faults.ts';
import { fourthLimitFamilies } from './fourth-limit-faults.ts';
import { inputFamilies } from './input-faults.ts';
import { laterFamilies } from './later-faults.ts';
import { laterLimitFamilies } from './later-limit-faults.ts';
import { limitFamilies } from './limit-faults.ts';
import { stateFamilies } from './state-faults.ts';
import { thirdFamilies } from './third-faults.ts';
import { thirdLimitFamilies } from './third-limit-faults.ts';

/** The first families, of which split.ts makes two halves. */
export const firstFamilies: readonly Family[] = [...limitFamilies, ...inputFamilies, ...stateFamilies];

/** Families that were added later. */
export const addedFamilies: readonly Family[] = [
  ...laterFamilies,
  ...laterLimitFamilies,
  ...thirdFamilies,
  ...thirdLimitFamilies,
  ...fourthFamilies,
  ...fourthLimitFamilies,
  ...fifthFamilies,
  ...fifthLimitFamilies,
];

export const faultFamilies: readonly Family[] = [...firstFamilies, ...addedFamilies];

/** The fault with this id, or undefined. */
export function faultOf(id: string): Fault | undefined {
  const [, name, number] = /^(.*) #(\d+)$/.exec(id) ?? [];
  const family = faultFamilies.find((one) => one.name === name);
  return family && faultsOf(family, Number(number))[Number(number) - 1];
}
