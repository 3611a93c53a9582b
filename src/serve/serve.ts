/** `petstore serve`: reads the configuration, listens, reads the data folder, and stops on a signal. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ServedCertificate } from './certificate.ts';
import { readConfig, requestedLogFormat, serverHelp, type Config } from './config.ts';
import { readSamples, startDemo } from './demo.ts';
import { handOverSignals } from '../program/early-signals.ts';
import { counted } from '../domain/counted.ts';
import { Ending } from './ending.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { UnavailableError, type Engine } from '../engine.ts';
import { FileEngine } from '../file-engine/file-engine.ts';
import { PostgresEngine } from '../postgres-engine/postgres-engine.ts';
import { isActive } from '../keys/key.ts';
import { ServerLog } from '../observe/server-log.ts';
import { stderrSink } from '../observe/stderr.ts';
import { calledAs, clearLine, endWithReader, runProgram, shellWord, version } from '../program/program.ts';
import { RunningServer, stopGraceMs } from './running-server.ts';

const args = process.argv.slice(2);
const requested = requestedLogFormat(args, process.env);
const format = requested ?? (process.stderr.isTTY ? 'text' : 'json');
const serverLog = new ServerLog(stderrSink(format === 'json' ? 'latin1' : 'utf8'), format, clearLine, Date.now);
const log = serverLog.event;
const ending = new Ending(serverLog, stopGraceMs + 500);
process.on('uncaughtException', (error) => ending.crash(error));

await runProgram(async () => {
  const config = readConfig(args, process.env);
  if (typeof config !== 'string') return serve(config);
  endWithReader();
  process.stdout.write(config === 'help' ? serverHelp() : `${version()}\n`);
}, log, (exitCode) => ending.exit(exitCode), requested === 'json' ? log : undefined);

async function serve(config: Config): Promise<void> {
  const page = config.docs ? readFileSync(new URL('../page.html', import.meta.url), 'utf8') : null;
  const samples = config.demo ? readSamples(new URL('../sample/', import.meta.url)) : null;
  let certificate: ServedCertificate | null = null;
  let hasChanged = false; // while it was read
  let stop = async (): Promise<boolean> => true;
  let isListening = false;
  ending.stopOnSignals(['SIGTERM', 'SIGINT', ...(config.tls === null ? ['SIGHUP'] as const : [])], () => stop());
  if (config.tls !== null) {
    process.on('SIGHUP', () => {
      hasChanged = true;
      void certificate?.reload();
    });
  }
  handOverSignals();
  hasChanged = false;

  if (config.tls !== null) {
    certificate = await ServedCertificate.read(config.tls, log);
    if (hasChanged) void certificate.reload();
  }
  if (ending.isStopping) return; // nothing has been opened yet
  const { place } = config;
  const opening: Promise<Engine> = 'folder' in place
    ? FileEngine.open(place.folder, log)
    : PostgresEngine.open(place.database, { log });
  // Until the server listens, there is nothing to finish. But if the disk hangs, only the deadline can end the process.
  stop = () => opening.then(() => true, () => true);
  const engine = await opening;
  try {
    const server = new RunningServer(config, { engine, certificate, page, serverLog });
    await engine.prepare();
    await server.listen();
    stop = () => server.stop();
    isListening = true;
    if (!(await server.loaded())) return; // `stop` ends the process
    const where = 'folder' in place ? place.folder : place.database.text;
    const greeting = samples === null ? '' : await startDemo(samples, engine, where, server.address, config.basePath);
    process.stdout.write(`petstore listening on ${server.address}\n${greeting}`);
    await report(engine, place, server.address).catch((error: unknown) => {
      if (!(error instanceof UnavailableError)) throw error; // the engine has logged why
    });
  } catch (error) {
    if (isListening && ending.isStopping) return; // `stop` ends the process
    await engine.abandon(); // after responding to commands under way
    if (!(error instanceof UnavailableError)) throw error;
    throw new OperatorError(`${error.message} The log says why; start the server again`);
  }
}

/** Logs what the data folder or the database has, if that can be read now. */
async function report(engine: Engine, place: Config['place'], address: string): Promise<void> {
  const animals = await engine.pets.count();
  const keys = await engine.keys.list();
  const [flag, field, where] = 'folder' in place
    ? ['--data', 'folder', place.folder] as const
    : ['--database', 'database', place.database.text] as const;
  log(`${counted(animals, 'animal')} in ${where}`, 'info', { animals, [field]: where, address });
  if (keys.some((key) => isActive(key, Date.now()))) return;
  // The log is read in another folder, so the path is absolute.
  const command = `${calledAs(resolve)} keys create --name me --plan free ${flag} ${shellWord(where)}`;
  log(`there is no valid API key; create one: ${command}`, 'warn');
}
