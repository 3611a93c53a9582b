/** Runs a command of `petstore`, except `serve`. */
import { parseFlags } from '../program/flags.ts';
import { endWithReader, runProgram, version } from '../program/program.ts';
import { commandNamed, options, outcomeOf } from './commands.ts';
import { commandHelp, groupHelp, help } from './help.ts';
import { printOutcome } from './outcome.ts';

endWithReader();
await runProgram(main);

async function main(): Promise<void> {
  const { values: flags, positionals } = parseFlags({ options, allowPositionals: true });
  if (flags.version) return console.log(version());
  const isGroup = positionals.length === 1 && positionals[0] === 'keys';
  if (isGroup) return console.log(groupHelp('keys'));
  if (flags.help && positionals.length > 0) {
    const { name, command } = commandNamed(positionals);
    return console.log(commandHelp(name, command));
  }
  if (flags.help || process.argv.length === 2) return console.log(help());
  printOutcome(await outcomeOf(flags, positionals), flags.json ?? false);
}
