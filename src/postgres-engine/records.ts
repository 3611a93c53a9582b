/** Animals and orders in the database. */
import { bytesOf, type Body } from '../domain/byte-text.ts';
import { idWarning, maxPetId, noIdsLeft, petText, type NewPet, type StoredPet } from '../domain/pet.ts';
import { UnavailableError, type Page, type PageQuery, type Pets, type Records } from '../engine.ts';
import type { CheckStore, Connection } from './connection.ts';
import type { Row } from './driver.ts';
import { Group } from './group.ts';
import { textArray, wordArray } from './literals.ts';

const maxCreates = 500;
const maxReads = 500;
/** The assumed bytes of a line, which bound a group of pages: most lines are shorter, and a few are much longer. */
const typicalMaxLine = 1024;
const headLength = '{"id":0'.length;
/** For how long the result of a test of the database is reused. */
const testMs = 500;

/** An animal to be added, and its line without the id. */
interface NewAnimal {
  readonly pet: NewPet;
  readonly tail: string;
}

/** A table of records (schema.ts). Requests that wait share one statement. */
export class DatabaseRecords implements Records {
  protected readonly msLeft: () => number;
  readonly #connection: Connection;
  readonly #table: string;
  /** Excludes the uncommitted rows of an import, all of which the scan would have to skip. */
  readonly #filter: string;
  readonly #pages: Group<PageQuery, Row>;
  readonly #lines: Group<string, Row>;

  /** `msLeft` returns how many milliseconds a request that has just been admitted may still take. */
  constructor(connection: Connection, table: 'pets' | 'orders', msLeft: () => number) {
    this.msLeft = msLeft;
    this.#connection = connection;
    this.#table = `petstore.${table}`;
    const firstOfImport = 'coalesce((select import_first from petstore.store), 9223372036854775807)';
    this.#filter = table === 'pets' ? `where id < ${firstOfImport}` : '';
    this.#pages = new Group(maxReads, (queries) => {
      const [limits, afters, statuses] = (['limit', 'after', 'status'] as const).map((name) =>
        wordArray(queries.map((query) => query[name])));
      return this.#read(`select * from ${this.#table}_pages(${limits}, ${afters}, ${statuses})`);
    }, ({ limit }) => limit * typicalMaxLine);
    this.#lines = new Group(maxReads, (ids) => this.#read(`select * from ${this.#table}_lines(${wordArray(ids)})`));
  }

  async page(query: PageQuery): Promise<Page> {
    const row = await this.#pages.add(query, this.msLeft());
    const [lines, next] = row as readonly [lines: string | null, next: string | null];
    if (lines === null) return { body: bytesOf('[]'), next };
    const shown = next === null ? lines : lines.slice(0, lines.lastIndexOf(',\n')); // no line has a line feed
    return { body: bytesOf(`[${shown}]`), next };
  }

  async count(): Promise<number> {
    const last = `select ordinal from ${this.#table} ${this.#filter} order by id desc limit 1`;
    const [[ordinal] = ['0']] = await this.#read(last);
    return Number(ordinal);
  }

  async get(id: string): Promise<Body | null> {
    const [line] = await this.#lines.add(id, this.msLeft());
    return line === null ? null : bytesOf(line as string);
  }

  #read(text: string) {
    return this.#connection.query(text);
  }
}

/** The animals. Creates have a connection of their own, so that lists do not wait while creates wait for the lock. */
export class DatabasePets extends DatabaseRecords implements Pets {
  readonly group: Group<NewAnimal, StoredPet>;
  /** Why no animal can be added although the database works; null if one can. */
  problem: string | null = null;
  /** The current or latest test of whether animals can be added. */
  #test: { readonly result: Promise<boolean>; readonly until: number } | null = null;
  readonly #writing: Connection;
  readonly #checkStore: CheckStore;

  constructor(reading: Connection, writing: Connection, checkStore: CheckStore, msLeft: () => number) {
    super(reading, 'pets', msLeft);
    this.#writing = writing;
    this.#checkStore = checkStore;
    this.group = new Group(maxCreates, (animals) => this.#addAll(animals), ({ tail }) => tail.length);
  }

  create(pet: NewPet): Promise<StoredPet> {
    return this.group.add({ pet, tail: petText(0, pet).slice(headLength) }, this.msLeft());
  }

  /** Discards the result of the last test of the database, because the database has become unreachable or reachable. */
  forgetTest(): void {
    this.#test = null;
  }

  writable(): Promise<boolean> {
    const now = performance.now();
    if (this.#test === null || now >= this.#test.until) {
      this.#test = { result: this.#isWritable(), until: now + testMs };
    }
    return this.#test.result;
  }

  async #isWritable(): Promise<boolean> {
    try {
      const [[id, minVersion, isReadOnly, lastId] = []] = await this.#writing.query(`
        select id, min_version, current_setting('transaction_read_only'), greatest(id_floor, (
          select id from petstore.pets where id < coalesce(import_first, 9223372036854775807) order by id desc limit 1))
        from petstore.store`);
      this.#checkStore(id as string, minVersion as number);
      this.problem = Number(lastId) >= maxPetId ? idWarning(Number(lastId)) : null;
      return isReadOnly === 'off' && this.problem === null;
    } catch {
      return false;
    }
  }

  async #addAll(animals: readonly NewAnimal[]): Promise<readonly StoredPet[]> {
    const tails = textArray(animals.map(({ tail }) => tail));
    const statuses = wordArray(animals.map(({ pet }) => pet.status));
    const [[first] = []] = await this.#writing.transaction((_execute, commit) =>
      commit(`select petstore.add_pets(${tails}, ${statuses}, ${maxPetId})`));
    if (first === null) {
      this.problem = idWarning(maxPetId);
      throw new UnavailableError(noIdsLeft);
    }
    return animals.map(({ pet: { status }, tail }, index) => {
      const id = Number(first) + index;
      return { id, line: bytesOf(`{"id":${id}${tail}`), status };
    });
  }
}
