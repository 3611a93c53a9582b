/** Rounds -> figures and ratios. */
import { median, quantile } from '../measure/statistics.ts';
import type { Outcome, Round } from './contest.ts';

/** A figure of so much per so much. */
export interface Rate {
  readonly amount: (round: Round) => number;
  readonly per: (round: Round) => number;
}

/** User CPU per request, in microseconds. */
export const userCpu: Rate = { amount: ({ user }) => user, per: ({ requests }) => requests };
/** CPU in the kernel per request, in microseconds. */
export const systemCpu: Rate = { amount: ({ system }) => system, per: ({ requests }) => requests };
export const requestsPerSecond: Rate = { amount: ({ requests }) => requests, per: ({ seconds }) => seconds };

/** A ratio, and the quartiles of the rounds' own ratios. */
export interface Ratio {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/** The figure over all rounds. NaN of none. */
export function overall(rounds: readonly Round[], { amount, per }: Rate): number {
  return sum(rounds.map(amount)) / sum(rounds.map(per));
}

/**
 * One outcome's figure against another's: the ratio over all rounds together. Kernels split a process's time into user and system by
 * looking now and then, so one second of it is off by some per cent; the sum of many is not.
 */
export function rateRatio(one: Outcome, other: Outcome, rate: Rate): Ratio {
  const ratios = ratiosOf(one, other, (round) => overall([round], rate));
  return { ratio: overall(one.rounds, rate) / overall(other.rounds, rate), ...quartiles(ratios) };
}

/** One outcome's p99 against another's: the middle of the rounds' ratios, as one stall of the machine makes a p99 of its own. */
export function p99Ratio(one: Outcome, other: Outcome): Ratio {
  const ratios = ratiosOf(one, other, ({ p99 }) => p99);
  return { ratio: median(ratios), ...quartiles(ratios) };
}

function ratiosOf(one: Outcome, other: Outcome, figure: (round: Round) => number): readonly number[] {
  return one.rounds.map((round, i) => figure(round) / figure(other.rounds[i]!));
}

function quartiles(ratios: readonly number[]): { readonly low: number; readonly high: number } {
  return { low: quantile(ratios, 0.25), high: quantile(ratios, 0.75) };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
