/** Shell commands that send requests. */

/** Quotes a text for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Returns a command that sends a request with the key in the variable KEY. */
export function curlOf(method: string, url: string, type?: string, body = ''): string {
  // Through a pipe, because other users of the machine can read the arguments of curl.
  const option = method === (type === undefined ? 'GET' : 'POST') ? '' : `-X ${method} `; // the defaults of curl
  const lines = ['echo "Authorization: Bearer $KEY" |', `curl -i -H @- ${option}${quoted(url)}`];
  if (type !== undefined) lines.push(`-H ${quoted(`Content-Type: ${type}`)}`, `--data-raw ${quoted(body)}`);
  return lines.join(' \\\n  ');
}

/** Returns a command that asks for the key and then sends a request without a body. */
export const firstCurlOf = (method: string, url: string): string =>
  `printf 'API key: ' && read -r KEY && \\\n  ${curlOf(method, url)}`;
