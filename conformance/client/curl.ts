/** Command lines that repeat a request. */
import { spelled, type Request } from './request.ts';

/**
 * A line for a POSIX shell that sends the request again, with the key as `$API_KEY`, after those that came before it on
 * its connection.
 */
export function curlLine(request: Request, baseUrl: string): string {
  const { before = [], method, credential, body } = request;
  if (before.length > 0) {
    // With --next, curl sends both on one connection. The body of the last one may come from its standard input.
    const earlier = before.map((one) => curlLine(one, baseUrl));
    const last = curlLine({ ...request, before: [] }, baseUrl);
    const [, printed = '', own = ''] = /^(printf '[^']*' \| )?curl (.*)$/s.exec(last)!;
    return `${printed}${earlier.join(' --next ').replaceAll(' --next curl ', ' --next ')} --next ${own}`;
  }
  // With -X HEAD, curl would wait for a body.
  const parts = [method === 'HEAD' ? 'curl -I' : 'curl -i'];
  if (method !== 'HEAD' && method !== (body === undefined ? 'GET' : 'POST')) parts.push(`-X ${method}`);
  // curl removes a header that ends with a colon, and sends it empty if it ends with a semicolon.
  const authorization = spelled('Authorization', request);
  if (credential.shell !== undefined)
    parts.push(credential.shell === '' ? `-H '${authorization};'` : `-H "${authorization}: ${credential.shell}"`);
  const { headers, shellHeaders } = request;
  if (shellHeaders === undefined)
    for (const [name, value] of headers) parts.push(`-H ${quoted(`${spelled(name, request)}: ${value}`)}`);
  else for (const [name, value] of shellHeaders) parts.push(`-H "${spelled(name, request)}: ${value}"`);
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

/** The text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
