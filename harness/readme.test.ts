/** Each figure in README.md is also in the document that its link names. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { readme } from './readme.ts';

const numbersIn = (text: string): readonly string[] => text.match(/\d[\d.,]*\d|\d/g) ?? [];

/** The section that a link names, up to the next heading. */
function sectionAt(link: string): string {
  const [path, anchor] = link.split('#');
  const document = readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8');
  const sections = document.split(/^#+ /m);
  const section = sections.find((text) => text.split('\n')[0]!.toLowerCase().replaceAll(' ', '-') === anchor);
  assert.ok(section, `${link} has no section`);
  return section;
}

test('each number in the text of a link is in the section that the link names', () => {
  const links = [...readme.matchAll(/(?<!!)\[([^\]]+)\]\((docs\/[^)]+#[^)]+)\)/g)].map(([, text, link]) => ({
    link: link!,
    numbers: numbersIn(text!.replace(/`[^`]*`/g, '')),
  }));
  assert.ok(links.flatMap(({ numbers }) => numbers).length > 8);
  for (const { link, numbers } of links) {
    const section = numbersIn(sectionAt(link));
    assert.deepEqual(numbers.filter((number) => !section.includes(number)), [], link);
  }
});

test('each figure of the table is in docs/benchmarks.md', () => {
  const [, table = ''] = /<!-- bench:peers -->(.+)<!-- \/bench:peers -->/s.exec(readme)!;
  const figures = table.match(/[\d.]+ \([\d.]+–[\d.]+\)/g)!;
  assert.ok(figures.length > 10);
  const section = sectionAt('docs/benchmarks.md#figures');
  assert.deepEqual(figures.filter((figure) => !section.includes(figure)), []);
});
