// The animals of fastify and express: better-sqlite3 as its docs/performance.md and docs/api.md recommend (WAL, every
// statement prepared once), with synchronous=FULL, as a create is to be on the disk before it is answered. (Its own build
// has NORMAL for WAL, which a power cut may cost the last creates; https://www.sqlite.org/pragma.html#pragma_synchronous.)
// That build also syncs with fsync, as it does not define HAVE_FDATASYNC, where our server uses fdatasync: it is the library's
// default, and stays.
// A create is one INSERT, committed by itself: the library is synchronous, so there is nothing to share a sync with.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { firstPets, folder } from './contract.mjs';
import { sqliteFailureFile } from './install.mjs';

/** Opens the animals in the bench's folder: those already there, or else those to begin with. */
export async function openPets() {
  const Database = await loadSqlite();
  const db = new Database(join(folder, 'pets.db'));
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec(`
    CREATE TABLE IF NOT EXISTS pets (id INTEGER PRIMARY KEY, name TEXT NOT NULL, categoryId INTEGER NOT NULL, status TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS pets_by_status ON pets (status);
  `); // An index of SQLite's ends with the row's id: this one gives the animals of a status in ascending id.
  if (db.prepare('SELECT 1 FROM pets LIMIT 1').get() === undefined) fill(db);

  const all = db.prepare('SELECT id, name, categoryId, status FROM pets WHERE id > ? ORDER BY id LIMIT ?');
  const ofStatus = db.prepare('SELECT id, name, categoryId, status FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ?');
  const one = db.prepare('SELECT id, name, categoryId, status FROM pets WHERE id = ?');
  const insert = db.prepare('INSERT INTO pets (name, categoryId, status) VALUES (?, ?, ?)');
  return {
    /** A page, and whether more follow. */
    page({ limit, after = 0, status }) {
      const pets = status === undefined ? all.all(after, limit + 1) : ofStatus.all(status, after, limit + 1);
      const more = pets.length > limit;
      if (more) pets.pop();
      return { pets, more };
    },
    /** The animal with this id; undefined if there is none. */
    get(id) {
      return one.get(id);
    },
    /** Adds an animal; it is on the disk when this returns. */
    create({ name, categoryId, status }) {
      const { lastInsertRowid } = insert.run(name, categoryId, status);
      return { id: lastInsertRowid, name, categoryId, status };
    },
    close() {
      db.close();
    },
  };
}

function fill(db) {
  const insert = db.prepare('INSERT INTO pets (id, name, categoryId, status) VALUES (@id, @name, @categoryId, @status)');
  db.transaction(() => {
    for (const pet of firstPets()) insert.run(pet);
  })();
  db.pragma('wal_checkpoint(TRUNCATE)'); // What the start wrote is no business of the first creates.
}

/** better-sqlite3 is the one package here that must be compiled: where that failed, one line says why. */
async function loadSqlite() {
  try {
    const { default: Database } = await import('better-sqlite3');
    new Database(':memory:').close(); // It is loaded with the first database.
    return Database;
  } catch (error) {
    const why = existsSync(sqliteFailureFile)
      ? readFileSync(sqliteFailureFile, 'utf8').trim()
      : `better-sqlite3 cannot be loaded: ${error.message.split('\n')[0]}`;
    console.error(why);
    process.exit(1);
  }
}
