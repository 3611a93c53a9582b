/** The certificate of HTTPS, and its private key. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Log } from '../observe/log.ts';
import { messageOf, OperatorError } from '../domain/operator-error.ts';
import { diskError } from '../files/errors.ts';
import type { CertificateInPem } from '../http/listener.ts';

/** The paths of a certificate with its chain, and of its private key. Both are in PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** A certificate and the key that belongs to it. */
interface Certificate extends CertificateInPem {
  /** When it expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The certificate that a server uses. The server can read it again while it runs. */
export class ServedCertificate {
  readonly #files: TlsFiles;
  readonly #log: Log;
  #current: Certificate;
  #reloaded = Promise.resolve();
  #use = (_certificate: CertificateInPem): void => {};

  /** Reads the files. Rejects with OperatorError. */
  static async read(files: TlsFiles, log: Log): Promise<ServedCertificate> {
    return new ServedCertificate(files, log, await readCertificate(files));
  }

  private constructor(files: TlsFiles, log: Log, first: Certificate) {
    this.#files = files;
    this.#log = log;
    this.#current = first;
    this.#warnIfExpired();
  }

  get current(): Certificate {
    return this.#current;
  }

  /** Calls `use` with the certificate, and again with each that replaces it. */
  follow(use: (certificate: CertificateInPem) => void): void {
    this.#use = use;
    use(this.#current);
  }

  /** Reads the files again. If they are invalid, the old certificate stays in use. Calls run one after the other. */
  reload(): Promise<void> {
    return (this.#reloaded = this.#reloaded.then(async () => {
      try {
        const renewed = await readCertificate(this.#files);
        this.#use(renewed);
        this.#current = renewed;
      } catch (error) {
        return this.#log(`${messageOf(error)}; the old certificate stays in use`, 'error');
      }
      const until = new Date(this.#current.expiresAt).toISOString();
      this.#log(`read ${this.#files.cert} again: the certificate expires at ${until}`, 'info', { until });
      this.#warnIfExpired();
    }));
  }

  #warnIfExpired(): void {
    const { expiresAt } = this.#current;
    if (expiresAt > Date.now()) return;
    const until = new Date(expiresAt).toISOString();
    const advice = 'renew it, and send SIGHUP to this process';
    this.#log(`the certificate in ${this.#files.cert} expired at ${until}: ${advice}`, 'warn', { until });
  }
}

const certRule = 'it must contain the certificate of the server, followed by those of its issuers, in PEM';
const keyRule = 'it must contain the private key of the certificate, in PEM and without a passphrase';

/** Reads a certificate and its key. Rejects with OperatorError, which names the file and what to do. */
async function readCertificate(files: TlsFiles): Promise<Certificate> {
  const cert = await readPem(files.cert, certRule);
  const key = await readPem(files.key, keyRule);
  const certificate = valid(files.cert, certRule, () => new X509Certificate(cert)); // the first one in the file
  const privateKey = valid(files.key, keyRule, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    const problem = `the key in ${files.key} is not that of the first certificate in ${files.cert}`;
    throw new OperatorError(`${problem}: use the certificate and the key of one pair`);
  }
  valid(files.cert, certRule, () => createSecureContext({ cert, key })); // also reads the rest of the chain
  const expiresAt = Date.parse(certificate.validTo);
  if (!Number.isNaN(expiresAt)) return { cert, key, expiresAt };
  throw new OperatorError(`${files.cert} is invalid: its expiry time cannot be read; use another certificate`);
}

/** A certificate with its chain has a few KB. */
const maxPemBytes = 1024 * 1024;

/**
 * Reads a regular file of at most 1 MiB. Others are refused: opening a FIFO waits for a writer. Rejects with
 * OperatorError.
 */
async function readPem(path: string, rule: string): Promise<Buffer> {
  let problem;
  try {
    const stats = await stat(path);
    if (stats.isFile() && stats.size <= maxPemBytes) return await readFile(path);
    problem = stats.isFile() ? `it has more than ${maxPemBytes} bytes` : 'it is not a regular file';
  } catch (error) {
    throw diskError('read', path, error);
  }
  throw new OperatorError(`cannot read ${path}: ${problem}; ${rule}`);
}

/** Returns what `parse` returns. If it throws, the file is invalid. */
function valid<Value>(path: string, rule: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    throw new OperatorError(`${path} is invalid (${messageOf(error)}): ${rule}`);
  }
}
