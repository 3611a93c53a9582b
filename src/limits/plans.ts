import { OperatorError } from '../domain/operator-error.ts';

/** How many requests are admitted in one UTC minute and in one UTC day. */
export interface PlanLimits {
  readonly perMinute: number;
  readonly perDay: number;
}

/** The plans of specification.md section 8, but for enterprise. */
const fixedLimits = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
};
type FixedName = keyof typeof fixedLimits;

/** A key's plan. Enterprise carries its own numbers; the others' are the specification's. */
export type Plan = { readonly name: FixedName } | ({ readonly name: 'enterprise' } & PlanLimits);

/** The numbers of a plan. */
export function limitsOf(plan: Plan): PlanLimits {
  return plan.name === 'enterprise' ? plan : fixedLimits[plan.name];
}

/**
 * The plan of this name. `perMinute` and `perDay` (whole numbers from 1) must be given for enterprise, and for no other.
 * Throws OperatorError (exit code 2) that names the rule.
 */
export function planOf(name: unknown, perMinute: unknown, perDay: unknown): Plan {
  if (name === 'enterprise') {
    if (isCount(perMinute) && isCount(perDay)) return { name, perMinute, perDay };
    throw new OperatorError('the enterprise plan needs its requests per minute and per day, whole numbers from 1', 2);
  }
  if (typeof name !== 'string' || !Object.hasOwn(fixedLimits, name)) {
    throw new OperatorError(`the plan must be one of ${Object.keys(fixedLimits).join(', ')}, enterprise`, 2);
  }
  if (perMinute === undefined && perDay === undefined) return { name: name as FixedName };
  const rule = 'requests per minute and per day are given for enterprise alone';
  throw new OperatorError(`the ${name} plan has its own numbers; ${rule}`, 2);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}
