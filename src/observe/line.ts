/**
 * The lines of the log, as JSON and as text (docs/server.md, "Log").
 *
 * Paths and addresses come from clients. Nothing that they contain may end a line, look like the start of another one,
 * or control the terminal that shows it. So only visible ASCII characters and spaces stay as they are. Text for people
 * may also contain other visible characters. A line in JSON is ASCII, which takes half the time to encode.
 */
import { secretPrefix } from '../keys/secret.ts';
import type { Level, LogFields } from './log.ts';

/** What the lines of a log are: text for people, or a JSON object each. */
export type LogFormat = 'text' | 'json';

/** One request and its response. `null`: there was none. */
export interface Access {
  /** When the response was made, in milliseconds since the epoch. */
  readonly time: number;
  readonly id: string;
  /** The id of the key. */
  readonly key: string | null;
  readonly method: string | null;
  readonly path: string | null;
  readonly status: number;
  /** The length of the body of the response. */
  readonly bytes: number;
  readonly ms: number;
  readonly address: string;
}

/** Control, format and surrogate characters (a pair is one other character), and separators of lines. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const notPlain = /[^ !#-[\]-~]/g;
/**
 * A client may have put its secret into a path by mistake, also without the prefix or with an escaped one. Of the 36
 * characters after the prefix, 30 are random. A match begins where letters and digits do, so the time is linear.
 */
const secretLike = new RegExp(`(?<=${secretPrefix})[0-9a-z]{20,}|(?<![0-9a-z])[0-9a-z]{30,}`, 'gi');
const runAtEnd = /(?<![0-9a-z])[0-9a-z]+$/i;
/** The length of a slash and the shortest match with its prefix. */
const minSecretPath = 30;
/** What replaces a secret, and the rest of a long path: it could be 16 KB, each byte with an escape. */
const omitted = '...';
const maxPathLength = 1_000;
const isPlain = /^[ !#-[\]-~]*$/;

/** Returns a text as a JSON string in ASCII, in which also quotes are escaped by their number. */
export function quoted(text: string): string {
  return isPlain.test(text) ? `"${text}"` : `"${text.replace(notPlain, unicodeEscape)}"`;
}

/** Returns a text in which every invisible character is replaced by `\u{…}`. */
export function visible(text: string): string {
  return isPlain.test(text) ? text : text.replace(invisible, (found) => `\\u{${found.codePointAt(0)!.toString(16)}}`);
}

/** Returns an event as a line. */
export function eventLine(
  format: LogFormat, time: number, level: Level, message: string, fields: LogFields = {},
): string {
  if (format === 'text') return `petstore: ${visible(message)}\n`;
  const more = Object.entries(fields).map(([name, value]) => {
    return `,${quoted(name)}:${typeof value === 'string' ? quoted(value) : value}`;
  });
  return `{"time":"${isoTime(time)}","level":"${level}","message":${quoted(message)}${more.join('')}}\n`;
}

/** Returns a request as a line. This runs for every request, so it does not use JSON.stringify. */
export function accessLine(format: LogFormat, access: Access): string {
  const { time, id, key, method, path, status, bytes, address } = access;
  const ms = Math.round(access.ms * 100) / 100;
  const shownPath = path === null ? null : quoted(pathText(path));
  const shownAddress = isPlain.test(address) && address !== '' ? address : '-'; // it is an IP address, or unknown
  if (format === 'text') {
    const what = `${method ?? '-'} ${shownPath ?? '-'} ${status} ${bytes} B ${ms} ms`;
    return `${isoTime(time)} ${id} ${key ?? '-'} ${shownAddress} ${what}\n`;
  }
  const from = key === null ? 'null' : `"${key}"`;
  const what = `"method":${method === null ? 'null' : `"${method}"`},"path":${shownPath},"status":${status}`;
  const how = `"bytes":${bytes},"ms":${ms},"address":"${shownAddress}"`;
  return `{"time":"${isoTime(time)}","level":"info","message":"request","id":"${id}","key":${from},${what},${how}}\n`;
}

/** Returns at most `maxPathLength` characters of a path, without secrets. */
function pathText(path: string): string {
  if (path.length < minSecretPath) return path;
  // The first part of a secret may be too short to look like one.
  const shown = path.length <= maxPathLength ? path : path.slice(0, maxPathLength).replace(runAtEnd, '') + omitted;
  return shown.replace(secretLike, omitted);
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

let second = NaN;
let secondText = '';
let lastTime = NaN;
let lastText = '';

/** Formats a time (RFC 3339). Most calls are in the second, and many in the millisecond, of the one before. */
function isoTime(time: number): string {
  if (time === lastTime) return lastText;
  const whole = Math.floor(time / 1000);
  if (whole !== second) secondText = new Date(whole * 1000).toISOString().slice(0, -4);
  second = whole;
  const ms = time - whole * 1000;
  lastTime = time;
  lastText = `${secondText}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z`;
  return lastText;
}
