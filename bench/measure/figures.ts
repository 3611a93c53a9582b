/** Rounds -> figures and ratios. */
import type { MeasuredLoad } from './load.ts';
import { quantile } from './statistics.ts';

/** What a round tells of rates. */
export type Used = Pick<MeasuredLoad, 'requests' | 'seconds' | 'user' | 'system'>;

/** A figure of so much per so much. */
export interface Rate {
  readonly amount: (round: Used) => number;
  readonly per: (round: Used) => number;
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
export function overall(rounds: readonly Used[], { amount, per }: Rate): number {
  return sum(rounds.map(amount)) / sum(rounds.map(per));
}

/**
 * One's figure against another's, of as many rounds: the ratio over all rounds together. Kernels split a process's time into user and system by
 * looking now and then, so one second of it is off by some per cent; the sum of many is not.
 */
export function rateRatio(one: readonly Used[], other: readonly Used[], rate: Rate): Ratio {
  const ratios = ratiosOf(one, other, (round) => overall([round], rate));
  return { ratio: overall(one, rate) / overall(other, rate), ...quartiles(ratios) };
}

interface P99 {
  readonly p99: number;
}

/** The p99 of all answers, and that of each round. */
export interface P99s extends Partial<P99> {
  readonly rounds: readonly P99[];
}

/**
 * One's p99 against another's, of as many rounds: the ratio over all rounds together. A round is too short for a p99 of its own: one slow
 * sync with 64 creates behind it is more than a hundredth of what a server answers in it that makes 2,500 a second.
 */
export function p99Ratio(one: P99s, other: P99s): Ratio {
  const ratios = ratiosOf(one.rounds, other.rounds, ({ p99 }) => p99);
  return { ratio: (one.p99 ?? NaN) / (other.p99 ?? NaN), ...quartiles(ratios) };
}

function ratiosOf<R>(one: readonly R[], other: readonly R[], figure: (round: R) => number): readonly number[] {
  return one.map((round, i) => figure(round) / figure(other[i]!));
}

function quartiles(ratios: readonly number[]): { readonly low: number; readonly high: number } {
  return { low: quantile(ratios, 0.25), high: quantile(ratios, 0.75) };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
