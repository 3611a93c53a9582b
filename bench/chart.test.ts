import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { malformed } from '../conformance/testing/wellformed.ts';
import { barChart, type Bar } from './chart.ts';
import { ratioText, table } from './table.ts';

const bar = (label: string, ratio: number, low = ratio * 0.95, high = ratio * 1.05): Bar => ({ label, ratio, low, high });

/** Where each bar begins and ends, in pixels. */
function extents(svg: string): readonly (readonly [number, number])[] {
  return [...svg.matchAll(/<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="12"/g)].map(([, x, width]) => [Number(x), Number(x) + Number(width)]);
}

/** The marks of the axis and where they stand. */
function marks(svg: string): ReadonlyMap<string, number> {
  return new Map([...svg.matchAll(/<text x="([\d.]+)"[^>]*text-anchor="middle"[^>]*>([\d.]+)</g)].map(([, x, mark]) => [mark!, Number(x)]));
}

describe('the chart', () => {
  it('is well-formed, whatever stands in it', () => {
    const svg = barChart('A <title> & "more"', "what's 'measured' < how".repeat(20), [{ title: '<g>', bars: [bar('a & b', 1.2), bar('</text>', 30)] }]);
    assert.equal(malformed(svg), undefined);
    assert.match(svg, /<title id="chart-title">A &lt;title&gt; &amp; &quot;more&quot;<\/title>/);
    assert.match(svg, /<desc [^>]*>&lt;g&gt;: a &amp; b 1\.20, &lt;\/text&gt; 30\.0\.<\/desc>/);
  });

  it('needs nothing but itself, and says that its scale is logarithmic', () => {
    const svg = barChart('t', 's', [{ title: 'g', bars: [bar('a', 2)] }]);
    assert.doesNotMatch(svg, /href|<script|<style|url\(|<image|@import/);
    assert.match(svg, /logarithmic/);
  });

  it('begins each bar at 1: above to the right, below to the left', () => {
    const svg = barChart('t', '', [{ title: 'g', bars: [bar('above', 2), bar('below', 0.5)] }]);
    const one = marks(svg).get('1')!;
    const [above, below] = extents(svg);
    assert.equal(above![0], one);
    assert.ok(Math.abs(below![1] - one) < 0.2);
    assert.ok(Math.abs(above![1] - one - (one - below![0])) < 0.2, 'a half is as far from 1 as a double');
  });

  it('puts bars to the marks of its scale, also where they are far apart', () => {
    const svg = barChart('t', '', [{ title: 'g', bars: [bar('small', 1.15), bar('ten', 10), bar('large', 40)] }]);
    const [small, ten] = extents(svg);
    assert.ok(Math.abs(ten![1] - marks(svg).get('10')!) < 0.2);
    assert.ok(small![1] - small![0] > 10, 'wide enough to be seen');
    const places = [...marks(svg).values()].sort((a, b) => a - b);
    assert.ok(places.every((place, i) => i === 0 || place - places[i - 1]! > 30), 'marks that can be read');
  });

  it('breaks a title before the right border', () => {
    const svg = barChart('petstore, and what one would pick instead of it: '.repeat(5), 's', [{ title: 'g', bars: [bar('a', 2)] }]);
    const lines = [...svg.matchAll(/<text [^>]*font-size="17"[^>]*>([^<]*)</g)].map(([, line]) => line!);
    // A bold letter is about 0.58 of its size wide.
    assert.ok(lines.length > 1 && lines.every((line) => 24 + line.length * 17 * 0.58 < 860 - 24), lines.join('\n'));
  });

  it('leaves out what is no ratio, and groups without bars', () => {
    const svg = barChart('t', '', [{ title: 'empty', bars: [bar('nan', NaN), bar('zero', 0), bar('infinite', Infinity)] }, { title: 'g', bars: [bar('a', 2, NaN, Infinity)] }]);
    assert.equal(extents(svg).length, 1);
    assert.doesNotMatch(svg, /NaN|Infinity|empty/);
    assert.equal(malformed(barChart('nothing', '', [])), undefined);
  });
});

describe('tables', () => {
  it('align for a terminal and are Markdown', () => {
    assert.equal(table(['load', 'ratio'], [['list of 20', '1.15'], ['get', '12']]), [
      '| load       | ratio |',
      '|------------|------:|',
      '| list of 20 |  1.15 |',
      '| get        |    12 |',
    ].join('\n'));
  });

  it('keep a cell a cell, and have one for each column', () => {
    assert.equal(table(['a', 'b'], [['x | y\nz']]).split('\n')[2], '| x \\| y z |     |');
  });

  it('show as much of a ratio as one can believe', () => {
    assert.deepEqual([0.0123, 0.5, 1.149, 9.999, 12.34, 139.6, NaN].map(ratioText), ['0.012', '0.50', '1.15', '10.0', '12.3', '140', '–']);
  });
});
