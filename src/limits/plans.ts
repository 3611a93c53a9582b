import { OperatorError } from '../domain/operator-error.ts';

/** The number of requests that are admitted per UTC minute and per UTC day. */
export interface PlanLimits {
  readonly perMinute: number;
  readonly perDay: number;
}

/** The plans of specification.md section 8, except enterprise. */
const fixedLimits = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
};
type FixedName = keyof typeof fixedLimits;

/** A key's plan. An enterprise plan contains its own limits; the specification sets those of the others. */
export type Plan = { readonly name: FixedName } | ({ readonly name: 'enterprise' } & PlanLimits);

/** How many requests each plan allows, for people. */
export const planTexts: readonly (readonly [plan: string, limits: string])[] = [
  ...Object.entries(fixedLimits).map(([name, { perMinute, perDay }]) => {
    return [name, `up to ${inGroups(perMinute)} a minute and ${inGroups(perDay)} a day`] as const;
  }),
  ['enterprise', 'custom limits'],
];

function inGroups(count: number): string {
  return count.toLocaleString('en-US');
}

/** Returns the limits of a plan. */
export function limitsOf(plan: Plan): PlanLimits {
  return plan.name === 'enterprise' ? plan : fixedLimits[plan.name];
}

/**
 * Returns the plan with this name. `perMinute` and `perDay` must be whole numbers from 1 for enterprise, and undefined
 * for all other plans. Throws an OperatorError (exit code 2) that states the rule.
 */
export function planOf(name: unknown, perMinute: unknown, perDay: unknown): Plan {
  if (name === 'enterprise') {
    if (isCount(perMinute) && isCount(perDay)) return { name, perMinute, perDay };
    throw new OperatorError('the enterprise plan needs its requests per minute and per day, whole numbers from 1', 2);
  }
  if (typeof name !== 'string' || !Object.hasOwn(fixedLimits, name)) {
    throw new OperatorError(`the plan must be ${planList()}`, 2);
  }
  if (perMinute === undefined && perDay === undefined) return { name: name as FixedName };
  const rule = 'only enterprise takes requests per minute and per day';
  throw new OperatorError(`the ${name} plan has fixed limits; ${rule}`, 2);
}

/** Returns the plans with their limits, for a sentence. */
export function planList(): string {
  const plans = planTexts.map(([name, limits]) => `${name} (${limits})`);
  return `${plans.slice(0, -1).join(', ')} or ${plans.at(-1)}`;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}
