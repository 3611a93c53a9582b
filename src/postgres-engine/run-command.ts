import { execute, NoResponseError, type AccountCommandName, type Command, type Result } from '../control/commands.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { UnavailableError } from '../engine.ts';
import type { DatabaseAddress } from './database-url.ts';
import { PostgresEngine } from './postgres-engine.ts';

/** Runs a command on a database, whether servers use it or not. Throws an OperatorError if the command fails. */
export async function runOnDatabase<Op extends AccountCommandName>(
  address: DatabaseAddress, command: Command<Op>,
): Promise<Result<Op>> {
  const engine = await PostgresEngine.open(address, { log: () => {} });
  try {
    await engine.prepare();
    if (engine.progress < 100) {
      const reason = engine.problem ?? 'it does not respond';
      const advice = 'check its address, and whether it is running';
      throw new OperatorError(`cannot reach the database ${address.text}: ${reason}; ${advice}`);
    }
    return (await execute({ keys: engine.keys }, command, Date.now())) as Result<Op>;
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    const problem = `the database ${address.text} did not respond`;
    if (command.op === 'list' || command.op === 'usage') throw new OperatorError(problem);
    throw new NoResponseError(`${problem}; check with "petstore keys list" or "petstore usage" whether the change was made`);
  } finally {
    await engine.release();
  }
}
