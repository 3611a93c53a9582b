import { execute, NoResponseError, type AccountCommandName, type Command, type Result } from '../control/commands.ts';
import { activityOf } from '../control/status.ts';
import { messageOf, OperatorError } from '../domain/operator-error.ts';
import { UnavailableError } from '../engine.ts';
import { isActive } from '../keys/key.ts';
import { endsSession, stateOf } from './connection.ts';
import type { DatabaseAddress } from './database-url.ts';
import { PostgresEngine } from './postgres-engine.ts';
import { beingCopied } from './schema.ts';

/** Runs a command on a database, whether servers use it or not. Rejects with an OperatorError if the command fails. */
export function runOnDatabase<Op extends AccountCommandName>(
  address: DatabaseAddress, command: Command<Op>,
): Promise<Result<Op>> {
  const run = async (engine: PostgresEngine): Promise<unknown> => execute(engine, command, await engine.time());
  const isChange = command.op !== 'list' && command.op !== 'usage';
  return withDatabase(address, run, (problem) => {
    if (!isChange) return new OperatorError(problem);
    const advice = 'check with "petstore keys list" or "petstore usage" whether the change was made';
    return new NoResponseError(`${problem}; ${advice}`);
  }) as Promise<Result<Op>>;
}

/** Returns what `petstore status` shows of a database, whether servers use it or not. Rejects with an OperatorError. */
export function databaseStatus(address: DatabaseAddress) {
  return withDatabase(address, async (engine) => {
    const { pets, orders, keys } = engine;
    const now = await engine.time();
    const [isWritable, animals, orderCount, all, activity] = await Promise.all([
      pets.writable(), pets.count(), orders.count(), keys.list(), activityOf(keys, now),
    ]);
    return {
      state: isWritable ? 'ready' as const : 'creates-refused' as const,
      reason: isWritable ? null : (pets.problem ?? 'the database is read-only'),
      database: address.text,
      animals,
      orders: orderCount,
      keys: all.filter((key) => isActive(key, now)).length,
      ...activity,
    };
  });
}

/**
 * Resolves to the result of `work` with an engine on a database that is reachable and has the schema. Rejects with
 * OperatorError, and as `work` does. `unanswered` returns the error if the database fails or stops responding during
 * `work`. `mayBeIncomplete`: whether a copy to the database may have been interrupted.
 */
export async function withDatabase<T>(
  address: DatabaseAddress,
  work: (engine: PostgresEngine) => Promise<T>,
  unanswered = (problem: string): OperatorError => new OperatorError(problem),
  mayBeIncomplete = false,
): Promise<T> {
  const engine = await PostgresEngine.open(address, { log: () => {}, forCommand: true, mayBeIncomplete });
  try {
    await engine.prepare();
    if (engine.progress < 100) {
      const reason = engine.problem ?? 'it does not respond';
      const advice = 'check its address, and whether it is running';
      throw new OperatorError(`cannot reach the database ${address.text}: ${reason}; ${advice}`);
    }
    return await work(engine);
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    const state = stateOf(error.cause);
    if (state === beingCopied) throw new OperatorError(`${address.text}: ${messageOf(error.cause)}`);
    if (state !== null && !endsSession(state)) {
      const problem = `the database ${address.text} refused that: ${messageOf(error.cause)}`;
      throw new OperatorError(`${problem}; nothing was changed`);
    }
    const reason = error.cause === undefined ? '' : `: ${messageOf(error.cause)}`;
    throw unanswered(`the database ${address.text} failed or did not respond${reason}`);
  } finally {
    await engine.release();
  }
}
