/** Test support: the steps of action.yml, run with bash as GitHub's runner does. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder, type Owner } from '../../harness/owner.ts';
import { Program, type Ended } from '../../harness/program.ts';

export interface Step {
  readonly name: string;
  readonly shell: string | undefined;
  /** The input that each variable is set to. */
  readonly env: readonly (readonly [variable: string, input: string])[];
  readonly script: string;
}

export const root = fileURLToPath(new URL('../..', import.meta.url));
const text = readFileSync(join(root, 'action.yml'), 'utf8');
const [head = '', ...blocks] = text.split(/^ {4}- /m);

/** The names of the inputs. */
export const inputs = [...head.split(/^runs:/m)[0]!.matchAll(/^ {2}([\w-]+):$/gm)].map(([, name]) => name!);

export const steps = blocks.map((block): Step => {
  const [keys = '', script = ''] = block.split(/^ {6}run: \|\n/m);
  return {
    name: /^name: (.+)$/m.exec(keys)?.[1] ?? '',
    shell: /^ {6}shell: (.+)$/m.exec(keys)?.[1],
    env: [...keys.matchAll(/^ {8}(\w+): \$\{\{ inputs\.([\w-]+) \}\}$/gm)].map(([, name, input]) => [name!, input!]),
    script: script.replace(/^ {8}/gm, ''),
  };
});

/** Runs a step in a workspace, with the values of inputs; `environment` has what the job provides. */
export function runStep(
  owner: Owner,
  { env, script }: Step,
  given: Readonly<Record<string, string>>,
  environment: NodeJS.ProcessEnv = {},
): { readonly ended: Promise<Ended>; readonly workspace: string } {
  const workspace = join(temporaryFolder(owner), 'a workspace');
  mkdirSync(workspace);
  const file = join(workspace, 'step.sh');
  writeFileSync(file, script);
  const variables = Object.fromEntries(env.map(([name, input]) => [name, given[input] ?? '']));
  const github = { GITHUB_ACTIONS: 'true', GITHUB_ACTION_PATH: root, GITHUB_STEP_SUMMARY: join(workspace, 'summary') };
  const command = ['bash', '--noprofile', '--norc', '-eo', 'pipefail', file];
  const program = new Program(owner, command, { ...github, ...variables, ...environment }, { cwd: workspace });
  return { ended: program.ended, workspace };
}
