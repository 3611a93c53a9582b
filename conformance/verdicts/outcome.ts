/** How a check ends other than by passing. */
import type { Failure } from '../report/report.ts';

/** The requirement is broken. The message is fit for a terminal. */
export class Violated extends Error {
  override readonly name = 'Violated';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(`required: ${failure.required}\ncame: ${failure.came}\ncase: ${failure.smallestCase}\n${failure.curl}`);
    this.failure = failure;
  }
}

/** Nothing that came could have failed the requirement. */
export class Inconclusive extends Error {
  override readonly name = 'Inconclusive';
}

/** The requirement does not apply to this server or this run. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}
