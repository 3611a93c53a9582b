import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UsageError } from '../../conformance/options.ts';
import type { Sample } from '../measure/load.ts';
import { allFigures, replaceBlock, shortTable, type Report } from './report.ts';
import { create, creates, list } from './workloads.ts';

const sample = (userCpu: number, perSecond: number): Sample => ({
  requests: 1,
  perSecond,
  userCpu,
  systemCpu: 1,
  p50: 1,
  p99: 2,
  resident: 1e6,
  startMs: 1,
  startCpuMs: 1,
});
const three = (userCpu: number, perSecond: number) =>
  [0.9, 1, 1.1].map((factor) => sample(userCpu * factor, perSecond));

const report: Report = {
  results: [
    { workload: list.title, target: 'node:http', samples: three(10, 1_000) },
    { workload: list.title, target: 'petstore', samples: three(9, 1_000) },
    { workload: list.title, target: 'fastify + SQLite', samples: three(50, 200) },
    { workload: creates[0]!.title, target: 'petstore', samples: three(20, 400) },
    { workload: creates[0]!.title, target: 'fastify + SQLite', samples: three(80, 200) },
    { workload: create.title, target: 'express + SQLite', samples: three(900, 10) },
  ],
  lacks: { 'express + SQLite': 'bans' },
  source: 'npm run bench:peers: 2 cores',
  processes: 3,
};

describe('the tables', () => {
  it('the short one has ratios to the baseline, and durable creates compared with ours', () => {
    const text = shortTable(report);
    assert.match(text, /^\| user CPU ÷ node:http \|.+ creates\/s at 1, petstore ÷ it \| creates\/s at 64, .+ \|\n/);
    assert.match(text, /\n\| petstore +\| 0\.90 \(0\.90–0\.90\) \| +– \| +– \| +– \| +– \|\n/);
    assert.match(text, /\n\| fastify \+ SQLite +\| 5\.00 \(5\.00–5\.00\)( \| +–){2} \| +2\.00 \(2\.00–2.00\) \| +– \|/);
    assert.match(text, /\n\nMedian \(minimum–maximum\) of 3 fresh processes of each server\.$/);
  });

  it('the full one has every figure, what targets lack, and the machine', () => {
    const text = allFigures(report);
    for (const part of [
      '| create, 64 connections: express + SQLite',
      '- express + SQLite: bans',
      'npm run bench:peers: 2 cores',
    ])
      assert.ok(text.includes(part), part);
    assert.doesNotMatch(text, /NaN/);
  });

  it('replace what is between two lines of a document', () => {
    const [begin, end] = ['<!-- bench:peers -->', '<!-- /bench:peers -->'];
    const once = replaceBlock(`# Title\n\n${begin}\n\nold\n\n${end}\n\nrest\n`, 'new', 'README.md');
    assert.equal(once, `# Title\n\n${begin}\n\nnew\n\n${end}\n\nrest\n`);
    assert.equal(replaceBlock(once, 'new', 'README.md'), once);
    assert.throws(
      () => replaceBlock('# Title\n', 'new', 'README.md'),
      (error) => error instanceof UsageError && /^README\.md has no lines/.test(error.message),
    );
  });
});
