/** The checks that need nothing special: the model has their requests, and the model or a rule judges the responses. */
import { costOf } from '../model/plan.ts';
import { gaps, type Gap, type GapId } from '../requirements/gaps.ts';
import { requirements } from '../requirements/requirements.ts';
import { check, observe, type Check } from '../session/check.ts';
import type { CaseResponse, CheckContext } from '../session/context.ts';

/** A check for each requirement and each gap that begins with one of these words and that no special check is about. */
export function usualChecks(words: readonly string[], special: readonly Check[]): readonly Check[] {
  const isMeant = ({ id }: { readonly id: string }) => words.some((word) => id.startsWith(`${word}.`));
  const judged = requirements.filter((requirement) => {
    const { id, untested } = requirement;
    return isMeant(requirement) && untested === undefined && !special.some((check) => check.requirement === id);
  });
  const observed = gaps.filter((gap) => isMeant(gap) && !special.some((check) => check.gaps.includes(gap.id)));
  const writes = words.includes('create') && ({ writes: true } as const);
  return [
    ...judged.map(({ id }) =>
      check(id, { ...writes, planned: costOf(id) }, async (t) => {
        const responses = await t.sendCases(id);
        if (responses.length > 0) return;
        await t.fixtures.oneOfEach();
        // Some requirements are judged by a rule and by the histories of the keys.
        t.requireHistory(id);
      }),
    ),
    ...(observed.length === 0 ? [] : [observeCases(observed, writes)]),
  ];
}

/** Observes gaps by the responses to their combinations. */
function observeCases(observed: readonly Gap[], writes: false | { readonly writes: true }): Check {
  const ids = observed.map(({ id }) => id);
  return observe(ids, { ...writes, planned: costOf(...ids) }, async (t) => {
    const all = await t.sendCases(...ids);
    for (const { id } of observed) observeBy(t, id, all.filter(({ of }) => of === id));
  });
}

/** Observes a gap by the responses to several values: by the first one that was refused, if any. */
export function observeBy(t: CheckContext, id: GapId, responses: readonly CaseResponse[]): void {
  const example = responses.find(({ response }) => response.status >= 300) ?? responses[0];
  if (example !== undefined) t.observe(id, behaviour(id, example), example.response);
}

/** What the response to a value shows: whether it was accepted, if that is the question; otherwise the status. */
function behaviour(gap: GapId, { value = '', response: { request, status, pets } }: CaseResponse): string {
  const { question } = gaps.find(({ id }) => id === gap)!;
  if (!question.startsWith('Is ')) return `${status}`;
  if (status >= 300) return question.startsWith('Is every ') ? `no: ${value} gets ${status}` : `no: ${status}`;
  const isChanged = request.sent?.name !== undefined && pets[0]?.name !== request.sent.name;
  return isChanged ? 'yes, and changed' : 'yes';
}
