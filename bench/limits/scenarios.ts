/** All scenarios, in the order in which they run: what must wait for a window's end comes where others have filled the time. */
import { ban } from './scenarios/ban.ts';
import { boundary } from './scenarios/boundary.ts';
import { exact } from './scenarios/exact.ts';
import { neighbour } from './scenarios/neighbour.ts';
import { recovery } from './scenarios/recovery.ts';
import { refusal } from './scenarios/refusal.ts';
import { strangers } from './scenarios/strangers.ts';

export const scenarios = [exact, recovery, neighbour, refusal, strangers, boundary, ban] as const;

export type ScenarioName = (typeof scenarios)[number]['name'];

export function isScenarioName(text: string): text is ScenarioName {
  return scenarios.some(({ name }) => name === text);
}
