// The animals of fastify and express in SQLite: better-sqlite3 as its docs/performance.md and docs/api.md recommend
// (WAL, every statement prepared once), with synchronous=FULL, as a create must be on the disk before its response.
// (With its own default for WAL, NORMAL, a power cut can lose the last creates:
// https://www.sqlite.org/pragma.html#pragma_synchronous.) By default, the library syncs with fsync, our server with
// fdatasync.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { firstPets, folder } from './contract.mjs';

/**
 * Opens the animals in the peer's folder, and inserts the first ones if it is empty. Each create is a transaction of
 * its own, or, with `groupCommit`, the creates of one turn of the event loop are one transaction.
 */
export function openSqlitePets({ groupCommit }) {
  const db = new Database(join(folder, 'pets.db'));
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec(`
    CREATE TABLE IF NOT EXISTS pets
      (id INTEGER PRIMARY KEY, name TEXT NOT NULL, categoryId INTEGER NOT NULL, status TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS pets_by_status ON pets (status);
  `); // An index in SQLite ends with the row's id: this one has the animals of a status in ascending id.
  if (db.prepare('SELECT 1 FROM pets LIMIT 1').get() === undefined) fill(db);

  const select = 'SELECT id, name, categoryId, status FROM pets WHERE';
  const all = db.prepare(`${select} id > ? ORDER BY id LIMIT ?`);
  const ofStatus = db.prepare(`${select} status = ? AND id > ? ORDER BY id LIMIT ?`);
  const one = db.prepare(`${select} id = ?`);
  const insert = db.prepare('INSERT INTO pets (name, categoryId, status) VALUES (?, ?, ?)');
  const create = ({ name, categoryId, status }) => {
    const { lastInsertRowid: id } = insert.run(name, categoryId, status);
    return { id, name, categoryId, status };
  };

  // Group commit: the creates of one turn of the event loop wait for each other and share a transaction, and so a sync.
  let waiting = [];
  const insertGroup = db.transaction((group) => group.map(({ newPet }) => create(newPet)));
  const commit = () => {
    const group = waiting;
    waiting = [];
    try {
      insertGroup(group).forEach((pet, i) => group[i].resolve(pet));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  };
  const createInGroup = (newPet) => new Promise((resolve, reject) => {
    if (waiting.push({ newPet, resolve, reject }) === 1) setImmediate(commit);
  });

  return {
    /** A page, and whether more animals follow. */
    page({ limit, after = 0, status }) {
      const pets = status === undefined ? all.all(after, limit + 1) : ofStatus.all(status, after, limit + 1);
      const more = pets.length > limit;
      if (more) pets.pop();
      return { pets, more };
    },
    /** The animal with this id; undefined if there is none. */
    get: (id) => one.get(id),
    /** Adds an animal; it is on the disk when this returns or, in a group, resolves. */
    create: groupCommit ? createInGroup : create,
    close: () => db.close(),
  };
}

function fill(db) {
  const insert = db.prepare('INSERT INTO pets VALUES (@id, @name, @categoryId, @status)');
  db.transaction(() => {
    for (const pet of firstPets()) insert.run(pet);
  })();
  db.pragma('wal_checkpoint(TRUNCATE)'); // so that the first creates do not pay for it
}
