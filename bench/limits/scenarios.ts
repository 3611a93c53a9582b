/** All scenarios, in the order in which they run. */
import type { Scenario } from './scenario.ts';
import { ban } from './scenarios/ban.ts';
import { boundary } from './scenarios/boundary.ts';
import { neighbour, strangers } from './scenarios/floods.ts';
import { latency } from './scenarios/latency.ts';

export const scenarios: readonly Scenario[] = [latency, neighbour, strangers, boundary, ban];
