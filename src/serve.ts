/** `petstore serve`: reads the configuration, listens, reads the data folder, and stops on a signal. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ServedCertificate } from './certificate.ts';
import { readConfig, requestedLogFormat, serverHelp, type Config } from './config.ts';
import { DataFolder } from './data-folder.ts';
import { readSamples, startDemo } from './demo.ts';
import { handOverSignals } from './early-signals.ts';
import { counted } from './domain/counted.ts';
import { Ending } from './ending.ts';
import { isActive } from './keys/key.ts';
import { ServerLog } from './observe/server-log.ts';
import { stderrSink } from './observe/stderr.ts';
import { clearLine, runProgram, shellWord, version } from './program.ts';
import { RunningServer, stopGraceMs } from './running-server.ts';

const args = process.argv.slice(2);
const format = requestedLogFormat(args, process.env) ?? (process.stderr.isTTY ? 'text' : 'json');
const serverLog = new ServerLog(stderrSink(format === 'json' ? 'latin1' : 'utf8'), format, clearLine, Date.now);
const log = serverLog.event;
const ending = new Ending(serverLog, stopGraceMs + 500);
process.on('uncaughtException', (error) => ending.crash(error));

await runProgram(async () => {
  const config = readConfig(args, process.env);
  if (config === 'help') process.stdout.write(serverHelp);
  else if (config === 'version') process.stdout.write(`${version()}\n`);
  else await serve(config);
}, log, (exitCode) => ending.exit(exitCode));

async function serve(config: Config): Promise<void> {
  const page = config.docs ? readFileSync(new URL('page.html', import.meta.url), 'utf8') : null;
  const samples = config.demo ? readSamples(new URL('sample/', import.meta.url)) : null;
  let certificate: ServedCertificate | null = null;
  let hasChanged = false; // while it was read
  let stop = async (): Promise<boolean> => true;
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
  const opening = DataFolder.open(config.folder, log);
  // Until the server listens, there is nothing to finish. But if the disk hangs, only the deadline can end the process.
  stop = () => opening.then(() => true, () => true);
  const folder = await opening;
  try {
    const server = new RunningServer(config, { folder, certificate, page, serverLog });
    await folder.readOrders();
    await server.listen();
    stop = () => server.stop();
    if (!(await server.loaded())) return; // `stop` ends the process
    const greeting = samples === null ? '' : await startDemo(samples, folder, server.address, config.basePath);
    process.stdout.write(`petstore listening on ${server.address}\n${greeting}`);
    report(folder, server.address);
  } catch (error) {
    await folder.lock.abandon(); // after responding to commands under way
    throw error;
  }
}

/** Logs what the folder has. */
function report({ path, pets, keys }: DataFolder, address: string): void {
  const animals = pets.table.count;
  log(`${counted(animals, 'animal')} in ${path}`, 'info', { animals, folder: path, address });
  if (keys.keys.some((key) => isActive(key, Date.now()))) return;
  const cli = shellWord(fileURLToPath(new URL('cli.js', import.meta.url)));
  const command = `node ${cli} keys create --name me --plan free --data ${shellWord(path)}`;
  log(`there is no valid API key; create one: ${command}`, 'warn');
}
