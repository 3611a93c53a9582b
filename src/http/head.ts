import { ApiError } from './api-error.ts';
import type { Request } from './request.ts';

/** The maximum size of a request line and its headers together. */
export const maxHeadBytes = 16 * 1024;
/** The maximum number of header lines. */
export const maxLines = 100;

const nameCharacter = "[\\w.~!$&'()*+,;=-]";
const registeredName = `${nameCharacter}*(?:%[0-9a-f]{2}${nameCharacter}*)*`;
const ipLiteral = `\\[(?:[0-9a-f:.]+|v[0-9a-f]+\\.(?:${nameCharacter}|:)+)\\]`;
/** `uri-host [ ":" port ]` (RFC 9112 section 3.2, RFC 3986 section 3.2.2), or nothing. */
const hostValue = new RegExp(`^(?:${registeredName}|${ipLiteral})(?::[0-9]*)?$`, 'i');

/** The last `Host` that was valid: that of nearly all requests. */
let lastHost: string | undefined = '';

const malformed = (what: string): ApiError => new ApiError('malformed_request', `The message has ${what}.`);
const wrongVersion = () => new ApiError('http_version_not_supported', 'This server speaks HTTP/1.1 and HTTP/1.0.');
const headTooLarge = (): ApiError =>
  new ApiError('headers_too_large', `The head has more than ${maxHeadBytes} bytes or ${maxLines} header lines.`);

/**
 * Checks what Node's parser accepts although RFC 9112 (or decisions.md, "Order of checks" 1) does not.
 * Returns the error of the message, or null for a valid head.
 */
export function headError(request: Request): ApiError | null {
  const { httpVersion, headers, method, path, query } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return wrongVersion();
  if (request.headBytes > maxHeadBytes || request.lines > maxLines) return headTooLarge();
  const { host, 'transfer-encoding': coding } = headers;
  if (host === undefined && httpVersion === '1.1') return malformed('no Host header (RFC 9112, section 3.2)');
  if (host !== lastHost && !hostValue.test(host ?? '')) {
    return malformed('a Host header that does not name one host (RFC 9112, section 3.2)');
  }
  lastHost = host;
  if (coding !== undefined) {
    if (httpVersion === '1.0') return malformed('Transfer-Encoding in an HTTP/1.0 message (RFC 9112, section 6.1)');
    if (!/^[ \t,]*chunked[ \t,]*$/i.test(coding)) return malformed('a Transfer-Encoding other than chunked');
  }
  if (path.startsWith('/') || (path === '*' && query === '' && method === 'OPTIONS')) return null;
  return malformed('a request target that is neither a path nor a URL (RFC 9112, section 3.2)');
}

/**
 * Returns the error for what Node reports by `clientError`, or null if the client cannot receive a response.
 * Codes: llhttp's `HPE_*` and Node's `ERR_HTTP_REQUEST_TIMEOUT`.
 */
export function wireError({ code = '', reason }: Error & { code?: string; reason?: string }): ApiError | null {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request_timeout', 'The request did not arrive in time.');
    case 'HPE_HEADER_OVERFLOW':
      return headTooLarge();
    case 'HPE_INVALID_VERSION':
    case 'HPE_PAUSED_H2_UPGRADE':
      return wrongVersion();
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError('payload_too_large', 'The chunk extensions of the body are too large.');
    default:
      return code.startsWith('HPE_') ? malformed(`a fault: ${reason ?? 'it cannot be parsed'}`) : null;
  }
}
