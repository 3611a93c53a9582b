/** The history of a key: its exchanges, which the kit judges as a whole. */
import { exchangeOf, isBefore, type Exchange } from '../../conformance/limits/exchange.ts';
import { judgeGroup } from '../../conformance/limits/fit.ts';
import { groupsOf } from '../../conformance/limits/group.ts';
import { judge, violationOf } from '../../conformance/limits/judge.ts';
import type { Response } from './responses.ts';

/** Older exchanges show nothing more: a sliding counter looks back over two minutes. */
const reachMs = 180_000;

/** The most exchanges that are judged: the time that it takes grows with their square. Any part of a history counts. */
const maxJudged = 2_000;

/** By how much Reset may vary, in seconds: a server may round it up or down. */
const rounding = 1;

/**
 * What the responses of a key since one of them contradict first, in a sentence that names their requests. What follows
 * is often a consequence. Earlier ones count as evidence. Nobody else uses the key.
 */
export function contradictionIn(responses: readonly Response[], since: Response): string | undefined {
  const isSince = ({ sentTurn }: Exchange) => sentTurn >= since.message.sentTurn;
  const recent = exchangesOf(responses.filter(({ receivedAt }) => receivedAt >= since.sentAt - reachMs))
    .slice(-maxJudged);
  const own = recent.filter(isSince);
  // A requirement that earlier exchanges have violated is judged by the later ones alone.
  for (const some of [recent, own]) {
    const all = [...judge(some, true).values()].flatMap(({ contradiction }) => contradiction ?? []);
    const [first] = all.filter(({ at }) => isSince(at)).sort((a, b) => a.at.receivedTurn - b.at.receivedTurn);
    if (first !== undefined) {
      const { required, received } = violationOf(some, true, first);
      return `${first.id}: required ${required}; received ${received}`;
    }
    if (all.length === 0) break;
  }
  return goesBack(own) ? unsteady : undefined;
}

const unsteady = 'X-RateLimit-Reset went back while requests remained: it cannot be when the limit resets';

/**
 * Whether Reset became earlier while requests remained. The kit permits it to some families, because Reset may be any
 * time at which requests return; but as long as none is awaited, that time is later after each request.
 */
function goesBack(exchanges: readonly Exchange[]): boolean {
  const open = exchanges.filter(({ remaining }) => remaining > 0);
  return open.some((b) => {
    return open.some((a) => a.limit === b.limit && b.reset < a.reset - rounding && isBefore(a, b));
  });
}

/** Whether the windows of a key are fixed, as far as responses show: they do not slide, and are no token bucket. */
export function isFixed(responses: readonly Response[]): boolean {
  const nth = Math.ceil(responses.length / maxJudged);
  const some = responses.filter((_, i) => i % nth === 0);
  return groupsOf(exchangesOf(some), false).every((group) => judgeGroup(group).family === 'a fixed window');
}

/** The exchanges of responses that have the three headers. */
function exchangesOf(responses: readonly Response[]): readonly Exchange[] {
  return responses.flatMap(({ message }) => exchangeOf(message) ?? []);
}
