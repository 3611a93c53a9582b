/**
 * Makes certificates for tests of TLS (X.509, RFC 5280, in the DER of X.690): neither a key that looks like a leaked
 * one nor a certificate that expires is in the repository, and no test needs the program openssl.
 */
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface TestCertificate {
  /** The certificate and the key, in PEM. */
  readonly cert: string;
  readonly key: string;
  readonly name: string;
  readonly privateKey: KeyObject;
}

export interface CertificateOptions {
  /** The common name of the subject. */
  readonly name?: string;
  readonly algorithm?: 'ec' | 'rsa';
  /** The size of an RSA key, in bits. */
  readonly bits?: number;
  /** Who signs it. Without one it is self-signed, and clients can use it as the certificate of an authority. */
  readonly issuer?: TestCertificate;
  /** Whether it may sign others. A self-signed one may. */
  readonly isAuthority?: boolean;
  /** When it expires, in milliseconds since the epoch, or as the text of a GeneralizedTime. */
  readonly expiresAt?: number | string;
}

const oids = {
  commonName: [0x55, 0x04, 0x03],
  basicConstraints: [0x55, 0x1d, 0x13],
  subjectAltName: [0x55, 0x1d, 0x11],
  ec: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02], // ecdsa-with-SHA256
  rsa: [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b], // sha256WithRSAEncryption
};

/** Makes a certificate for localhost and 127.0.0.1, which has been valid since 2020. */
export function makeCertificate(options: CertificateOptions = {}): TestCertificate {
  const { name = 'localhost', algorithm = 'ec', bits = 2_048, issuer, expiresAt = Date.UTC(2200, 0) } = options;
  const isAuthority = options.isAuthority ?? issuer === undefined;
  const { publicKey, privateKey } = algorithm === 'ec'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: bits });
  const signer = issuer?.privateKey ?? privateKey;
  const signature = sequence(oid(oids[signer.asymmetricKeyType as 'ec' | 'rsa']));
  const names = [der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1]))];
  const content = sequence(
    der(0xa0, integer(Buffer.from([2]))), // version 3
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    signature,
    nameOf(issuer?.name ?? name),
    sequence(timeOf(Date.UTC(2020, 0)), timeOf(expiresAt)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(
      sequence(oid(oids.basicConstraints), octets(isAuthority ? sequence(der(0x01, Buffer.from([0xff]))) : sequence())),
      sequence(oid(oids.subjectAltName), octets(sequence(...names))),
    )),
  );
  const signed = sequence(content, signature, der(0x03, Buffer.from([0]), sign('sha256', content, signer)));
  const lines = signed.toString('base64').match(/.{1,64}/g)!;
  return {
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    name,
    privateKey,
  };
}

/** Writes a certificate and its key into a folder, and returns the flags of the server that name the files. */
export function certificateFlags(folder: string, { cert, key }: Pick<TestCertificate, 'cert' | 'key'>): string[] {
  const [certPath, keyPath] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(certPath, cert);
  writeFileSync(keyPath, key);
  return ['--tls-cert', certPath, '--tls-key', keyPath];
}

function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const lengthBytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...lengthBytes]), content]);
}

const sequence = (...items: readonly Buffer[]): Buffer => der(0x30, ...items);
const integer = (bytes: Buffer): Buffer => der(0x02, bytes);
const octets = (bytes: Buffer): Buffer => der(0x04, bytes);
const oid = (bytes: readonly number[]): Buffer => der(0x06, Buffer.from(bytes));
const nameOf = (name: string): Buffer =>
  sequence(der(0x31, sequence(oid(oids.commonName), der(0x0c, Buffer.from(name)))));
/** As UTCTime before 2050, else as GeneralizedTime (RFC 5280, section 4.1.2.5). */
const timeOf = (time: number | string): Buffer => {
  if (typeof time === 'string') return der(0x18, Buffer.from(time));
  const text = `${new Date(time).toISOString().replace(/[-:T]|\.\d+/g, '')}`;
  return text < '2050' ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text));
};
