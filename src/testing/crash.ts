/**
 * Kills the built server and its command with SIGKILL at random moments, starts the server again, and compares what it
 * has with what it confirmed.
 *
 * The seed determines the phases and the delays. The moments of the kills also depend on the machine.
 */
import assert from 'node:assert/strict';
import { readdirSync, rmSync, statSync, watch, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder, type Owner } from '../../harness/owner.ts';
import { outputOf, Program } from '../../harness/program.ts';
import {
  cliPath, makeKey, petstore, runServer, startServer, type RunningServer,
} from '../../harness/server.ts';
import { randomNumbers } from './random.ts';
import { send } from './service.ts';

/** When a server is killed; `command` kills a key command that runs without one, and `import` an import. */
export const phases = ['creates', 'fold', 'start', 'stop', 'keys', 'command', 'backup', 'import'] as const;
export type Phase = (typeof phases)[number];

const clients = 16;
const allKeys = ['--per-minute', '1000000000', '--per-day', '1000000000'];
/** A name of this length makes the journal reach the 32 MiB of a snapshot with a few hundred animals. */
const longName = 60_000;
/** A folder with more bytes is given up for a new one. */
const maxFolderBytes = 150_000_000;
/** The temporary files of a snapshot and of the segment that it begins with. */
const foldNames = /^pets\.(json|\d+\.journal)\.tmp$/;
const lockNames = /^lock\.\d+$/;

/** A key that a command has made or changed. */
interface KeyState {
  readonly name: string;
  id: string;
  secret: string;
  plan: string;
  state: string;
  /** Whether a command that changes it was killed, so that it may have been changed. */
  doubtful: boolean;
}

/** One run. Every failure is an AssertionError, or NotStarted if the server refuses to start. */
export class CrashRun {
  readonly figures = {
    cycles: 0, folders: 0, acknowledged: 0, unanswered: 0, lost: 0, torn: 0, commands: 0, backups: 0, imports: 0,
    kills: Object.fromEntries(phases.map((phase) => [phase, 0])) as Record<Phase, number>,
  };
  /** The data folder. */
  folder = '';
  readonly #owner: Owner;
  readonly #random: () => number;
  readonly #command: string[] | undefined;
  #secret = '';
  /** What was sent: the names of the animals without their padding. */
  readonly #sent = new Set<string>();
  /** The names by id: what was confirmed, and what was there after a start. */
  #known = new Map<number, string>();
  #keys: KeyState[] = [];
  /** The names of the animals of each import in this folder: all or none of them must be found. */
  #imports: string[][] = [];
  /** The longest times seen: from the lock to the address line, and from a signal to the end. */
  #startMs = 20;
  #stopMs = 20;

  /** `command` runs another server, for example one with a fault. */
  constructor(owner: Owner, seed: number, command?: string[]) {
    this.#owner = owner;
    this.#random = randomNumbers(seed);
    this.#command = command;
  }

  /** Runs as many cycles, and verifies the folder at the end. */
  async run(cycles: number, only: readonly Phase[] = phases): Promise<void> {
    // Each phase comes equally often.
    for (let i = 0; i < cycles; i++) await this.#cycle(only[(i + Math.floor(i / only.length)) % only.length]!);
    await (await this.#verifiedServer()).kill();
  }

  async #cycle(phase: Phase): Promise<void> {
    const { figures } = this;
    if (this.folder === '' || bytesIn(this.folder) > maxFolderBytes) await this.#newFolder();
    if (phase === 'start') {
      const server = runServer(this.#owner, this.folder, [], this.#command);
      await nameAppears(this.folder, lockNames, server);
      await this.#killAfter(server, this.#startMs);
    } else if (phase === 'command') {
      await this.#changeKey(async (command) => {
        await nameAppears(this.folder, lockNames, command);
        await this.#killAfter(command, 10);
      });
    } else if (phase === 'import') {
      await this.#import();
    } else {
      const server = await this.#verifiedServer();
      const length = phase === 'fold' ? longName : 100;
      const work = phase === 'keys' ? this.#changeKeys(server) : this.#create(server, length);
      const backup = phase === 'backup' ? this.#backUp() : null;
      if (phase === 'fold') await nameAppears(this.folder, foldNames, server);
      if (phase === 'stop') {
        await delay(30 * this.#random());
        void this.#stop(server);
      }
      const maxMs = { stop: this.#stopMs, keys: 400, backup: 400, creates: 100, fold: 100 }[phase];
      await this.#killAfter(server, maxMs);
      await work;
      await backup;
    }
    figures.kills[phase]++;
    figures.cycles++;
  }

  async #newFolder(): Promise<void> {
    if (this.folder !== '') rmSync(this.folder, { recursive: true });
    this.folder = temporaryFolder(this.#owner);
    this.#known = new Map();
    this.#keys = [];
    this.#imports = [];
    this.#secret = await makeKey(this.#owner, this.folder, 'enterprise', ...allKeys);
    this.figures.folders++;
  }

  async #killAfter(program: Program, maxMs: number): Promise<void> {
    await delay(maxMs * this.#random());
    await program.kill();
  }

  /** Starts the server and compares what it has with what it confirmed. */
  async #verifiedServer(): Promise<RunningServer> {
    const { folder, figures } = this;
    const server = runServer(this.#owner, folder, [], this.#command);
    await nameAppears(folder, lockNames, server);
    const lockedAt = performance.now();
    const [, address = ''] = await server.printed(/listening on (http:\S+)\n/);
    this.#startMs = Math.max(this.#startMs, performance.now() - lockedAt);
    if (/\.torn-\d/.test(server.stderr)) figures.torn++;
    await this.#verifyAnimals(address);
    await this.#verifyKeys(address);
    return Object.assign(server, { address });
  }

  async #verifyAnimals(address: string): Promise<void> {
    this.#known = await this.#animalsIn(address, this.#known);
  }

  /** Returns the animals of a server. Fails if it has others than were sent, or not all that are expected. */
  async #animalsIn(address: string, expected: ReadonlyMap<number, string>): Promise<Map<number, string>> {
    const found = new Map<number, string>();
    const names = new Set<string>();
    let last = 0;
    for (let path: string | undefined = '/v1/pets?limit=100'; path !== undefined; ) {
      const page = await send(address, 'GET', path, { key: this.#secret });
      assert.equal(page.status, 200, page.body);
      for (const pet of JSON.parse(page.body) as { id: number; name: string }[]) {
        const [text = ''] = pet.name.split(' ', 1);
        assert(pet.id > last, `the id ${pet.id} comes after ${last}`);
        assert(this.#sent.has(text) && !names.has(text), `${text} was never sent, or is there twice`);
        assert.deepEqual(pet, { id: (last = pet.id), ...animal(text) });
        names.add(text);
        found.set(pet.id, text);
      }
      path = /^<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
    }
    for (const all of this.#imports) {
      const count = all.filter((text) => names.has(text)).length;
      assert(count === 0 || count === all.length, `${count} of an import of ${all.length}`);
    }
    const lost = [...expected].filter(([id, text]) => found.get(id) !== text);
    this.figures.lost += lost.length;
    assert.deepEqual(lost, [], 'confirmed animals are missing');
    return found;
  }

  async #verifyKeys(address: string): Promise<void> {
    if (this.#keys.length === 0) return;
    const { stdout } = await petstore(this.#owner, this.folder, 'keys', 'list', '--json');
    type Listed = { name: string; plan: string; state: string; secrets: { last4: string }[] };
    const listed = new Map((JSON.parse(stdout) as Listed[]).map((key) => [key.name, key]));
    this.#keys = this.#keys.filter(({ doubtful }) => !doubtful);
    for (const { name, secret, plan, state } of this.#keys) {
      const key = listed.get(name);
      const last4 = state === 'active' ? [secret.slice(-4)] : [];
      assert.deepEqual([key?.plan, key?.state, key?.secrets.map((one) => one.last4)], [plan, state, last4], name);
    }
    for (const { secret, state } of this.#keys.slice(-4)) {
      const { status } = await send(address, 'GET', '/v1/pets?limit=1', { key: secret });
      assert.equal(status, state === 'active' ? 200 : 401);
    }
  }

  /** Creates animals from several clients, until the server is killed. */
  async #create({ address }: RunningServer, length: number): Promise<void> {
    const { figures } = this;
    await Promise.all(Array.from({ length: clients }, async (_, client) => {
      for (let i = 0; ; i++) {
        const text = [figures.cycles, client, i, Math.floor(length * this.#random())].join('.');
        this.#sent.add(text);
        const options = { key: this.#secret, body: JSON.stringify(animal(text)) };
        const response = await send(address, 'POST', '/v1/pets', options).catch(() => null);
        if (response?.status !== 201) { // killed or stopping
          figures.unanswered++;
          assert([undefined, 503].includes(response?.status), response?.body);
          return;
        }
        const { id } = JSON.parse(response.body) as { id: number };
        assert(!this.#known.has(id), `the id ${id} was given twice`);
        assert.deepEqual(JSON.parse(response.body), { id, ...animal(text) });
        this.#known.set(id, text);
        figures.acknowledged++;
      }
    }));
  }

  /** Makes a backup. If that succeeds, restores it and verifies that it has what was confirmed before. */
  async #backUp(): Promise<void> {
    const before = new Map(this.#known);
    const place = temporaryFolder(this.#owner);
    const [backup, restored] = [join(place, 'backup'), join(place, 'restored')];
    const { code } = await petstore(this.#owner, this.folder, 'backup', backup);
    if (code === 0) {
      this.figures.backups++;
      await outputOf(petstore(this.#owner, restored, 'restore', backup));
      const server = await startServer(this.#owner, restored);
      await this.#animalsIn(server.address, before);
      await server.kill();
    }
    rmSync(place, { recursive: true });
  }

  /** Imports animals, and kills the import. */
  async #import(): Promise<void> {
    const texts = Array.from({ length: 500 }, (_, i) => `${this.figures.cycles}.import.${i}.${i}`);
    for (const text of texts) this.#sent.add(text);
    const file = join(temporaryFolder(this.#owner), 'animals');
    writeFileSync(file, texts.map((text) => `${JSON.stringify(animal(text))}\n`).join(''));
    const command = new Program(this.#owner, [process.execPath, cliPath, 'import', file, '--data', this.folder]);
    await nameAppears(this.folder, lockNames, command);
    await this.#killAfter(command, 2 * this.#startMs + 50); // about as long as an import takes
    const { code, stderr } = await command.ended;
    rmSync(dirname(file), { recursive: true });
    this.#imports.push(texts);
    if (code !== 0) return;
    this.figures.imports++;
    const firstId = Number(/with ids from (\d+) /.exec(stderr)![1]);
    for (const [index, text] of texts.entries()) this.#known.set(firstId + index, text);
  }

  async #stop(server: RunningServer): Promise<void> {
    const from = performance.now();
    const { code } = await server.stop();
    if (code !== null) this.#stopMs = Math.max(this.#stopMs, performance.now() - from);
  }

  /** Changes keys one after the other, until the server has ended. */
  async #changeKeys(server: RunningServer): Promise<void> {
    let isRunning = true;
    void server.ended.then(() => (isRunning = false));
    while (isRunning) await this.#changeKey(() => Promise.resolve());
  }

  /** Creates or changes a key; `during` is called when the command has been started. */
  async #changeKey(during: (command: Program) => Promise<void>): Promise<void> {
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(items.length * this.#random())]!;
    const active = this.#keys.filter(({ state, doubtful }) => state === 'active' && !doubtful);
    const isNew = active.length === 0 || this.#random() < 0.4;
    const name = `key-${this.figures.cycles}-${this.#keys.length}`;
    const key = isNew ? { id: '', name, secret: '', plan: 'free', state: 'active', doubtful: false } : pick(active);
    if (isNew) this.#keys.push(key);
    const plan = key.plan === 'free' ? 'pro' : 'free';
    const args = isNew ? ['create', '--name', key.name, '--plan', 'free']
      : pick([['rotate', key.id, '--grace', '0s'], ['revoke', key.id], ['set-plan', key.id, plan]]);
    key.doubtful = true;
    const command = new Program(this.#owner, [process.execPath, cliPath, 'keys', ...args, '--data', this.folder]);
    await during(command);
    const { code, stdout, stderr } = await command.ended;
    if (code !== 0) return;
    this.figures.commands++;
    key.doubtful = false;
    key.id = /key (k\d+) /.exec(stderr)![1]!;
    if (args[0] === 'revoke') key.state = 'revoked';
    else if (args[0] === 'set-plan') key.plan = plan;
    else key.secret = stdout.trimEnd();
  }
}

/** Returns the animal that is sent with a name that begins with this text, which ends in the length of the padding. */
function animal(text: string): object {
  const length = Number(/\d+$/.exec(text)![0]);
  return { name: `${text} ${'x'.repeat(length)}`, categoryId: length, status: length % 2 === 0 ? 'sold' : 'pending' };
}

/** Waits until a file with such a name appears in a folder, or the program ends. */
async function nameAppears(folder: string, names: RegExp, { ended }: Program): Promise<void> {
  const watcher = watch(folder);
  const appeared = new Promise<void>((resolve) => {
    watcher.on('change', (_, name) => names.test(String(name)) && resolve());
  });
  await Promise.race([appeared, ended]);
  watcher.close();
}

function bytesIn(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}
