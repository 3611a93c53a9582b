/** All families of faults. Their author knew the specification but not the checks. */
import { faultsOf, type Family, type Fault } from './family.ts';
import { inputFamilies } from './input-faults.ts';
import { limitFamilies } from './limit-faults.ts';
import { stateFamilies } from './state-faults.ts';

export const faultFamilies: readonly Family[] = [...limitFamilies, ...inputFamilies, ...stateFamilies];

/** The fault with this id, or undefined. */
export function faultOf(id: string): Fault | undefined {
  const [, name, number] = /^(.*) #(\d+)$/.exec(id) ?? [];
  const family = faultFamilies.find((one) => one.name === name);
  return family && faultsOf(family, Number(number))[Number(number) - 1];
}
