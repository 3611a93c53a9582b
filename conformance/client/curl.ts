/** Command lines that repeat a request. */
import { permitsCoding, spelled, type Request } from './request.ts';

/**
 * A line for a POSIX shell that sends the request again, with the key as `$API_KEY`, after the requests that preceded
 * it on its connection. It pipes the key to curl, because other users of the machine can read command lines.
 */
export function curlLine(request: Request, baseUrl: string): string {
  const inputs: string[] = [];
  const piped = (command: string): string => {
    inputs.push(command);
    return inputs.length === 1 ? '-' : `/dev/fd/${inputs.length + 1}`;
  };
  // With --next, curl sends all requests on one connection.
  const requests = [...(request.before ?? []), request].map((one) => argumentsOf(one, baseUrl, piped).join(' '));
  return inputs.reduce(
    (line, input, i) => (i === 0 ? `${input} | ${line}` : `${input} | { ${line}; } ${i + 2}<&0`),
    `curl ${requests.join(' --next ')}`,
  );
}

/** The arguments of curl for one request. `piped` returns the name of a file that has the output of a command. */
function argumentsOf(request: Request, baseUrl: string, piped: (command: string) => string): readonly string[] {
  const { method, credential, headers, shellHeaders, without, body } = request;
  // With -X HEAD, curl would wait for a body.
  const parts = [method === 'HEAD' ? '-I' : '-i'];
  if (/\/\.{1,2}(\/|$)/.test(request.target)) parts.push('--path-as-is');
  if (method !== 'HEAD' && method !== (body === undefined ? 'GET' : 'POST')) parts.push(`-X ${method}`);
  if (permitsCoding(request)) parts.push('--compressed');
  if (without !== undefined) parts.push(`-H '${without}:'`);
  // curl removes a header that ends with a colon, and sends it empty if it ends with a semicolon.
  const authorization = spelled('Authorization', request);
  const value = credential.shell === '' ? ';' : `: ${credential.shell}`;
  const words = [
    ...(credential.shell === undefined ? [] : [`"${authorization}${value}"`]),
    ...(shellHeaders?.map(([name, value]) => `"${spelled(name, request)}: ${value}"`)
      ?? headers.map(([name, value]) => quoted(`${spelled(name, request)}: ${value}`))),
  ];
  const secret = words.filter(hasKey);
  if (secret.length > 0) parts.push(`-H @${piped(`printf '%s\\n' ${secret.join(' ')}`)}`);
  parts.push(...words.filter((word) => !hasKey(word)).map((word) => `-H ${word}`));
  if (body !== undefined) {
    if (!headers.some(([name]) => name.toLowerCase() === 'content-type')) parts.push("-H 'Content-Type:'");
    const text = Buffer.from(body).toString();
    const fitsAWord = Buffer.from(text).equals(body) && !/^@|[\u0000-\u001f\u007f\ufeff]/.test(text);
    parts.push(`--data-binary ${fitsAWord ? quoted(text) : `@${piped(`printf '${octal(body)}'`)}`}`);
  }
  if (request.shellTarget === undefined) return [...parts, quoted(baseUrl + request.target)];
  const url = `"${baseUrl.replaceAll('$', '\\$')}${request.shellTarget}"`;
  return [...parts, `-K ${piped(`printf 'url = "%s"\\n' ${url}`)}`];
}

/** Whether a shell word contains a key. */
function hasKey(word: string): boolean {
  return /(API|EXHAUST)_KEY/.test(word);
}

/** The bytes as a format for printf. Bytes that the shell or printf could misinterpret are octal escapes. */
function octal(body: Uint8Array): string {
  return Array.from(body, (byte, i) =>
    byte < 0x20 || (i === 0 && byte === 0x2d) || byte > 0x7e || "\\%'".includes(String.fromCharCode(byte))
      ? `\\${byte.toString(8).padStart(3, '0')}`
      : String.fromCharCode(byte),
  ).join('');
}

/** The text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
