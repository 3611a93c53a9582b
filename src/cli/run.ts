/** Runs a command of `petstore`, except `serve`. */
import { parseFlags, usageError } from '../program/flags.ts';
import { runProgram, version } from '../program/program.ts';
import { commands, options, type Flags } from './commands.ts';
import { help } from './help.ts';
import { printOutcome } from './outcome.ts';

await runProgram(main);

async function main(): Promise<void> {
  const { values: flags, positionals } = parseFlags({ options, allowPositionals: true });
  if (flags.help || process.argv.length === 2) return console.log(help);
  if (flags.version) return console.log(version());
  const words = positionals[0] === 'keys' ? 2 : 1;
  const name = positionals.slice(0, words).join(' ');
  const args = positionals.slice(words);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (name === 'serve') throw usageError('serve must come before its flags');
  if (command === undefined) throw usageError(`there is no command ${JSON.stringify(positionals.join(' '))}`);
  for (const flag of Object.keys(flags) as (keyof Flags)[]) {
    const isAccepted = flag === 'data' || flag === 'json' || command.flags.includes(flag);
    if (!isAccepted) throw usageError(`${name} does not accept --${flag}`);
  }
  const required = command.args.filter((arg) => !arg.startsWith('['));
  const most = command.args.at(-1)?.endsWith('…') ? Infinity : command.args.length;
  if (args.length < required.length || args.length > most) {
    throw usageError(`${name} expects ${command.args.join(' ') || 'no arguments'}, received ${args.length}`);
  }
  printOutcome(await command.run(flags, ...args), flags.json ?? false);
}
