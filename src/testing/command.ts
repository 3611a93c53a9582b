/**
 * Test support: commands of `petstore` in this process, which takes a tenth of the time of a process. Tests that need
 * the program itself, such as its exit, its signals or `export` to stdout, start it with `harness/server.ts`.
 */
import assert from 'node:assert/strict';
import type { Ended } from '../../harness/program.ts';
import { options, outcomeOf } from '../cli/commands.ts';
import { printed } from '../cli/outcome.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { runCommand } from '../file-engine/run-command.ts';
import { systemError } from '../files/errors.ts';
import { newSecret } from '../keys/secret.ts';
import { parseFlags } from '../program/flags.ts';
import { logLine } from '../program/program.ts';

/**
 * Runs a command on a data folder, on a database given by its URL, or with the given arguments only (null). Returns
 * what the program would print, and its exit code.
 */
export async function command(place: string | null, ...args: readonly string[]): Promise<Ended> {
  try {
    const flag = place?.startsWith('postgres:') ? '--database' : '--data';
    const all = place === null ? [...args] : [...args, flag, place];
    const { values, positionals } = parseFlags({ args: all, options, allowPositionals: true });
    const { stdout, stderr, exitCode } = printed(await outcomeOf(values, positionals), values.json ?? false);
    return { code: exitCode, stdout, stderr };
  } catch (error) {
    assert(error instanceof OperatorError || (error instanceof Error && 'syscall' in error), error as Error);
    const { message, exitCode } = systemError(error);
    return { code: exitCode, stdout: '', stderr: logLine(message) };
  }
}

/** Creates a key, whether a server runs on the folder or not, and returns its secret. */
export async function newKey(folder: string, plan = 'business'): Promise<string> {
  const secret = newSecret();
  await runCommand(folder, { op: 'create', name: 'test', plan, expiresAt: null, secret }, assert.fail);
  return secret;
}
