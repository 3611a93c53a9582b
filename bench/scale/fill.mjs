// Fills an empty database with animals and keys that are never refused, as the server itself does: `fill.mjs URL
// ANIMALS KEYS LIMIT`. Prints the secrets as JSON.
import { OperatorError } from '../../dist/domain/operator-error.js';
import { newSecret } from '../../dist/keys/secret.js';
import { readDatabaseUrl } from '../../dist/postgres-engine/database-url.js';
import { PostgresEngine } from '../../dist/postgres-engine/postgres-engine.js';
import { animal } from '../measure/animal.mjs';

const [url, animals, keys, limit] = process.argv.slice(2);
const engine = await PostgresEngine.open(readDatabaseUrl('URL', url), { log: (message) => console.error(message) });
await engine.prepare();
if (engine.progress < 100) throw new OperatorError(`cannot use the database: ${engine.problem}`);
await Promise.all(Array.from({ length: Number(animals) }, (_, i) => engine.pets.create(animal(i + 1))));
const plan = { name: 'enterprise', perMinute: Number(limit), perDay: Number(limit) };
const secrets = Array.from({ length: Number(keys) }, newSecret);
for (const secret of secrets) await engine.keys.create('bench', plan, null, Date.now(), secret);
console.log(JSON.stringify(secrets));
await engine.release();
