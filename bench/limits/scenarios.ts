/** All scenarios, in the order in which they run. */
import type { Scenario } from './scenario.ts';
import { ban } from './scenarios/ban.ts';
import { boundary } from './scenarios/boundary.ts';
import { neighbour, strangers } from './scenarios/floods.ts';
import { exact, refusal } from './scenarios/overrun.ts';
import { recovery } from './scenarios/recovery.ts';

export const scenarios: readonly Scenario[] = [exact, recovery, neighbour, refusal, strangers, boundary, ban];
