/** The file with passwords that other clients of PostgreSQL read too: ~/.pgpass. */
import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../domain/operator-error.ts';
import { shellWord } from '../program/program.ts';

/** What a password is for. */
export interface Login {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/**
 * Resolves to the password in the first line of the file that matches; undefined if there is none. The driver reads the
 * file too, but warns that its version 9 will not. Rejects with an OperatorError if other users can access the file.
 */
export async function passwordInFile({ host, port, database, user }: Login): Promise<string | undefined> {
  const path = process.env['PGPASSFILE'] || join(homedir(), '.pgpass');
  let text: string;
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) !== 0) {
      throw new OperatorError(`other users have access to the passwords in ${path}; run: chmod 600 ${shellWord(path)}`);
    }
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    return undefined; // the file does not exist or cannot be read
  }
  const wanted = [host.startsWith('/') ? 'localhost' : host, String(port), database, user];
  for (const line of text.split(/\r?\n/)) {
    const fields = fieldsOf(line);
    if (fields.length === 5 && wanted.every((value, index) => ['*', value].includes(fields[index]!))) return fields[4];
  }
  return undefined;
}

/** Returns the fields of a line, separated by colons. In a field, a backslash escapes a colon or a backslash. */
function fieldsOf(line: string): readonly string[] {
  if (line.startsWith('#')) return [];
  return [...`${line}:`.matchAll(/((?:\\.|[^:\\])*):/g)].map(([, field]) => field!.replace(/\\(.)/g, '$1'));
}
