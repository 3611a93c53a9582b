import { defaultFolder } from '../program/flags.ts';

/** What `petstore --help` prints. */
export const help = `Usage: petstore COMMAND [options]

Runs the pet store server, and manages its data folder or database, whether the server runs or not.

  serve [options]                      run the server; petstore serve --help lists its options
  status                               show the state of the running server: animals, disk,
                                         connections, busiest keys; exit code 1 without one;
                                         or what a database contains, and its busiest keys
  keys create --name N --plan PLAN     create a key and print its secret to stdout, only once
       [--per-minute N --per-day N]      the limits, required for enterprise
       [--expires WHEN]                  a date, a time (RFC 3339) or a duration like 90d
  keys list                            show all keys
  keys rotate ID [--grace 24h]         add a new secret and print it to stdout; the old
                                         ones work for the grace period
  keys revoke ID                       revoke a key permanently
  keys set-plan ID PLAN                move a key to another plan
       [--per-minute N --per-day N]
  keys unban ID                        lift the ban of a key and forget it
  usage [ID]                           show what each key has used of its minute and its
                                         day, and its ban
  backup TO                            write a backup to TO, a new folder
  restore FROM                         make a new data folder from a backup
  verify                               check all files, and change nothing; exit code 1 if
                                         something is damaged, 2 if it cannot be read
  salvage TO                           copy everything intact in a damaged folder to a new
                                         one, and name what was lost
  export [FILE] [--orders]             write all animals, or all orders, to FILE or stdout
       [--format ndjson|json]            one on each line (the default), or a JSON array
       [--force]                         replace FILE if it exists
  import FILE… [--orders]              add animals, or orders, from files in either format;
       [--keep-ids]                      all or none; new ids unless --keep-ids is given;
                                         a server on a data folder must be stopped
  copy FROM TO                         copy a store to an empty one: animals with their ids,
                                         orders, keys and usage; FROM and TO are each a data
                                         folder or the URL of a database

PLAN is free, pro, business or enterprise.

  --data DIR           data folder (variable DATA_DIR, default ${defaultFolder})
  --database URL       PostgreSQL, instead of a data folder (variable DATABASE_URL), for status,
                         keys, usage, export and import
  --json               print the result as JSON to stdout; errors stay one line on stderr
  --help, --version`;
