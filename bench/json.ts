/**
 * `npm run bench:json`: the time to read a body of 64 KiB, as a ratio to the time of `JSON.parse` for the same bytes.
 * Each time is the minimum over interleaved rounds. Exit code 1 if a body takes more than 3 times as long.
 */
import { bodies } from './json/bodies.ts';
import { ratioText, table } from './table.ts';

const maxRatio = 3;
const rounds = 80;

interface JsonObject {
  get(name: string): unknown;
}
interface Reader {
  readonly readJson: (bytes: Uint8Array) => unknown;
  readonly JsonObject: new (...parts: never[]) => JsonObject;
}
const { readJson, JsonObject } = (await import(new URL('../dist/json/read.js', import.meta.url).href)) as Reader;

/** Reads a body as createPet does, including the values of the members that createPet needs. */
function read(bytes: Buffer): void {
  const value = readJson(bytes);
  if (value instanceof JsonObject) for (const name of ['name', 'categoryId', 'status']) value.get(name);
}

/** The time that an action takes, in microseconds, even if it throws. */
function time(action: (bytes: Buffer) => unknown, bytes: Buffer): number {
  const start = process.hrtime.bigint();
  try {
    action(bytes);
  } catch {
    // Some bodies are not JSON.
  }
  return Number(process.hrtime.bigint() - start) / 1_000;
}

const parse = (bytes: Buffer): unknown => JSON.parse(bytes.toString());

// Interleaved rounds: the reader is compiled for all bodies, as in a server, and noise affects both times.
const best = bodies.map(({ bytes }) => ({ ours: time(read, bytes), parse: time(parse, bytes) }));
for (let round = 0; round < rounds; round += 1) {
  for (const [index, { bytes }] of bodies.entries()) {
    best[index]!.ours = Math.min(best[index]!.ours, time(read, bytes));
    best[index]!.parse = Math.min(best[index]!.parse, time(parse, bytes));
  }
}
const ratios = best.map(({ ours, parse: baseline }) => ours / baseline);
console.log(table(
  ['Body', 'JSON.parse (µs)', 'our reader (µs)', 'ratio'],
  bodies.map(({ name }, index) => {
    const { ours, parse: baseline } = best[index]!;
    return [name, baseline.toFixed(0), ours.toFixed(0), ratioText(ratios[index]!)];
  }),
));
const over = bodies.filter((_, index) => ratios[index]! > maxRatio);
if (over.length > 0) {
  console.error(`More than ${maxRatio} times the cost of JSON.parse: ${over.map(({ name }) => name).join('; ')}.`);
  process.exitCode = 1;
}
