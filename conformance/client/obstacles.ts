/**
 * Obstacles between the kit and the service: another protocol, a proxy, a firewall, a login page. Their responses show
 * nothing about the service. The message for each obstacle is one line: what responds, where, and what to do.
 */
import { isUtf8 } from 'node:buffer';
import { once, type EventEmitter } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import type { NoResponse } from './client.ts';
import { codingsIn, isDecodable } from './content-coding.ts';
import { NotConnected } from './http.ts';
import { shortened } from './json.ts';
import { addressOf, type Target } from './proxy.ts';
import type { Response } from './response.ts';

/** The time limit for a TLS handshake, and for the first frame of HTTP/2. */
const probeTimeoutMs = 5_000;

/** The headers that show what has responded. */
const senderHeaders = ['Location', 'Content-Type', 'Server', 'Via', 'WWW-Authenticate', 'Proxy-Authenticate'];

const refusal = 'a firewall or proxy in front of the service refuses the request';
const noProxyAdvice = '; if no proxy is needed, add the host to NO_PROXY';

/** The base URL, with the proxy through which it is reached. */
export function targetText({ baseUrl, proxy }: Target): string {
  return proxy === undefined ? baseUrl : `${baseUrl} through the proxy ${proxy.origin} (${proxy.variable})`;
}

/** A message that says why there is no response to the first request. */
export async function noResponseText(error: NoResponse, target: Target): Promise<string> {
  const protocol = await protocolText(target, false);
  return protocol ?? `no response from ${targetText(target)}: ${error.message}${causeOf(error, target)}`;
}

/** What may have caused an error, and what to do; empty if the error says enough. */
function causeOf({ message, cause }: NoResponse, { baseUrl, proxy }: Target): string {
  const { code = '' } = cause as NodeJS.ErrnoException;
  if (/SELF_SIGNED|ISSUER_CERT|LEAF_SIGNATURE|CERT_UNTRUSTED/.test(code))
    return '; set NODE_EXTRA_CA_CERTS to a file with the certificate of its authority, which may be that of a proxy';
  if (/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/.test(code)) return ', unless the clock of this machine is wrong';
  if (/TLS: (wrong version number|packet length too long|http request)/.test(message))
    return '; the port does not speak TLS: is the base URL http:?';
  if (proxy !== undefined) return noProxyAdvice;
  if (!/ENOTFOUND|EAI_AGAIN|ETIMEDOUT|UNREACH/.test(code) && !(cause instanceof NotConnected)) return '';
  const variable = baseUrl.startsWith('https:') ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  return `; if it is reachable only through a proxy, set ${variable}`;
}

/**
 * A message that says why the service does not admit the kit, as the first response shows; undefined if it does.
 * `source` names the key.
 */
export async function refusalText(response: Response, target: Target, source: string): Promise<string | undefined> {
  const { status } = response;
  const isText = response.json instanceof SyntaxError;
  // A port that speaks another protocol may respond to HTTP/1.1 with an error status and a text, or with 400 and JSON.
  const protocol = status === 400 || (status > 400 && isText) ? await protocolText(target, true) : undefined;
  if (protocol !== undefined) return protocol;
  const where = targetText(target);
  const rejects = `${where} rejects the key of ${source}`;
  if (status === 401 && isText)
    return `${rejects} (${senderOf(response)}); a proxy in front of it may demand a password`;
  if (status === 401) return `${rejects} (401)`;
  if (status === 403)
    return `${where} returns ${senderOf(response)}: ${refusal}, or the key of ${source} has no access`;
  if (status !== 404) return undefined;
  return `${where}/pets returns ${isText ? senderOf(response) : 404}; is this the base URL?`;
}

/** A message that says what responds to these requests instead of the service, and what to do. */
export function gatewayText(response: Response, target: Target, requests: string): string {
  const advice = adviceOn(response, target) + (target.proxy === undefined ? '' : noProxyAdvice);
  return `${targetText(target)} returns ${senderOf(response)} to ${requests}: ${advice}`;
}

/**
 * A message that says why the body of a response cannot be read, and what to do; undefined if it can. A body that is
 * text is not compressed, whatever Content-Encoding says.
 */
export function undecodedText(response: Response, target: Target): string | undefined {
  const unknown = codingsIn(response.all('content-encoding')).find((coding) => !isDecodable(coding));
  if (unknown === undefined || isUtf8(response.body)) return undefined;
  const coding = shortened(unknown.replace(/[^ -~]/g, '?'));
  const what = `${targetText(target)} returns ${senderOf(response)} in the content coding ${coding}`;
  const cause = 'the server, or a proxy or CDN in front of it, compresses although the kit asks for identity';
  return `${what}, which cannot be decoded: ${cause}; turn off this compression for the base URL`;
}

function adviceOn({ status }: Response, { proxy }: Target): string {
  const variable = proxy?.variable ?? 'HTTP_PROXY';
  if (status === 401) return 'a proxy in front of the service may demand a password, or the key is no longer valid';
  if (status === 404) return 'is the base URL wrong, or does a proxy in front of it have no route to the service?';
  if (status === 407) return `a proxy demands a password: set ${variable} to http://user:password@…`;
  if (status === 429) return 'a firewall or proxy in front of the service limits requests, or the key has none left';
  if (status === 511) return 'the network demands a login; open any page in a browser on this machine';
  if (status >= 500) return 'the service is down, or a proxy in front of it cannot reach it';
  if (status >= 400) return refusal;
  if (status >= 300) return 'is the base URL wrong, or is there a login page in front of it?';
  return 'a page responds instead of the service, such as the login page of a network or of a proxy';
}

/** `302 with Location: /login`, `403 with Content-Type: text/html, Server: cloudflare`. */
function senderOf(response: Response): string {
  const headers = senderHeaders.flatMap((name) => {
    const [value] = response.all(name);
    // A header may contain control characters, which a terminal would interpret.
    return value === undefined ? [] : [`${name}: ${shortened(value.replace(/[^ -~]/g, '?'))}`];
  });
  return headers.length === 0 ? `${response.status}` : `${response.status} with ${headers.join(', ')}`;
}

/** The statuses of a proxy that cannot reach the service, or does not admit the client. */
const gatewayStatuses = [407, 502, 503, 504, 511];

/**
 * Whether something other than the service may have sent a response. Many services send such errors as well, but a
 * login page, a firewall or a proxy sends them to requests of every operation.
 */
export function isDoubtful(response: Response): boolean {
  const { status } = response;
  return gatewayStatuses.includes(status) || (status < 500 && status !== 429 && response.isForeign);
}

/** Whether a 429 may come from a firewall. If a repeated request gets another response, it came from the service. */
export function isForeignRefusal(response: Response): boolean {
  return response.status === 429 && response.isForeign;
}

/** The signature of a response: its status and media type. An obstacle responds to all requests with the same one. */
export function signatureOf(response: Response): string {
  return `${response.status} ${response.mediaType}`;
}

/**
 * A message that says why the server cannot be reached with HTTP/1.1 and the scheme of the base URL, and what to do;
 * undefined if it can, or if this is unknown.
 */
async function protocolText({ baseUrl, proxy }: Target, hasResponded: boolean): Promise<string | undefined> {
  if (proxy !== undefined) return undefined;
  const [tls, isHttp2] = await Promise.all([tlsProtocol(baseUrl), speaksHttp2(baseUrl)]);
  if (baseUrl.startsWith('http:') && tls !== undefined)
    return `${baseUrl} is not plain HTTP: the port speaks TLS; is the base URL https:?`;
  const speaksHttp1 = tls === undefined ? hasResponded : tls === 'http/1.1';
  if (!isHttp2 || speaksHttp1) return undefined;
  const advice = 'enable HTTP/1.1, or use a proxy that accepts HTTP/1.1';
  return `${baseUrl} speaks only HTTP/2, but this program speaks HTTP/1.1: ${advice}`;
}

/**
 * The protocol that a TLS port chooses if HTTP/1.1 is offered (ALPN): empty if the port chooses none, or refuses with
 * an alert; undefined if the port does not speak TLS.
 */
async function tlsProtocol(url: string): Promise<string | undefined> {
  const socket = connectTls({ ...addressOf(url), ALPNProtocols: ['http/1.1'], rejectUnauthorized: false });
  try {
    await eventOf(socket, 'secureConnect');
    return socket.alpnProtocol || '';
  } catch (error) {
    return /^ERR_SSL_.*_ALERT_/.test((error as NodeJS.ErrnoException).code ?? '') ? '' : undefined;
  } finally {
    socket.destroy();
  }
}

/** Whether a server accepts an HTTP/2 connection: with prior knowledge, or chosen in the TLS handshake. */
async function speaksHttp2(url: string): Promise<boolean> {
  const session = connectHttp2(url, { rejectUnauthorized: false });
  try {
    await eventOf(session, 'remoteSettings');
    return true;
  } catch {
    return false;
  } finally {
    session.destroy();
  }
}

/** @throws Error if a connection fails or is closed before an event, or if the event takes too long */
async function eventOf(connection: EventEmitter, event: string): Promise<void> {
  const closed = once(connection, 'close').then(() => Promise.reject(new Error('closed')));
  await Promise.race([once(connection, event, { signal: AbortSignal.timeout(probeTimeoutMs) }), closed]);
}
