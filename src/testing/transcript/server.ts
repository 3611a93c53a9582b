/** Runs a built server for the transcript, with a stopped clock and known keys, animals and orders. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder, type Owner } from '../../../harness/owner.ts';
import { startServer, type RunningServer } from '../../../harness/server.ts';
import { writeRecords } from '../../file-engine/files/record-file.ts';
import { storeIdOf } from '../../file-engine/files/store-id.ts';
import { encodeKey } from '../../file-engine/accounts/key-record.ts';
import { hashSecret, newSecret } from '../../keys/secret.ts';
import type { Plan } from '../../limits/plans.ts';
import { certificateFlags, type TestCertificate } from '../../../harness/certificates.ts';
import { send } from '../service.ts';
import { TranscriptClient } from './client.ts';

export interface ServerOptions {
  /** The time that `Date.now` returns (RFC 3339). */
  readonly now: string;
  /** Further flags. */
  readonly args?: readonly string[];
  /** The largest file that the process may write, in KiB. Beyond it, writes fail as on a full disk. */
  readonly maxFileKib?: number;
  /** The number of keys with a large enterprise plan, and of keys with the free plan. */
  readonly keys: number;
  /** Whether the keys with the free plan are banned. */
  readonly banned?: boolean;
  /** If given, the server uses TLS. */
  readonly certificate?: TestCertificate | undefined;
}

const ordersFile = `[
{"id":1,"petId":4,"quantity":1,"shipDate":"2026-03-02T09:30:00Z","status":"delivered","complete":true},
{"id":2,"petId":9223372036854775807,"quantity":2147483647,"status":"placed","complete":false},
{"id":3,"petId":2,"quantity":3,"shipDate":"2026-03-09T08:15:30.250Z","status":"approved","complete":false}
]
`;
const large: Plan = { name: 'enterprise', perMinute: 100_000, perDay: 1_000_000 };

export class TranscriptServer {
  readonly process: RunningServer;
  readonly #address: string;
  readonly #certificate: string | null;
  /** The secrets of the keys with a large plan, and of those with the free plan. */
  readonly secrets: { readonly large: readonly string[]; readonly free: readonly string[] };

  /** Starts `serverPath` with the Node at `nodePath`. */
  static async start(
    owner: Owner, nodePath: string, serverPath: string, options: ServerOptions,
  ): Promise<TranscriptServer> {
    const folder = temporaryFolder(owner);
    const time = Date.parse(options.now);
    writeFileSync(join(folder, 'orders.json'), ordersFile);
    const newSecrets = (): string[] => Array.from({ length: options.keys }, newSecret);
    const secrets = { large: newSecrets(), free: newSecrets() };
    await writeKeys(folder, secrets, time);
    if (options.banned) await writeBans(folder, options.keys, time);
    const clock = fileURLToPath(new URL('clock.mjs', import.meta.url));
    const limit = options.maxFileKib === undefined ? '' : `ulimit -S -f ${options.maxFileKib}; `;
    const command = ['bash', '-c', `${limit}exec "$0" "$@"`, nodePath, '--import', clock, serverPath];
    const env = { TRANSCRIPT_NOW: options.now };
    const { certificate, args = [] } = options;
    const tls = certificate === undefined ? [] : certificateFlags(temporaryFolder(owner), certificate);
    const flags = [...args, ...tls];
    const server = await startServer(owner, folder, flags, command, env);
    return new TranscriptServer(server, secrets, certificate?.cert ?? null);
  }

  private constructor(server: RunningServer, secrets: TranscriptServer['secrets'], certificate: string | null) {
    this.process = server;
    this.secrets = secrets;
    this.#address = server.address;
    this.#certificate = certificate;
  }

  /** Connects from the `index`th loopback address: the server counts its requests separately. */
  connect(index: number): TranscriptClient {
    const port = Number(new URL(this.#address).port);
    return new TranscriptClient(port, `127.0.${1 + (index >> 7)}.${1 + (index & 0x7f)}`, this.#certificate);
  }

  /** Makes some round trips on other connections. After them, the server has read whatever the kernel had received. */
  async settle(): Promise<void> {
    for (let i = 0; i < 3; i += 1) await send(this.#address, 'OPTIONS', '*').catch(() => null);
  }

  /** Returns whether the server still accepts connections. */
  isAccepting(): Promise<boolean> {
    return send(this.#address, 'OPTIONS', '*').then(() => true, () => false);
  }

  /** Adds 3 animals with short names and 60 with long names, a page of which takes more than one write. */
  async fill(basePath: string): Promise<void> {
    const long = Array.from({ length: 60 }, (_, i) => `${i} ${'x'.repeat(1_000)}`);
    const names = ['Rex', 'Mia é', 'quote " and \u0000', ...long];
    for (const [index, name] of names.entries()) {
      const body = JSON.stringify({ name, categoryId: index, status: ['available', 'pending', 'sold'][index % 3] });
      const key = this.secrets.large.at(-1)!;
      const { status } = await send(this.#address, 'POST', `${basePath}/pets`, { key, body });
      if (status !== 201) throw new Error(`an animal could not be added: ${status}`);
    }
  }

  async kill(): Promise<void> {
    await this.process.kill();
  }
}

async function writeKeys(folder: string, secrets: TranscriptServer['secrets'], createdAt: number): Promise<void> {
  const plans = [...secrets.large.map(() => large), ...secrets.free.map((): Plan => ({ name: 'free' }))];
  const keys = [...secrets.large, ...secrets.free].map((secret, index) => ({
    id: `k${index + 1}`, name: 'test', plan: plans[index]!, createdAt, expiresAt: null, revokedAt: null,
    secrets: [{ sha256: hashSecret(secret), last4: secret.slice(-4), expiresAt: null }],
  }));
  const format = { name: 'petstore-keys', member: 'keys' };
  await writeRecords(join(folder, 'keys.json'), format, { store: storeIdOf(folder) }, keys.map(encodeKey));
}

/** Writes a usage.json in which the keys with the free plan have been banned for 10 s. */
async function writeBans(folder: string, keys: number, now: number): Promise<void> {
  const second = Math.floor(now / 1000) * 1000;
  const iso = (time: number): string => new Date(time).toISOString();
  const window = (lengthMs: number): string => `{"start":"${iso(Math.floor(now / lengthMs) * lengthMs)}","used":60}`;
  const ban = `{"start":"${iso(second - 10_000)}","end":"${iso(second + 290_000)}"}`;
  const lines = Array.from({ length: keys }, (_, index) =>
    `{"id":"k${keys + index + 1}","minute":${window(60_000)},"day":${window(86_400_000)},"ban":${ban}}`);
  const format = { name: 'petstore-usage', member: 'keys' };
  await writeRecords(join(folder, 'usage.json'), format, { store: storeIdOf(folder) }, lines);
}
