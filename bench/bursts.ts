/** `npm run bench:bursts`: the CPU time of this project's server, compared by bursts with that of other servers. */
import { integer, oneOf } from '../conformance/options.ts';
import { burstsNote, quickBursts, thoroughBursts } from './measure/bursts.ts';
import { machineLine, runBench } from './measure/command.ts';
import { figureColumn, ratioColumn, resultTable, runExperiments, withoutProblems } from './measure/experiments.ts';
import { progress } from './measure/progress.ts';
import { burstsOf } from './speed/check.ts';
import { baseline, ours, ownTargets } from './speed/targets.ts';
import { creates, reads, workloads } from './speed/workloads.ts';

const all = [...reads, ...creates];
const ids = all.map(({ id }) => id);

const columns = [
  ratioColumn(`CPU ÷ ${baseline}`, 'cpu', baseline),
  ratioColumn(`CPU ÷ ${ours}`, 'cpu', ours),
  figureColumn('CPU, µs', 'cpu', 1),
];

await runBench({
  name: 'bursts',
  about: `Compares the CPU time of this project's own server with that of bare node:http that returns the same
bytes, of a plain handler that does the same for a read, and of other builds of the server. All of them
run at the same time and receive bursts of a few hundred requests in turn; the 10th percentile of the
bursts is compared. This resolves small differences, also on a machine that does other things. About a
minute for each workload.`,
  flags: {
    build: { type: 'string', multiple: true },
    workload: { type: 'string', multiple: true },
    processes: { type: 'string', default: '5' },
  },
  flagsHelp: `  --build DIR       compare also the build in this folder: the dist/ of another worktree; can be repeated
  --workload NAME   measure only this workload; can be repeated:
                    ${ids.join(', ')}
  --processes N     fresh processes of each server (default 5)
`,
  async measure(given, here) {
    const processes = given.quick ? 1 : integer('--processes', given.processes, 1, 100);
    const bursts = given.quick ? quickBursts : thoroughBursts;
    const named = given.workload?.map((id) => oneOf('--workload', id, ids));
    const chosen = named === undefined ? workloads : all.filter(({ id }) => named.includes(id));
    progress(`filling a data folder for ${ours}`);
    const targets = await ownTargets({ builds: given.build ?? [] });
    const groups = chosen.map((workload) =>
      targets.filter(({ workloads: able }) => able.includes(workload)).map(({ name, start }) =>
        ({ name, workload, start: () => start(workload) })));
    const results = withoutProblems(
      await runExperiments(groups.map((group) => burstsOf(group, bursts)), processes),
    );
    return {
      paragraphs: [resultTable(results, columns), burstsNote(bursts, processes), machineLine(here)],
      results: { results },
    };
  },
});
