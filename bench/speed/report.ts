/**
 * The tables of the speed bench: all figures for the terminal and docs/benchmarks.md, and the short one of the README.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../../conformance/options.ts';
import { figures, find, ratioColumn, ratioOf, resultTable, type Result } from '../measure/experiments.ts';
import { table } from '../table.ts';
import { baseline, ours } from './targets.ts';
import { create, creates, get, list } from './workloads.ts';

export interface Report {
  readonly results: readonly Result[];
  /** What targets cannot do, by their names. */
  readonly lacks: Readonly<Record<string, string>>;
  /** The machine, the command and the versions. */
  readonly source: string;
  /** How many fresh processes each figure comes from. */
  readonly processes: number;
}

/** All figures, what the targets cannot do, and where the figures come from. */
export function allFigures({ results, lacks, source, processes }: Report): string {
  const columns = [
    ratioColumn(`user CPU ÷ ${baseline}`, 'userCpu', baseline),
    ratioColumn(`${ours} ÷ it`, 'userCpu', ours, true),
    ratioColumn(`requests/s, ${ours} ÷ it`, 'perSecond', ours, true),
    ratioColumn(`p99, ${ours} ÷ it`, 'p99', ours, true),
    ...figures,
  ];
  const missing = Object.entries(lacks).filter(([, text]) => text !== '').map(([name, text]) => `- ${name}: ${text}`);
  return [
    resultTable(results, columns),
    `Median (minimum–maximum) of fresh processes of each target: ${processes}. CPU time is per request. p50 and p99 are
without the first tenth of the responses; memory is measured after the load.`,
    ...(missing.length === 0 ? [] : [`What the targets lack:\n\n${missing.join('\n')}`]),
    source,
  ].join('\n\n');
}

/** The README's table: this server and the peers with durable creates; CPU by the baseline, creates by ours. */
export function shortTable({ results, processes }: Report): string {
  const targets = [...new Set(results.map(({ target }) => target))].filter((target) => target !== baseline);
  const durable = targets.filter((target) => find(results, creates[0]!.title, target) !== undefined);
  const cpu = [list, get, create].map(({ title }) => ({
    head: title,
    cell: (target: string) => ratioOf(find(results, title, target), find(results, title, baseline), 'userCpu'),
  }));
  const perSecond = [creates[0]!, create].map(({ title, connections }) => ({
    head: `creates/s at ${connections}, ${ours} ÷ it`,
    cell: (target: string) => ratioOf(find(results, title, ours), find(results, title, target), 'perSecond'),
  }));
  const columns = [...cpu, ...perSecond];
  return [
    table([`user CPU ÷ ${baseline}`, ...columns.map(({ head }) => head)],
      durable.map((target) => [target, ...columns.map(({ cell }) => cell(target))])),
    `Median (minimum–maximum) of ${processes} fresh processes of each server.`,
  ].join('\n\n');
}

/**
 * Writes the short table to README.md and all figures to docs/benchmarks.md, between the lines `<!-- bench:peers -->`
 * and `<!-- /bench:peers -->`. Returns the paths.
 *
 * @throws UsageError if a file does not have these lines
 */
export function writeDocuments(report: Report): readonly string[] {
  const texts = { 'README.md': shortTable(report), 'docs/benchmarks.md': allFigures(report) };
  return Object.entries(texts).map(([path, text]) => {
    const file = fileURLToPath(new URL(`../../${path}`, import.meta.url));
    writeFileSync(file, replaceBlock(readFileSync(file, 'utf8'), text, path));
    return path;
  });
}

/** Replaces what is between the two marker lines of a document. */
export function replaceBlock(document: string, text: string, path: string): string {
  const [begin, end] = ['<!-- bench:peers -->\n', '\n<!-- /bench:peers -->'];
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new UsageError(`${path} has no lines ${begin.trim()} and ${end.trim()}`);
  return `${document.slice(0, from)}${begin}\n${text}\n${document.slice(to)}`;
}
