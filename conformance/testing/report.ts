/** Test support: a report with every verdict, several failures, and text of a hostile server. */
import type { Report } from '../report/report.ts';
import { gaps, type GapId } from '../requirements/gaps.ts';
import { requirements, type RequirementId } from '../requirements/requirements.ts';
import { totalsOf, type Failure, type Observation, type RequirementResult } from '../verdicts/results.ts';

/** Hostile text: markup, terminal escapes, characters that XML forbids, direction marks, lone surrogates. */
export const hostile = `<script>alert("x")</script>&amp;]]>'\u001b[2J\u0000\u009b31m\u202eevil\u2069\ud800x\udc00\uffff\u2028\u{e0041}\u00a0-->`;

const listLimit: Failure = {
  required: 'at most 1 animal',
  received: '2 animals',
  smallestCase: 'limit=1',
  curl: `curl -sS -i -H "Authorization: Bearer $API_KEY" 'https://staging.example/v1/pets?limit=1'`,
  response:
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-ratelimit-limit: 300\r\nx-ratelimit-remaining: 288\r\n\r\n[{"id":1,"name":"Rex","categoryId":7,"status":"available"},{"id":2,"name":"Mia","categoryId":7,"status":"sold"}]',
  replay: '--only list.limit --seed 42 --runs 20',
};

const hostileName: Failure = {
  required: `the name as it was sent, "${hostile}"`,
  received: `"${hostile.toUpperCase()}"`,
  smallestCase: `{"name":"${hostile}","categoryId":7}`,
  curl: `curl -sS -i -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' -d '{"name":"\\u202e <b>&","categoryId":7}' 'https://staging.example/v1/pets'`,
  response: `HTTP/1.1 201 Created\r\nx-evil: ${hostile}\r\n\r\n{"name":"${hostile}"}`,
};

const notExhausted = { reason: 'only with --exhaust', restriction: 'exhaust' } as const;

const ended: Partial<Record<RequirementId, Partial<RequirementResult>>> = {
  'list.limit': {
    verdict: 'failed',
    seconds: 1.25,
    judged: 31,
    failures: [
      listLimit,
      { ...listLimit, required: 'a list of animals', received: 'an object', smallestCase: 'limit=100' },
    ],
    failed: 7,
  },
  'create.name': { verdict: 'failed', judged: 84, failures: [hostileName], failed: 1 },
  'create.null': {
    verdict: 'known',
    reason: `PET-112, ${hostile} (until 2027-03-31)`,
    judged: 12,
    failures: [{ ...listLimit, required: '400, because name is null', received: '201', smallestCase: '{"name":null}' }],
    failed: 2,
  },
  'limits.reset-time': {
    verdict: 'failed',
    judged: 301,
    failures: [
      {
        ...listLimit,
        required: 'not further than a day after Date',
        received: '172,800 s after Date',
        smallestCase: 'GET /pets',
        curl: `curl -sS -i -H "Authorization: Bearer $API_KEY" 'https://staging.example/v1/pets'`,
      },
    ],
    failed: 1,
  },
  'list.default-limit': {
    verdict: 'inconclusive',
    reason: 'the list has 12 animals; more than 20 are needed to see the default of limit',
    judged: 0,
    evidence: [],
  },
  'limits.remaining-falls': {
    verdict: 'inconclusive',
    reason: `the window ended during the requests, three times; Reset was "${hostile}"`,
    judged: 0,
    evidence: [],
  },
  'limits.refuses': { verdict: 'skipped', ...notExhausted, judged: 0, evidence: [] },
  'limits.retry-after': { verdict: 'skipped', ...notExhausted, judged: 0, evidence: [] },
};

const results = requirements.map((requirement): RequirementResult => {
  const { id, section, text, untested } = requirement;
  const nothing = { judged: 0, evidence: [], failures: [], failed: 0 };
  if (untested !== undefined)
    return { id, section, text, verdict: 'skipped', reason: untested, inapplicable: true, ...nothing };
  const evidence = [
    'GET /pets?limit=1 → 200, 1 animal',
    `GET /pets?limit=100 → 200, 37 animals, the first named "${id === 'pet.name' ? hostile : 'Rex'}"`,
  ];
  return { id, section, text, verdict: 'passed', ...nothing, judged: 31, evidence, ...ended[id] };
});

const usual = { behaviour: 'refused with 400', example: 'GET /pets?limit=0 → 400 {"code":"invalid","message":"limit"}' };
const answers: Partial<Record<GapId, Pick<Observation, 'behaviour' | 'example' | 'reason'>>> = {
  'pet.extra-fields': { behaviour: `photoUrls, ${hostile}`, example: `{"${hostile}":1}` },
  'list.limit-101': { behaviour: 'taken for 100' },
  'limits.429-body': { reason: 'no 429 was seen; only with --exhaust' },
  'limits.retry-after-form': { reason: 'no 429 was seen; only with --exhaust' },
  'create.invalid-utf-8': { reason: `the server closed the connection: ${hostile}` },
};

/** The report; each test may spread its own changes over it. */
export const fixture: Report = {
  format: 1,
  kit: { name: 'petstore-conformance', version: '0.1.0', node: 'v20.20.2' },
  target: 'https://staging.example/v1',
  startedAt: '2026-11-21T19:21:02.113Z',
  seconds: 8.13,
  seed: 42,
  runs: 100,
  mode: ['max-requests 400'],
  sent: { withKey: 290, withoutKey: 22, created: 41, unwanted429: 1, secondsWaited: 2.4 },
  totals: totalsOf(results),
  conforms: false,
  known: ([
    { id: 'create.null', state: 'occurs', reason: `PET-112, ${hostile}`, line: 2 },
    { id: 'create.fraction', state: 'gone', reason: 'PET-113', line: 3 },
    { id: 'list.limit', state: 'expired', reason: 'PET-114', line: 4 },
    { id: 'limits.refuses', state: 'not judged', reason: 'PET-115', line: 5 },
  ] as const).map((known) => {
    return { ...known, expires: known.state === 'expired' ? '2026-10-31' : '2027-03-31', file: 'known.txt' };
  }),
  requirements: results,
  gaps: gaps.map((gap) => ({ ...gap, ...(answers[gap.id] ?? usual) })),
};
