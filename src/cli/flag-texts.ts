/** What the flags of commands mean. */
import { planList } from '../limits/plans.ts';
import { defaultFolder } from '../program/flags.ts';

/** For each flag: the name of its value, or '' if it has none, and what it means. */
export const flagTexts: Readonly<Record<string, readonly [value: string, meaning: string]>> = {
  name: ['NAME', 'a name by which people recognize the key'],
  plan: ['PLAN', planList()],
  'per-minute': ['N', 'requests per minute, for enterprise'],
  'per-day': ['N', 'requests per day, for enterprise'],
  expires: ['WHEN', 'a date, a time (RFC 3339) or a duration like 90d'],
  grace: ['DURATION', 'how long the old secrets work: 90s, 30m, 24h (the default) or 7d, for example'],
  yes: ['', 'do not ask for confirmation'],
  orders: ['', 'orders instead of animals'],
  format: ['FORMAT', 'ndjson, one record on each line (the default), or json, an array'],
  force: ['', 'replace FILE if it exists'],
  'keep-ids': ['', 'keep the ids in the files instead of assigning new ones'],
  data: ['DIR', `data folder (variable DATA_DIR, default ${defaultFolder})`],
  database: ['URL', 'PostgreSQL instead of a data folder (variable DATABASE_URL)'],
  json: ['', 'print the result as JSON to stdout; errors stay one line on stderr'],
};
