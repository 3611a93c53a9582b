/** All rules. */
import { animalRules } from './animals.ts';
import { bodyRules } from './bodies.ts';
import { limitRules } from './limits.ts';
import type { Rule } from './rule.ts';

export const rules: readonly Rule[] = [...bodyRules, ...animalRules, ...limitRules];
