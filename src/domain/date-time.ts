const [hours, minutes] = ['(?:[01]\\d|2[0-3])', '[0-5]\\d'];
const form = new RegExp(
  `^(\\d{4}-(\\d\\d)-(\\d\\d))T(${hours}:${minutes}):(${minutes}|60)(?:\\.(\\d+))?(Z|[+-]${hours}:${minutes})$`, 'i',
);
/** The last second before a leap second, in UTC. There are leap seconds since 1972. */
const beforeLeap = /-(06-30|12-31)T23:59:59/;
const firstLeap = Date.UTC(1972, 5, 30);

/**
 * Returns the time of an RFC 3339 date-time (section 5.6) in milliseconds since the epoch; null if the text is none.
 * Its day must exist, and a second 60 must be one that can be a leap second (section 5.7 and appendix D): the last one
 * of June or December in UTC. It has the same time as the second after it.
 */
export function readDateTime(text: string): number | null {
  const match = form.exec(text);
  if (match === null) return null;
  const [, date = '', month, day, minute, second, fraction = '', offset = ''] = match;
  const midnight = Date.parse(`${date}T00:00:00Z`);
  // Date.parse reads 30 February as 2 March.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().includes(`-${month}-${day}T`)) return null;
  const isLeap = second === '60';
  const whole = Date.parse(`${date}T${minute}:${isLeap ? '59' : second}${offset.toUpperCase()}`);
  if (isLeap && (whole < firstLeap || !beforeLeap.test(new Date(whole).toISOString()))) return null;
  return whole + (isLeap ? 1_000 : 0) + Number(`${fraction}000`.slice(0, 3));
}
