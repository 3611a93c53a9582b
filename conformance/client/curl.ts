/** Command lines that repeat a request. */
import type { Credential, Request } from './request.ts';

/** A line for a POSIX shell that sends the request again, with the key as `$API_KEY`. */
export function curlLine(request: Request, baseUrl: string): string {
  const { method, credential, body } = request;
  if (request.raw !== undefined) return rawLine(request.raw, credential, baseUrl);
  // With -X HEAD, curl would wait for a body.
  const parts = [method === 'HEAD' ? 'curl -I' : 'curl -i'];
  if (method !== 'HEAD' && method !== (body === undefined ? 'GET' : 'POST')) parts.push(`-X ${method}`);
  // curl removes a header that ends with a colon, and sends it empty if it ends with a semicolon.
  if (credential.shell !== undefined)
    parts.push(credential.shell === '' ? "-H 'Authorization;'" : `-H "Authorization: ${credential.shell}"`);
  for (const [name, value] of request.headers) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  const url =
    request.shellTarget === undefined
      ? quoted(baseUrl + request.target)
      : `"${baseUrl.replaceAll('$', '\\$')}${request.shellTarget}"`;
  if (body === undefined) return [...parts, url].join(' ');
  if (!request.headers.some(([name]) => name.toLowerCase() === 'content-type')) parts.push("-H 'Content-Type:'");
  const text = Buffer.from(body).toString();
  const fitsAWord = Buffer.from(text).equals(body) && !/^@|[\u0000-\u001f\u007f\ufeff]/.test(text);
  if (fitsAWord) return [...parts, '--data-binary', quoted(text), url].join(' ');
  const octal = Array.from(body, (byte, i) =>
    byte < 0x20 || (i === 0 && byte === 0x2d) || byte > 0x7e || "\\%'".includes(String.fromCharCode(byte))
      ? `\\${byte.toString(8).padStart(3, '0')}`
      : String.fromCharCode(byte),
  );
  return `printf '${octal.join('')}' | ${[...parts, '--data-binary @-', url].join(' ')}`;
}

/** A line for a POSIX shell that sends a message byte by byte: what curl would not send. */
function rawLine(raw: string, { header, shell }: Credential, baseUrl: string): string {
  const words: string[] = [];
  const mark = '\u0100'; // no byte: where a word of the shell goes
  const places = new RegExp(header === undefined ? '0{200,}' : `0{200,}|${header.replace(/[^\w ]/g, '\\$&')}`, 'g');
  const text = raw.replace(places, (found) => {
    words.push(found === header ? `"${shell}"` : `"$(printf %0${found.length}d 0)"`);
    return mark;
  });
  const format = Array.from(text, (c) => {
    if (c === mark) return '%s';
    if (c === '\r' || c === '\n') return c === '\r' ? '\\r' : '\\n';
    if (c === '%') return '%%';
    return c < ' ' || c > '~' || c === '\\' || c === "'" ? `\\${c.charCodeAt(0).toString(8).padStart(3, '0')}` : c;
  }).join('');
  const { protocol, hostname, port } = new URL(baseUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  const to = protocol === 'https:' ? `openssl s_client -quiet -connect ${hostname}:${port || 443}` : `nc ${host} ${port || 80}`;
  return [`printf '${format}'`, ...words, '|', to].join(' ');
}

/** The text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
