/** Test support: a POSIX shell that knows the key. */
import { execFile, spawnSync } from 'node:child_process';

/** Runs a line in `sh`, and gives what it printed. */
export function sh(line: string, environment: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env['PATH'] ?? '', ...environment };
    execFile('sh', ['-c', line], { env, maxBuffer: 2 ** 26 }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    );
  });
}

/** What each text is between double quotes of a POSIX shell. */
export async function inDoubleQuotes(texts: readonly string[], environment: Record<string, string>): Promise<string[]> {
  const printed = await sh(texts.map((text) => `printf '%s\\0' "${text}"`).join('\n'), environment);
  return printed.split('\0').slice(0, -1);
}

/** Why curl lines cannot be run here, or false. */
export const withoutCurl = spawnSync('curl', ['--version']).status === 0 ? false : 'curl is not installed';
