/** How many requests may be sent in all: said beforehand, and kept to at the one place that sends. */
import { count, grouped } from '../../conformance/report/words.ts';

/** What is left does not suffice. */
export class BudgetSpent extends Error {
  override readonly name = 'BudgetSpent';
}

export class Budget {
  readonly most: number;
  #taken = 0;

  constructor(most: number) {
    this.most = most;
  }

  get taken(): number {
    return this.#taken;
  }

  /**
   * Takes requests out of it, all or none.
   *
   * @throws BudgetSpent where fewer are left
   */
  take(requests: number): void {
    if (this.#taken + requests > this.most)
      throw new BudgetSpent(
        `it would take ${count(requests, 'more request')}, and of the ${grouped(this.most)} said beforehand ${grouped(this.#taken)} are sent`,
      );
    this.#taken += requests;
  }
}
