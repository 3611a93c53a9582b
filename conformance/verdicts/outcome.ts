/** How a check ends if it does not pass. */
import type { Failure } from './results.ts';

/** The requirement is violated. */
export class Violated extends Error {
  override readonly name = 'Violated';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.required);
    this.failure = failure;
  }
}

/** No response could have violated the requirement. */
export class Inconclusive extends Error {
  override readonly name = 'Inconclusive';
}

/** The requirement does not apply to this server or this run. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}
