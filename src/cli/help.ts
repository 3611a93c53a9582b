/** What --help prints. */
import { planTexts } from '../limits/plans.ts';
import { calledAs } from '../program/program.ts';
import { commands, flagsOf, type CliCommand } from './commands.ts';
import { flagTexts } from './flag-texts.ts';

/** Returns the help of the program. */
export function help(): string {
  return `Usage: ${calledAs()} COMMAND [options]

${wrapped('Runs the pet store server, and manages its data folder or database, whether the server runs or not.')}

${table([['serve', 'run the server'], ...Object.entries(commands).map(([name, { summary }]) => [name, summary] as const)])}

${wrapped(`${calledAs()} COMMAND --help describes a command, with its options and an example.`)}
--version prints the version.`;
}

/** Returns the help of the commands whose names begin with a word. */
export function groupHelp(group: string): string {
  const inGroup = Object.entries(commands).filter(([name]) => name.startsWith(`${group} `));
  return `Usage: ${calledAs()} ${group} COMMAND [options]

${table(inGroup.map(([name, { summary }]) => [name.slice(group.length + 1), summary]))}

${wrapped(`${calledAs()} ${group} COMMAND --help describes a command, with its options and an example.`)}`;
}

/** Returns the help of one command. */
export function commandHelp(name: string, command: CliCommand): string {
  const { args, required = [], place, summary, details, example } = command;
  const shown = flagsOf(command).filter((flag) => flag !== 'database' || place !== 'folder');
  const flagOf = (flag: string) => `--${flag}${flagTexts[flag]![0] === '' ? '' : ` ${flagTexts[flag]![0]}`}`;
  const usage = [calledAs(), name, ...required.map(flagOf), ...args, '[options]'].join(' ');
  const takesPlan = shown.includes('plan') || args.includes('PLAN');
  return [
    `Usage: ${usage}`,
    wrapped(`${summary[0]!.toUpperCase()}${summary.slice(1)}.${details === undefined ? '' : ` ${details}`}`),
    table(shown.map((flag) => [flagOf(flag), flag === 'plan' ? 'one of the plans below' : flagTexts[flag]![1]])),
    ...(takesPlan ? [`Plans, and their requests:\n\n${table(planTexts)}`] : []),
    `Example:\n\n  ${calledAs()} ${name} ${example}`,
  ].join('\n\n');
}

function table(rows: readonly (readonly [name: string, meaning: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  return rows.map(([name, meaning]) => `  ${name.padEnd(width)}${wrapped(meaning, width + 2)}`).join('\n');
}

/** Breaks a text into lines that fit on a terminal of 80 columns, if they begin in this column. */
function wrapped(text: string, column = 0): string {
  const [first = '', ...words] = text.split(' ');
  const lines = [first];
  for (const word of words) {
    const line = `${lines.at(-1)} ${word}`;
    if (column + line.length > 80) lines.push(word);
    else lines[lines.length - 1] = line;
  }
  return lines.join(`\n${' '.repeat(column)}`);
}
