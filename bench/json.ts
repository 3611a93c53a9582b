/** `npm run bench:json`: what reading a body of 64 KiB costs, as a ratio to `JSON.parse` on the same bytes. Exit code 1 if a body costs more than 3 times as much. */
import { bodies } from './json/bodies.ts';
import { ratioText, table } from './table.ts';

const maxRatio = 3;
const rounds = 40;

const { readJson } = (await import(new URL('../dist/json/read.js', import.meta.url).href)) as { readJson: (bytes: Uint8Array) => unknown };

/** How long `read` takes, in microseconds, however it ends. */
function time(read: (bytes: Buffer) => unknown, bytes: Buffer): number {
  const start = process.hrtime.bigint();
  try {
    read(bytes);
  } catch {
    // A text that is no JSON costs, too.
  }
  return Number(process.hrtime.bigint() - start) / 1_000;
}

const parse = (bytes: Buffer): unknown => JSON.parse(bytes.toString());

// Every body once before any is measured: the reader is compiled for all of them, as it is in a server that meets them.
const best = bodies.map(({ bytes }) => ({ ours: time(readJson, bytes), parse: time(parse, bytes) }));
for (let round = 0; round < rounds; round += 1) {
  for (const [index, { bytes }] of bodies.entries()) {
    best[index]!.ours = Math.min(best[index]!.ours, time(readJson, bytes));
    best[index]!.parse = Math.min(best[index]!.parse, time(parse, bytes));
  }
}
const ratios = best.map(({ ours, parse: floor }) => ours / floor);
console.log(table(
  ['Body', 'JSON.parse (µs)', 'our reader (µs)', 'ratio'],
  bodies.map(({ name }, index) => [name, best[index]!.parse.toFixed(0), best[index]!.ours.toFixed(0), ratioText(ratios[index]!)]),
));
const over = bodies.filter((_, index) => ratios[index]! > maxRatio);
if (over.length > 0) {
  console.error(`More than ${maxRatio} times the cost of JSON.parse: ${over.map(({ name }) => name).join('; ')}.`);
  process.exitCode = 1;
}
