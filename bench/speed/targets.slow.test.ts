import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withClients } from './check.ts';
import { responsesTo, type Response } from './session.ts';
import { baseline, ours, ownTargets, plain } from './targets.ts';
import { checkService } from './testing/service.ts';
import { reads } from './workloads.ts';

describe('our own targets', async () => {
  const targets = await ownTargets({});
  const [bare, petstore, plainHandler] = [baseline, ours, plain].map((name) =>
    targets.find((target) => target.name === name)!);

  for (const { name, workloads, start } of targets) {
    it(`${name} returns correct responses to its workloads`, async (t) => {
      for (const workload of workloads) {
        const session = await start(workload);
        t.after(() => session.process.stop());
        await withClients([session], workload, ([client]) => client!.send(workload.exchanges.length));
        if (name !== baseline) await checkService(session, workload);
      }
    });
  }

  it('the baseline and the plain handler return the same headers and animals as petstore', async (t) => {
    const about = ({ status, headers }: Response) =>
      ({ status, link: headers['link'], deprecation: headers['deprecation'], names: Object.keys(headers).toSorted() });
    for (const workload of reads) {
      const sessions = await Promise.all([petstore, bare, plainHandler].map((target) => target!.start(workload)));
      t.after(() => Promise.all(sessions.map(({ process }) => process.stop())));
      const [right, recorded, same] = await Promise.all(sessions.map(async (session) => {
        if (workload.key === 'spent') await responsesTo(session, workload, 1); // uses up its day
        return responsesTo(session, workload, 50);
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
