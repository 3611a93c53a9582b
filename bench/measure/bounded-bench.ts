/** What the benches share whose figures have an upper bound: their flags, their output, and exit code 1 beyond it. */
import { parseFlags } from '../../conformance/options.ts';
import { helpEnd, machine, machineLine, quickNote, resultsFile, runBench, writeResults } from './command.ts';
import { endProgress } from './progress.ts';

const flags = {
  quick: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h' },
} as const;

export interface BoundedBench {
  /** `costs`: the script is `npm run bench:costs`, the results are in costs.json. */
  readonly name: string;
  /** The help text between the usage and the flags. */
  readonly about: string;
  /** What --quick does. */
  readonly quick: string;
  /** What exit code 0 says, and that 1 says the opposite. */
  readonly exitCode: string;
  /** Whether the load generator has cores of its own, if there are enough. */
  readonly pins: boolean;
  readonly measure: (isQuick: boolean) => Promise<Findings>;
}

export interface Findings {
  /** For the terminal. */
  readonly paragraphs: readonly string[];
  /** Members of the file of results. */
  readonly settings: object;
  readonly results: object;
  /** What exceeds its bound, a line each. Ignored in a quick run. */
  readonly exceeded: readonly string[];
}

/** Runs a bench to the end of this process. */
export async function runBounded({ name, about, quick, exitCode, pins, measure }: BoundedBench): Promise<never> {
  const script = `bench:${name}`;
  return runBench(script, async () => {
    const { quick: isQuick, help } = parseFlags({ options: flags }).values;
    if (help === true) {
      const end = helpEnd(name).replace('Exit code: 0 it was measured', `Exit code: ${exitCode}`);
      const text = `Usage: npm run ${script} [-- --quick]\n\n${about}\n\n  --quick   ${quick}\n  --help\n\n${end}\n`;
      return void process.stdout.write(text);
    }
    const file = resultsFile(name);
    const here = machine(pins);
    const { paragraphs, settings, results, exceeded } = await measure(isQuick);
    endProgress();
    console.log([...paragraphs, machineLine(here), ...(isQuick ? [quickNote] : [])].join('\n\n'));
    const all = { ...settings, quick: isQuick };
    writeResults(file, { format: 1, bench: name, machine: here, settings: all, ...results });
    if (isQuick || exceeded.length === 0) return;
    for (const line of exceeded) console.error(`${script}: ${line}`);
    process.exitCode = 1;
  });
}
