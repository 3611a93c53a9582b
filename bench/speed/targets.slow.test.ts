import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withClients } from './check.ts';
import { responsesTo, type Response } from './running-target.ts';
import { baseline, ours, ownTargets, plain } from './targets.ts';
import { byName, checkService } from './testing/service.ts';
import { reads } from './workloads.ts';

describe('our own targets', async () => {
  const targets = await ownTargets({});
  const [bare, petstore, plainHandler] = [baseline, ours, plain].map((name) =>
    targets.find((target) => target.name === name)!);

  for (const { name, workloads, start } of targets) {
    it(`${name} returns correct responses to its workloads`, async (t) => {
      for (const workload of workloads) {
        const running = await start(workload);
        t.after(() => running.process.stop());
        await withClients([{ target: running, workload }], ([client]) => client!.send(workload.exchanges.length));
        if (name !== baseline) await checkService(running, workload);
      }
    });
  }

  it('the baseline and the plain handler return the same headers and animals as petstore', async (t) => {
    const about = (response: Response) => {
      const { link, deprecation, ...others } = byName(response);
      return { status: response.status, link, deprecation, names: Object.keys(others).toSorted() };
    };
    for (const workload of reads) {
      const running = await Promise.all([petstore, bare, plainHandler].map((target) => target!.start(workload)));
      t.after(() => Promise.all(running.map(({ process }) => process.stop())));
      const [right, recorded, same] = await Promise.all(running.map(async (one) => {
        if (workload.key === 'spent') await responsesTo(one, workload, 1); // uses up its day
        return responsesTo(one, workload, 50);
      }));
      for (const [i, response] of right!.entries()) {
        assert.deepEqual(about(recorded![i]!), about(response));
        assert.deepEqual(about(same![i]!), about(response));
        if (response.status !== 200) continue;
        for (const { body } of [recorded![i]!, same![i]!]) assert.ok(body === response.body, body);
      }
    }
  });
});
