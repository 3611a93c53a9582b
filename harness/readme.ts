/** Runs the commands of README.md as if a reader pasted them into one shell, and returns what they print. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder, type Owner } from './owner.ts';
import { freePort } from './ports.ts';
import { Program } from './program.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
export const readme = readFileSync(join(root, 'README.md'), 'utf8');
/** The commands of each `sh` block. A line that ends with a backslash continues on the next one. */
export const blocks: readonly (readonly string[])[] = [...readme.matchAll(/^```sh\n(.*?)\n```$/gms)].map(([, text]) => {
  return text!.split(/(?<!\\)\n/);
});
/** The picture: its path, its description, and the index of the block that it shows. */
export const picture = {
  path: join(root, 'docs/terminal.svg'),
  title: /^!\[([^\]]+)\]\(docs\/terminal\.svg\)$/m.exec(readme)![1]!.replace('\n', ' '),
  block: blocks.findIndex((commands) => commands.some((command) => command.startsWith('kill -9 '))),
};
/** The port in README.md. */
const port = '8080';

/** A command, its exit code, and what it and programs in the background printed before the next command. */
export interface CommandResult {
  readonly command: string;
  readonly code: number;
  readonly output: string;
}

/**
 * Runs the first blocks in one shell, in an unbuilt copy of this checkout, and returns what each command printed.
 * `npm install --global` installs into a temporary folder. The server uses a free port. In the results, the port is
 * that of README.md, and the folder is `~/pet-store`.
 *
 * @param count the number of blocks; by default all
 * @throws NotStarted if the shell ends early
 */
export async function runBlocks(owner: Owner, count = blocks.length): Promise<readonly (readonly CommandResult[])[]> {
  const free = String(await freePort());
  const [checkout, installed] = [temporaryFolder(owner), temporaryFolder(owner)].map((path) => realpathSync(path));
  copyCheckout(checkout!);
  const { HOME, PATH, NODE_EXTRA_CA_CERTS } = process.env;
  const env = {
    HOME, NODE_EXTRA_CA_CERTS, PATH: `${PATH}:${installed}/bin`, npm_config_prefix: installed!,
    PORT: free,
    // The log has its format for terminals. The access log is off, because its lines come up to 0.1 s late.
    LOG_FORMAT: 'text', ACCESS_LOG: 'off',
  };
  // Job control (set -m) as in an interactive shell, so that `kill %1` ends npm and the server.
  const shell = new Program(owner, ['bash', '-c', 'exec bash --norc -s 2>&1'], env, { cwd: checkout! });
  // After each command: its exit code, and the process groups in the background.
  const mark = /\x01(\d+)((?: \d+)*)\x01/;
  const results = () => shell.stdout.split(new RegExp(mark, 'g'));
  let hasEnded = false;
  const end = () => {
    if (!hasEnded) results().at(-2)?.trim().split(' ').forEach(killGroup);
    hasEnded = true;
    return shell.kill();
  };
  owner.after(end);

  // All commands are written at once, like pasted text, so one that read the standard input would take the next ones.
  const commands = blocks.slice(0, count).flat();
  shell.child.stdin.write('set -m\n');
  const printMark = `printf '\\1%s%s\\1' "$?" "$(jobs -p | sed 's/^/ /')"`;
  for (const command of commands) {
    shell.child.stdin.write(`${command.replaceAll(`:${port}`, `:${free}`)}\n${printMark}\n`);
  }
  await shell.printed(new RegExp(`(?:[^\\x01]*${mark.source}){${commands.length}}`));
  await end();
  const [output, codes] = [0, 1].map((column) => results().filter((_, i) => i % 3 === column));
  const commandResults = commands.map((command, i) => {
    const text = output![i]!.replaceAll(`:${free}`, `:${port}`).replaceAll(checkout!, '~/pet-store');
    return { command, code: Number(codes![i]), output: text };
  });
  let from = 0;
  return blocks.slice(0, count).map(({ length }) => commandResults.slice(from, (from += length)));
}

/** Kills the processes of a group, unless they have ended. */
function killGroup(group: string): void {
  try {
    if (group !== '') process.kill(-Number(group), 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Copies the files of this checkout that git tracks or would add. */
function copyCheckout(to: string): void {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const name of list.toString().split('\0')) {
    if (name !== '' && existsSync(join(root, name))) cpSync(join(root, name), join(to, name));
  }
}
