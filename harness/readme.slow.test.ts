/** README.md: its commands work when they are run in order in one shell, and its picture shows their output. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { thisProcess } from './owner.ts';
import { blocks, picture, runBlocks, type CommandResult } from './readme.ts';
import { linesOf, terminal } from './terminal.ts';

describe('README.md', () => {
  let results: readonly (readonly CommandResult[])[] = [];
  const outputOf = (command: string) => results.flat().find((result) => result.command.startsWith(command))!.output;

  before(async () => {
    results = await runBlocks(thisProcess);
  });

  test('every command succeeds', () => {
    assert.ok(blocks.length > 4);
    assert.deepEqual(results.flat().map(({ command }) => command), blocks.flat());
    assert.deepEqual(results.flat().filter(({ code }) => code !== 0), []);
  });

  test('an animal is still there after `kill -9`', () => {
    const rex = '{"id":33,"name":"Rex","categoryId":1,"status":"available"}';
    assert.equal(outputOf('api /pets -H'), `${rex}\n`);
    assert.match(outputOf('kill -9'), / Killed /);
    assert.equal(outputOf("api '/pets?after=32'"), `[${rex}]\n`);
  });

  test('the kit creates about 200 animals on the running server', () => {
    const [, created] = /\nCONFORMS: .+ (\d+) animals created/.exec(outputOf('API_KEY=$KEY npm run -s conformance'))!;
    assert.ok(Number(created) >= 150 && Number(created) <= 250, created);
  });

  test('the other commands print what they should', () => {
    assert.match(outputOf('npm run -s bench:limits'), /\nALL DEMANDS MET: 1 passed/);
    assert.match(outputOf('npm run -s petstore -- usage k2'), /^ID +NAME .+\nk2 +me +business /);
    assert.match(outputOf('npm run -s petstore -- status'), /^state +ready/);
    const { version } = JSON.parse(readFileSync(fileURLToPath(new URL('../package.json', import.meta.url)), 'utf8'));
    assert.equal(outputOf('petstore --version'), `${version}\n`);
  });

  test('the picture shows the output of its block; `npm run picture` redraws it', () => {
    // On a slow machine, the server is not ready when it receives the first request.
    const notReady = /^petstore: request \S+ was refused with 503 not_ready\n/gm;
    const shown = results[picture.block]!.map((result) => ({ ...result, output: result.output.replace(notReady, '') }));
    const drawn = terminal(picture.title, shown);
    assert.deepEqual(linesOf(readFileSync(picture.path, 'utf8')), linesOf(drawn));
  });
});
