/** What this project uses of the package `pg`, which is installed only where a database is used. */
import { dirname, basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperatorError } from '../domain/operator-error.ts';
import { shellWord } from '../program/program.ts';

/** A row, as the values of its columns in their order. */
export type Row = readonly unknown[];

export interface Result {
  readonly rows: readonly Row[];
  /** The columns. */
  readonly fields: readonly unknown[];
}

export interface Client {
  connect(): Promise<unknown>;
  /** Without values, a text may have several statements; the result is then an array. */
  query(statement: {
    readonly text: string; readonly values: readonly unknown[]; readonly rowMode: 'array';
  }): Promise<Result | readonly Result[]>;
  end(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

export type ClientClass = new (options: object) => Client;

/** Loads the package. Rejects with an OperatorError that says how to install it. */
export async function loadDriver(): Promise<ClientClass> {
  const name = 'pg';
  try {
    const { default: { Client } } = await import(name) as { default: { Client: ClientClass } };
    return Client;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new OperatorError(`a database needs the package pg, which is not installed; run: ${installCommand()}`);
  }
}

/** How to install a package beside this program. */
function installCommand(): string {
  const program = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
  const modules = dirname(program);
  if (basename(modules) !== 'node_modules') return `npm install --no-save --prefix ${shellWord(program)} pg`;
  const project = dirname(modules);
  if (basename(project) === 'lib') return 'npm install --global pg';
  return `npm install --prefix ${shellWord(project)} pg`;
}
