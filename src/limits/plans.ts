import { OperatorError } from '../domain/operator-error.ts';

/** The plans of specification.md section 8. */
export const planNames = ['free', 'pro', 'business', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

/** A key's plan. Enterprise carries its own numbers; the others' are the specification's. */
export type Plan =
  | { readonly name: Exclude<PlanName, 'enterprise'> }
  | ({ readonly name: 'enterprise' } & PlanLimits);

/** How many requests are admitted in one UTC minute and in one UTC day. */
export interface PlanLimits {
  readonly perMinute: number;
  readonly perDay: number;
}

const limitsByName: Readonly<Record<Exclude<PlanName, 'enterprise'>, PlanLimits>> = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
};

/** The numbers of a plan. */
export function limitsOf(plan: Plan): PlanLimits {
  return plan.name === 'enterprise' ? plan : limitsByName[plan.name];
}

/**
 * The plan of this name. `perMinute` and `perDay` (whole numbers from 1) must be given for enterprise, and for no other.
 * Throws OperatorError (exit code 2) that names the rule.
 */
export function planOf(name: unknown, perMinute: unknown, perDay: unknown): Plan {
  const known = planNames.find((plan) => plan === name);
  if (known === undefined) throw new OperatorError(`the plan must be one of ${planNames.join(', ')}`, 2);
  if (known !== 'enterprise') {
    if (perMinute === undefined && perDay === undefined) return { name: known };
    throw new OperatorError(`the ${known} plan has its own numbers; requests per minute and per day are given for enterprise alone`, 2);
  }
  if (!isCount(perMinute) || !isCount(perDay)) {
    throw new OperatorError('the enterprise plan needs its requests per minute and per day, whole numbers from 1', 2);
  }
  return { name: known, perMinute, perDay };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}
