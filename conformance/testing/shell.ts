/** Test support: a POSIX shell that has the key in its environment. */
import { execFile, spawnSync } from 'node:child_process';

/** Runs a line in `sh` and returns its standard output. */
export function sh(
  line: string,
  environment: Record<string, string>,
  encoding: BufferEncoding = 'utf8',
): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env['PATH'] ?? '', ...environment };
    execFile('sh', ['-c', line], { env, encoding, maxBuffer: 2 ** 26 }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    );
  });
}

/** Evaluates each text between double quotes in a POSIX shell; the results are bytes, as in a header. */
export async function inDoubleQuotes(texts: readonly string[], environment: Record<string, string>): Promise<string[]> {
  const printed = await sh(texts.map((text) => `printf '%s\\0' "${text}"`).join('\n'), environment, 'latin1');
  return printed.split('\0').slice(0, -1);
}

/** The reason to skip tests that need curl, or false. */
export const withoutCurl = spawnSync('curl', ['--version']).status === 0 ? false : 'curl is not installed';
