/**
 * The tables and functions in the database, in the schema `petstore`.
 *
 * - `store` has one row with the id of the store and the versions of the program that can use it. An import reserves
 *   the ids from `import_first` to `import_last` (import.ts); no visible row has one of these ids or a larger one.
 *   Creates lock the row of `store`, and change it only when they have used all ids below `import_first`. `incomplete`
 *   is true until `petstore copy` has written everything.
 * - `pets` and `orders` have the JSON line of each animal and order. `ordinal` of the last row is the number of rows.
 * - `keys` has each key as JSON, and `secrets` the hash of each secret.
 * - `usage` has the usage of each key. Only the row with the highest `seq` is valid. An update leaves a dead version of
 *   its row behind, which cannot be removed as long as another connection has an older MVCC snapshot (a pg_dump, for
 *   example), and each read of the row has to skip all of them. Therefore a new row replaces it after 200 updates.
 *
 * The functions read after they have locked. In READ COMMITTED, each of their statements has an MVCC snapshot of its
 * own, so a read sees what was committed before the lock was obtained.
 */
import { OperatorError } from '../domain/operator-error.ts';
import type { Execute } from './connection.ts';

/** The number of the advisory lock that is held while the schema is created. */
const schemaLock = 7_392_016_451;
/** The number of the advisory lock that a copy of the database holds, and each change of animals or keys shares. */
export const copyLock = 7_392_016_453;
/** The SQLSTATE of a change that is refused because the store is being copied. */
export const beingCopied = 'PS001';
/** Rejects with that SQLSTATE during a copy; otherwise delays a copy until the transaction has ended. */
export const refuseWhileCopied = 'select petstore.refuse_while_copied()';

/** Prevents functions and operators of other users from being called instead of those of PostgreSQL. */
const safePath = 'set search_path = pg_catalog, pg_temp';
/**
 * Forces scans in the order of an index: a plan made for an empty table could scan a whole table of dead rows, and a
 * bitmap scan reads all dead rows of a key while a snapshot keeps them. These settings raise the estimated cost, which
 * would trigger JIT compilation (50 ms), so they turn that off too. The plan is kept: to plan each execution would take
 * longer than to execute it.
 */
const byIndex =
  `${safePath} set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off set plan_cache_mode = force_generic_plan`;

const records = (name: string): string => `
create table petstore.${name} (
  id bigint primary key,
  ordinal bigint not null,
  status text not null,
  line text not null
);
create index on petstore.${name} (status, id);
-- Returns the lines of pages, in the order of the parameters. If another line follows a page, the lines include it, and
-- \`next\` is the id after which the next page begins. \`afters\` and \`statuses\` may contain nulls. The inner queries
-- read an index in its order.
create function petstore.${name}_pages(limits integer[], afters bigint[], statuses text[])
returns table (lines text, next bigint) language plpgsql stable ${byIndex} as $$
begin
  return query
    select p.lines, p.next
    from (
      select max, after, status, n, coalesce(after, '-9223372036854775808') as first
      from unnest(limits, afters, statuses) with ordinality as p(max, after, status, n)
    ) q
    cross join lateral (
      select string_agg(r.line, E',\\n') as lines, case when count(*) > q.max then (array_agg(r.id))[q.max] end as next
      from (
        (select t.id, t.line from petstore.${name} t
          where q.status is null and t.id >= q.first and t.id is distinct from q.after
          order by t.id limit q.max + 1)
        union all
        (select t.id, t.line from petstore.${name} t
          where (t.status, t.id) >= (q.status, q.first) and t.status <= q.status and t.id is distinct from q.after
          order by t.status, t.id limit q.max + 1)
      ) r
    ) p
    order by q.n;
end $$;
-- Returns the lines with these ids, in the order of the parameter; null for an id that does not exist.
create function petstore.${name}_lines(ids bigint[]) returns setof text language plpgsql stable ${byIndex} as $$
begin
  return query
    select t.line from unnest(ids) with ordinality as q(id, n) left join petstore.${name} t on t.id = q.id order by q.n;
end $$;`;

const definition = `
create schema if not exists petstore;
create table petstore.store (
  one boolean primary key default true check (one),
  id text not null,
  version integer not null default 1,
  min_version integer not null default 1,
  id_floor bigint not null default 0,
  has_orders boolean not null default false,
  import_first bigint,
  import_last bigint,
  incomplete boolean not null default false
);
insert into petstore.store (id) values (gen_random_uuid()::text);
${records('pets')}
${records('orders')}
create table petstore.keys (
  number bigint primary key,
  record text not null
);
create table petstore.secrets (
  sha256 text primary key,
  number bigint not null references petstore.keys
);
create index on petstore.secrets (number);
create table petstore.usage (
  number bigint not null references petstore.keys,
  seq bigint not null,
  updates integer not null default 0,
  state text not null,
  banned_until bigint,
  primary key (number, seq)
) with (fillfactor = 50);
create index on petstore.usage (banned_until) where banned_until is not null;

-- The clock, in milliseconds since the epoch.
create function petstore.now_ms() returns bigint language plpgsql ${safePath} as $$
begin
  return floor(extract(epoch from clock_timestamp()) * 1000);
end $$;

-- Locks the keys with these secrets in the order of their numbers, and returns them with their usage. If \`may_wait\`
-- is false, a key that another transaction has locked is returned without its number. Returns one row without a secret
-- if there is no key: each row says which store this is.
create function petstore.lock_keys(hashes text[], may_wait boolean) returns table (
  sha256 text, number bigint, record text, seq bigint, updates integer, state text, now bigint, store text,
  min_version integer
) language plpgsql ${byIndex} as $$
#variable_conflict use_column
declare
  known text[];
  numbers bigint[];
  records text[];
  time bigint;
begin
  if may_wait then
    select array_agg(l.sha256), array_agg(l.number), array_agg(l.record) into known, numbers, records from (
      select s.sha256, k.number, k.record
      from petstore.secrets s join petstore.keys k on k.number = s.number
      where s.sha256 = any(hashes) order by k.number for no key update of k
    ) l;
  else
    select array_agg(l.sha256), array_agg(l.number), array_agg(l.record) into known, numbers, records from (
      select s.sha256, k.number, k.record
      from petstore.secrets s join petstore.keys k on k.number = s.number
      where s.sha256 = any(hashes) order by k.number for no key update of k skip locked
    ) l;
    known := known || array(
      select s.sha256 from petstore.secrets s
      where s.sha256 = any(hashes) and s.sha256 <> all(coalesce(known, '{}'))
    );
  end if;
  time := floor(extract(epoch from clock_timestamp()) * 1000);
  return query
    select l.sha256, l.number, l.record, u.seq, u.updates, u.state, time, t.id, t.min_version
    from petstore.store t
    left join unnest(known, numbers, records) as l(sha256, number, record) on true
    left join lateral (
      select * from petstore.usage u where u.number = l.number order by u.seq desc limit 1
    ) u on true
    where t.one;
end $$;

-- Stores the usage of keys that are locked. If \`fresh\` is true, a new row replaces the previous one. A subquery with a
-- limit finds each row: a join could read all rows, dead ones too.
create function petstore.save_usage(
  numbers bigint[], seqs bigint[], fresh boolean[], states text[], bans bigint[]
) returns void language plpgsql ${byIndex} as $$
begin
  update petstore.usage u set state = t.state, banned_until = t.ban, updates = u.updates + 1
    from unnest(numbers, seqs, fresh, states, bans) as t(number, seq, fresh, state, ban)
    cross join lateral (
      select x.ctid as place from petstore.usage x where x.number = t.number and x.seq = t.seq limit 1
    ) x
    where not t.fresh and u.ctid = x.place;
  if true = any(fresh) then
    delete from petstore.usage u
      using unnest(numbers, seqs, fresh) as t(number, seq, fresh)
      cross join lateral (
        select x.ctid as place from petstore.usage x where x.number = t.number and x.seq = t.seq - 1 limit 1
      ) x
      where t.fresh and u.ctid = x.place;
    insert into petstore.usage (number, seq, state, banned_until)
      select t.number, t.seq, t.state, t.ban
      from unnest(numbers, seqs, fresh, states, bans) as t(number, seq, fresh, state, ban)
      where t.fresh;
  end if;
end $$;

-- Refuses a change while the store is being copied, and prevents a copy from starting before the transaction has ended.
create function petstore.refuse_while_copied() returns void language plpgsql ${safePath} as $$
begin
  if not pg_try_advisory_xact_lock_shared(${copyLock}) then
    raise exception 'the store is being copied; try again when the copy has ended'
      using errcode = '${beingCopied}';
  end if;
end $$;

-- Adds animals with consecutive ids. Returns the first id, or null if there are not enough ids.
create function petstore.add_pets(tails text[], statuses text[], max_id bigint) returns bigint
language plpgsql ${byIndex} as $$
declare
  first bigint;
  import_first bigint;
  import_last bigint;
  last_id bigint;
  last_ordinal bigint;
begin
  perform petstore.refuse_while_copied();
  perform set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off';
  select s.id_floor, s.import_first, s.import_last into first, import_first, import_last
    from petstore.store s where one for no key update;
  -- Without this condition, the scan would have to skip the uncommitted rows of an import.
  select id, ordinal into last_id, last_ordinal from petstore.pets
    where id < coalesce(import_first, 9223372036854775807) order by id desc limit 1;
  first := greatest(first, last_id) + 1;
  if first + cardinality(tails) > import_first then -- the import will notice, and start again
    update petstore.store s set id_floor = s.import_last, import_first = null, import_last = null;
    first := import_last + 1;
  end if;
  if first + cardinality(tails) - 1 > max_id then return null; end if;
  insert into petstore.pets (id, ordinal, status, line)
    select first + n - 1, coalesce(last_ordinal, 0) + n, status, '{"id":' || (first + n - 1) || tail
    from unnest(tails, statuses) with ordinality as t(tail, status, n);
  return first;
end $$;`;

/** What a server does with each table, whose functions run with its rights. */
const rights: readonly (readonly [table: string, ...privileges: string[]])[] = [
  ['store', 'select', 'update'],
  ['pets', 'select', 'insert'],
  ['orders', 'select', 'insert'],
  ['keys', 'select', 'insert', 'update'],
  ['secrets', 'select', 'insert', 'delete'],
  ['usage', 'select', 'insert', 'update', 'delete'],
];

/** Rejects with an OperatorError if this user lacks a right that a server needs. */
export async function requireRights(execute: Execute, database: string): Promise<void> {
  const needed = rights.flatMap(([table, ...privileges]) => privileges.map((privilege) => [table, privilege] as const));
  const [missing] = await execute(`
    select privilege, name from unnest($1::text[], $2::text[]) as t (name, privilege)
    where not has_table_privilege('petstore.' || name, privilege) limit 1`, [
    needed.map(([table]) => table), needed.map(([, privilege]) => privilege),
  ]);
  if (missing === undefined) return;
  const what = `the right to ${String(missing[0])} on the table petstore.${String(missing[1])} in ${database}`;
  throw new OperatorError(`this user lacks ${what}; grant it, or use the user that owns the table`);
}

/**
 * The steps from each version of the schema to the next. The first one starts from an empty database. A newer server
 * migrates the schema while older servers run, so a step must keep the functions that they use, or give replacements
 * other names. If older servers cannot use the result, the step raises `min_version` to its own version.
 */
const migrations: readonly string[] = [definition];
/** The version of the schema that this program uses. */
export const schemaVersion = migrations.length;

/**
 * Creates the schema in an empty database, or migrates that of an older program. Resolves to the store's id. Rejects
 * with OperatorError if the database cannot be used, also if a copy to it was interrupted, unless `mayBeIncomplete` is
 * set; otherwise as `execute` does. `database` is its URL without the password, for messages.
 */
export async function ensureSchema(execute: Execute, database: string, mayBeIncomplete: boolean): Promise<string> {
  await execute('select pg_advisory_xact_lock($1)', [schemaLock]);
  const [[encoding, exists, version] = []] = await execute(`
    select current_setting('server_encoding'), to_regclass('petstore.store') is not null,
      current_setting('server_version_num')::integer`);
  if (encoding !== 'UTF8') {
    throw new OperatorError(`the database ${database} has the encoding ${encoding}; create one with the encoding UTF8`);
  }
  if ((version as number) < 150_000) {
    const found = Math.floor((version as number) / 10_000);
    throw new OperatorError(`the database ${database} runs on PostgreSQL ${found}; upgrade it to version 15 or later`);
  }
  const [[before] = []] = exists ? await execute('select version from petstore.store') : [[0]];
  if (before === undefined) {
    const problem = `the schema petstore of the database ${database} is incomplete`;
    throw new OperatorError(`${problem}; restore it, or drop it to start with an empty store`);
  }
  if ((before as number) < schemaVersion) {
    for (const step of migrations.slice(before as number)) await execute(step);
    await execute('update petstore.store set version = $1', [schemaVersion]);
  }
  const [[id, found, oldest, incomplete] = []] = await execute(`
    select id, version, min_version, incomplete from petstore.store`);
  if ((oldest as number) <= schemaVersion) {
    if (incomplete !== true || mayBeIncomplete) return id as string;
    const problem = `a copy to the database ${database} was interrupted or is still running`;
    throw new OperatorError(`${problem}; if it is not running, copy again`);
  }
  const versions = `schema version ${String(found)}, but this version of petstore uses ${schemaVersion}`;
  const advice = 'install the version that the other servers on this database run';
  throw new OperatorError(`the database ${database} has ${versions}; ${advice}`);
}
