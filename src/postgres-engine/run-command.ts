import { execute, NoResponseError, type AccountCommandName, type Command, type Result } from '../control/commands.ts';
import { activityOf } from '../control/status.ts';
import { messageOf, OperatorError } from '../domain/operator-error.ts';
import { UnavailableError } from '../engine.ts';
import { isActive } from '../keys/key.ts';
import { stateOf } from './connection.ts';
import type { DatabaseAddress } from './database-url.ts';
import { PostgresEngine } from './postgres-engine.ts';
import { isCopied } from './schema.ts';

/** Runs a command on a database, whether servers use it or not. Throws an OperatorError if the command fails. */
export function runOnDatabase<Op extends AccountCommandName>(
  address: DatabaseAddress, command: Command<Op>,
): Promise<Result<Op>> {
  const run = async ({ keys }: PostgresEngine): Promise<unknown> => execute({ keys }, command, Date.now());
  const isChange = command.op !== 'list' && command.op !== 'usage';
  return withDatabase(address, run, (problem) => {
    if (!isChange) return new OperatorError(problem);
    const advice = 'check with "petstore keys list" or "petstore usage" whether the change was made';
    return new NoResponseError(`${problem}; ${advice}`);
  }) as Promise<Result<Op>>;
}

/** Returns what `petstore status` shows of a database, whether servers use it or not. Rejects with an OperatorError. */
export function databaseStatus(address: DatabaseAddress) {
  return withDatabase(address, async ({ pets, orders, keys }) => {
    const now = Date.now();
    const [isWritable, animals, orderCount, all, activity] = await Promise.all([
      pets.writable(), pets.count(), orders.count(), keys.list(), activityOf(keys, now),
    ]);
    return {
      state: isWritable ? 'ready' as const : 'creates-refused' as const,
      reason: isWritable ? null : 'the database is read-only',
      database: address.text,
      animals,
      orders: orderCount,
      keys: all.filter((key) => isActive(key, now)).length,
      ...activity,
    };
  });
}

/**
 * Resolves to the result of `work` with an engine on a database, which is reachable and has the schema. Rejects with
 * OperatorError. `unanswered` makes the one for the case that the database does not respond any more.
 * `mayBeIncomplete`: whether it may be one to which a copy was interrupted.
 */
export async function withDatabase<T>(
  address: DatabaseAddress,
  work: (engine: PostgresEngine) => Promise<T>,
  unanswered = (problem: string): OperatorError => new OperatorError(problem),
  mayBeIncomplete = false,
): Promise<T> {
  const engine = await PostgresEngine.open(address, { log: () => {}, acceptsReplica: true, mayBeIncomplete });
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
    if (stateOf(error.cause) === isCopied) throw new OperatorError(`${address.text}: ${messageOf(error.cause)}`);
    const reason = error.cause === undefined ? '' : `: ${messageOf(error.cause)}`;
    throw unanswered(`the database ${address.text} failed or did not respond${reason}`);
  } finally {
    await engine.release();
  }
}
