/** Runs a command of `petstore`, except `serve`. */
import { parseFlags } from '../program/flags.ts';
import { runProgram, version } from '../program/program.ts';
import { options, outcomeOf } from './commands.ts';
import { help } from './help.ts';
import { printOutcome } from './outcome.ts';

await runProgram(main);

async function main(): Promise<void> {
  const { values: flags, positionals } = parseFlags({ options, allowPositionals: true });
  if (flags.help || process.argv.length === 2) return console.log(help);
  if (flags.version) return console.log(version());
  printOutcome(await outcomeOf(flags, positionals), flags.json ?? false);
}
