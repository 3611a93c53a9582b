/** Progress of a run on stderr: the scenario, its current step, and the time left. */
import { duration } from '../../conformance/report/words.ts';
import { progress } from '../measure/progress.ts';

/** Receives the progress of a run. */
export interface Watcher {
  /** A scenario begins. `secondsLeft` is about how long it and the following ones take. */
  begin(name: string, secondsLeft: number): void;
  doing(what: string): void;
  waiting(why: string, ms: number): void;
}

export class Progress implements Watcher {
  #name = '';

  begin(name: string, secondsLeft: number): void {
    this.#name = name;
    this.doing(`begins, about ${wholeSeconds(secondsLeft)} left`);
  }

  doing(what: string): void {
    if (this.#name !== '') progress(`${this.#name}: ${what}`);
  }

  waiting(why: string, ms: number): void {
    this.doing(`waiting ${wholeSeconds(ms / 1_000)} ${why}`);
  }
}

/** `1 min 20 s`. */
export function wholeSeconds(seconds: number): string {
  return duration(Math.max(1, Math.ceil(seconds))).replace('.0 s', ' s').replace(' 0 s', '');
}
