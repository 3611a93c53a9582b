/** The Dockerfile: its steps, in a folder for each stage instead of a container, and the image's commands. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, cpSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import test, { type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './owner.ts';
import { outputOf, Program } from './program.ts';
import { certificateFlags, makeCertificate } from './certificates.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The instructions of a Dockerfile: lines that end in a backslash are continued, and comments are left out. */
function instructions(text: string): [name: string, rest: string][] {
  const lines = text.replace(/^#.*\n/gm, '').replaceAll('\\\n', '').split('\n').filter((line) => line !== '');
  return lines.map((line) => [line.split(' ', 1)[0]!, line.slice(line.indexOf(' ') + 1)]);
}

/** Whether .dockerignore keeps a path out of the build. It has paths, and names after `**` + `/`. */
const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').trim().split('\n');
function isIgnored(path: string): boolean {
  return ignored.some((pattern) => path === pattern || pattern === `**/${basename(path)}`);
}

interface Image {
  /** The folder with the files of the image. */
  readonly folder: string;
  readonly env: Record<string, string>;
  readonly user: readonly string[];
  readonly volumes: readonly string[];
  readonly health: readonly string[];
  readonly command: readonly string[];
}

/** Performs the steps of the Dockerfile. Absolute paths are in the folder of the stage. */
async function build(t: TestContext): Promise<Image> {
  const place = temporaryFolder(t);
  chmodSync(place, 0o755); // the user of the image must reach it
  const stages: Record<string, string> = {};
  const values: Record<string, string> = {};
  let [folder, workdir] = ['', ''];
  let env: Record<string, string> = {};
  const inStage = (path: string) => path.startsWith('/') ? join(folder, path) : join(workdir, path);
  for (const [name, rest] of instructions(readFileSync(join(root, 'Dockerfile'), 'utf8'))) {
    if (name === 'FROM') {
      const [, stage = 'image'] = /^node:\d+-slim(?: AS (\w+))?$/.exec(rest)!;
      folder = stages[stage] = workdir = join(place, stage);
      const commands = join(folder, 'usr/local/bin');
      mkdirSync(commands, { recursive: true });
      symlinkSync(process.execPath, join(commands, 'node'));
      env = { PATH: `${commands}:${process.env['PATH']}` };
    } else if (name === 'WORKDIR') {
      workdir = inStage(rest);
      mkdirSync(workdir, { recursive: true });
    } else if (name === 'COPY') {
      const [, stage, paths = ''] = /^(?:--from=(\w+) )?([^-].*)$/.exec(rest)!;
      const sources = paths.split(' ');
      const to = sources.pop()!;
      for (const source of sources) {
        const from = stage === undefined ? join(root, source) : join(stages[stage]!, source);
        const filter = (path: string) => stage !== undefined || !isIgnored(relative(root, path));
        const target = statSync(from).isFile() ? join(inStage(to), basename(from)) : inStage(to);
        cpSync(from, target, { recursive: true, filter });
      }
    } else if (name === 'RUN') {
      const command = rest.replace(/(?<=\s)\//g, `${folder}/`);
      // npm finds its registry, proxies and certificates in the environment of the user.
      const online = { ...process.env, npm_config_prefer_offline: 'true' };
      const run = ['sh', '-c', 'cd "$0" && eval "$1"', workdir, command];
      await outputOf(new Program(t, run, { ...online, ...env }).ended);
    } else if (name === 'ENV') {
      for (const [, variable, value] of rest.matchAll(/(\S+)=(\S+)/g))
        env[variable!] = value!.startsWith('/') ? inStage(value!) : value!;
    } else {
      assert.ok(['USER', 'VOLUME', 'EXPOSE', 'HEALTHCHECK', 'ENTRYPOINT', 'CMD'].includes(name), `${name} is unknown`);
      values[name] = rest;
    }
  }
  // Only the form with brackets runs a program without a shell, so that it receives the signals.
  const words = (text: string) => JSON.parse(text) as string[];
  const [uid, gid] = values['USER']!.split(':');
  return {
    folder,
    env,
    user: ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'],
    volumes: values['VOLUME']!.split(' '),
    health: words(values['HEALTHCHECK']!.replace(/^.*? CMD /, '')),
    command: [...words(values['ENTRYPOINT']!), ...words(values['CMD']!)],
  };
}

test('the image serves as its user, keeps its data in the volume, reports its health, and stops', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('only root can become the user of the image');
  const { folder, env, user, volumes, health, command } = await build(t);
  assert.deepEqual(volumes, ['/data']);
  assert.deepEqual(command, ['petstore', 'serve']); // no shell, which would receive the signals
  assert.deepEqual([statSync(join(folder, 'data')).mode & 0o777, statSync(join(folder, 'data')).uid], [0o700, 1000]);

  const run = (words: readonly string[], more = {}) => new Program(t, [...user, ...words], { ...env, ...more });
  const server = run(command, { PORT: '0' });
  const [, host, PORT = ''] = await server.printed(/^petstore listening on http:\/\/(\S+):(\d+)\n/);
  assert.equal(host, '0.0.0.0');
  assert.match(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'), /^Uid:\t1000\t1000\t1000\t1000$/m);
  const healthy = () => run(health, { PORT }).ended;
  assert.equal((await healthy()).code, 0);
  const key = await outputOf(run(['petstore', 'keys', 'create', '--name', 'till', '--plan', 'free']).ended);
  const headers = { Authorization: `Bearer ${key.trimEnd()}` };
  assert.equal((await fetch(`http://127.0.0.1:${PORT}/v1/pets`, { headers })).status, 200);
  assert.equal(statSync(join(folder, 'data/store/keys.json')).uid, 1000);
  assert.equal((await server.stop()).code, 0);
  assert.equal((await healthy()).code, 1);

  // The health check finds the server if variables, not flags, say where it listens.
  const place = join(folder, 'data');
  const flags = certificateFlags(place, makeCertificate());
  for (const name of ['cert.pem', 'key.pem']) chownSync(join(place, name), 1000, 1000);
  const other = [{ TLS_CERT: flags[1], TLS_KEY: flags[3] }, { HOST: `unix:${place}/http.sock` }, { HOST: '::' }];
  for (const HOST of ['127.0.0.2', '::1', 'localhost', '']) other.push({ HOST });
  for (const variables of other) {
    const again = run(command, { PORT: '0', ...variables });
    const started = await again.printed(/^petstore listening on (?:unix:.+|https?:.+:(\d+))\n/);
    assert.equal((await run(health, { ...variables, PORT: started[1] ?? '1' }).ended).code, 0, started[0]);
    await again.stop();
  }
});

test('a container engine builds the image, and starts the server with Prometheus and Grafana', async (t) => {
  const docker = (...words: string[]) => new Program(t, ['docker', ...words], { HOME: process.env['HOME'] }).ended;
  if ((await docker('info')).code !== 0) return t.skip('no container engine runs here');
  const compose = ['compose', '--file', 'deploy/compose.yaml', '--project-name', `petstore-test-${process.pid}`];
  t.after(() => docker(...compose, 'down', '--volumes', '--rmi', 'local'));
  await outputOf(docker(...compose, 'up', '--build', '--detach', '--wait'));
  assert.match(await outputOf(docker(...compose, 'exec', 'petstore', 'petstore', 'status')), /ready/);
  // Prometheus has read the alerts and the metrics, and Grafana the dashboard.
  const found = async (url: string, text: RegExp) => {
    while (!text.test(await (await fetch(url)).text())) await sleep(500);
  };
  await found('http://127.0.0.1:9090/api/v1/rules', /PetstoreDown/);
  await found('http://127.0.0.1:9090/api/v1/query?query=petstore_ready', /"1"/);
  await found('http://127.0.0.1:3000/api/dashboards/uid/petstore', /Requests by operation/);
});
