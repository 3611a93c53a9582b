/** Annotations and the job summary: complete, and no text of the server is a command or markup in them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixture, hostile } from '../testing/report.ts';
import { rawCharacters } from '../testing/wellformed.ts';
import { annotation, annotations, jobSummary, untestedSummary } from './github.ts';
import type { Report } from './report.ts';

const strict: Report = { ...fixture, mode: ['strict'] };
const titles = (report: Report) => annotations(report).map((line) => /^::(\w+) .*?title=([^,:]*)/.exec(line)!.slice(1));

test('the characters that have a meaning in a workflow command are escaped', () => {
  assert.equal(
    annotation('error', { file: 'a,b:c%', line: 3, title: 'x\ny' }, '100 %, a: b\nc'),
    '::error file=a%2Cb%3Ac%25,line=3,title=x\\ny::100 %25, a: b%0Ac',
  );
});

test('an error for each cause of failure and each outdated line, and a warning for what is inconclusive', () => {
  assert.deepEqual(titles(fixture), [
    ['error', 'list.limit'],
    ['error', 'create.name'],
    ['error', 'limits.reset-time'],
    ['error', 'Known deviation create.fraction'],
    ['error', 'Known deviation list.limit'],
    ['warning', 'list.default-limit'],
    ['warning', 'limits.remaining-falls'],
  ]);
  assert.deepEqual(titles(strict).slice(-2), [['error', 'list.default-limit'], ['error', 'limits.remaining-falls']]);
  const [first, , , gone] = annotations(fixture);
  assert.equal(
    first,
    '::error title=list.limit::A list never has more animals than its limit, nor more than 100.' +
      '%0Arequired: at most 1 animal%0Areceived: 2 animals%0Asmallest case: limit=1' +
      '%0Arequired: a list of animals%0Areceived: an object%0Asmallest case: limit=100',
  );
  assert.match(gone!, /^::error file=known\.txt,line=3,title=.*::it no longer occurs: remove line 3 of known\.txt$/);
});

test('if nothing else explains the exit code, the conclusion does; a run that conforms has no annotation', () => {
  const requirements = fixture.requirements.filter(({ verdict }) => verdict === 'passed');
  const totals = { ...fixture.totals, failed: 0, known: 0, inconclusive: 0 };
  const passed: Report = { ...fixture, requirements, totals, known: [] };
  assert.deepEqual(annotations({ ...passed, conforms: true }), []);
  const [line, ...others] = annotations({ ...passed, aborted: 'it is gone' });
  assert.deepEqual([line, others], ['::error title=Conformance::Not tested to the end: it is gone.', []]);
});

test('each annotation is one line', () => {
  for (const line of [...annotations(fixture), ...annotations(strict)]) {
    assert.deepEqual(rawCharacters(line), []);
    assert.doesNotMatch(line, /[\r\n]/);
  }
});

test('the job summary has the verdict, the failures, the known deviations, and the gaps folded', () => {
  const summary = jobSummary(fixture);
  assert.match(summary, /^## ✗ Does not conform&#58; 3 requirements failed, 1 known deviation, \d+ of \d+ req/);
  const [, failed = ''] = /\n### Failed\n\n([^]*?)\n\n/.exec(summary)!;
  assert.deepEqual(
    failed.match(/^- [\w.-]+/gm),
    ['- list.limit', '- create.name', '- limits.reset-time'].sort((a, b) => indexOf(a) - indexOf(b)),
  );
  assert.match(failed, /^- list\.limit&#58; A list never .*\n {2}- required: at most 1 animal\n {2}- received: 2 animals\n/);
  assert.match(summary, /\n- create\.fraction&#58; .*\n {2}- reason: it no longer occurs&#58; remove line 3 of known\.txt\n/);
  assert.match(summary, /\n<details><summary>How the server fills the gaps[^]*: taken for 100\n[^]*<\/details>\n$/);
});

test('text of the server is not markup', () => {
  const evil = `${hostile} | [a](http://x) ![b](x) <b> \`c\` **d** __e__ ~f~ @g #1`;
  const gaps = fixture.gaps.map((gap) => ({ ...gap, behaviour: evil }));
  for (const summary of [jobSummary({ ...fixture, gaps }), untestedSummary(evil)]) {
    assert.deepEqual(rawCharacters(summary), []);
    const own = /<\/?(details|summary)>|&#\d+;|^#+ /gm;
    assert.doesNotMatch(summary.replace(own, ''), /[<>[\]`*~@_!#&]/);
  }
});

function indexOf(id: string): number {
  return fixture.requirements.findIndex((result) => `- ${result.id}` === id);
}
