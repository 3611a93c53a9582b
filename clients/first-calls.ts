/** The first calls in docs/clients.md. */
import { readFileSync } from 'node:fs';

/** One section: how to generate a client, a program that uses it, and how to run the program. */
export interface FirstCall {
  readonly language: string;
  /** Commands for bash that do all that. They end with `noToolchain` if they cannot get the generator. */
  readonly script: string;
}

/** The exit code of a script if a program is not installed or a registry cannot be reached. */
export const noToolchain = 77;

const toolchains = ['npm', 'python3', 'go', 'java', 'mvn', 'cargo', 'curl'];

/** Reads the sections. Throws an Error if one does not have the three blocks. */
export function firstCalls(file: string): FirstCall[] {
  const [, part = ''] = /^## First call\n(.*?)^## /ms.exec(readFileSync(file, 'utf8')) ?? [];
  const [, ...sections] = part.split(/^### /m);
  if (sections.length === 0) throw new Error(`${file} has no first calls`);
  return sections.map((section) => {
    const [language = ''] = section.split('\n', 1);
    const blocks = [...section.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, block]) => block!);
    const [commands = '', program = '', run = ''] = blocks;
    const [install = '', generate = '', ...more] = commands.trimEnd().split('\n');
    const [, path] = /^(?:\/\/|#) (\S+)\n/.exec(program) ?? [];
    if (blocks.length !== 3 || generate === '' || more.length > 0 || path === undefined) {
      throw new Error(`${file}, ${language}: two commands, a program that begins with its path, and commands to run it`);
    }
    const words = new Set((commands + run).split(/\s+/));
    const missing = toolchains.filter((name) => words.has(name)).map((name) =>
      `command -v ${name} > /dev/null || { echo ${name} is not installed >&2; exit ${noToolchain}; }`);
    const write = `mkdir -p $(dirname ${path}) && cat > ${path} <<'END OF PROGRAM'\n${program}END OF PROGRAM`;
    const script = [...missing, `{ ${install}; } || exit ${noToolchain}`, generate, write, run].join('\n');
    return { language, script };
  });
}
