/**
 * `npm run picture`: runs the blocks of README.md up to the one in its picture, and draws docs/terminal.svg from their
 * output. harness/readme.slow.test.ts compares the picture with another run.
 */
import { writeFileSync } from 'node:fs';
import { exitOnSignals, thisProcess } from '../harness/owner.ts';
import { picture, runBlocks } from '../harness/readme.ts';
import { terminal } from '../harness/terminal.ts';

exitOnSignals();
const results = await runBlocks(thisProcess, picture.block + 1);
writeFileSync(picture.path, terminal(picture.title, results.at(-1)!));
console.log(`Written: ${picture.path}`);
process.exit();
