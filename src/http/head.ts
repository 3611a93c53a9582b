import { ApiError } from '../domain/api-error.ts';
import type { Request } from './request.ts';

/** `uri-host [ ":" port ]` (RFC 9112 section 3.2, RFC 3986 section 3.2.2), or nothing. */
const hostValue = /^(?:[\w.~!$&'()*+,;=-]*(?:%[0-9a-f]{2}[\w.~!$&'()*+,;=-]*)*|\[[0-9a-f:.]+\]|\[v[0-9a-f]+\.[\w.~!$&'()*+,;=:-]+\])(?::[0-9]*)?$/i;

/**
 * What Node's parser lets through although RFC 9112 (or decisions.md, "Order of checks" 1) does not.
 * Gives the error the message deserves, or null for a good head.
 */
export function headFault(request: Request): ApiError | null {
  const version = request.httpVersion;
  if (version !== '1.1' && version !== '1.0') {
    return new ApiError('http_version_not_supported', 'This server speaks HTTP/1.1 and HTTP/1.0.');
  }
  if (request.headBytes > maxHeadBytes) return headTooLarge();
  const { host, 'transfer-encoding': coding } = request.headers;
  if (host === undefined) {
    if (version === '1.1') return malformed('no Host header (RFC 9112, section 3.2)');
  } else if (!hostValue.test(host)) {
    const what = request.isRepeated('host') ? 'more than one Host header' : 'a Host header that names no host';
    return malformed(`${what} (RFC 9112, section 3.2)`);
  }
  if (coding !== undefined) {
    if (version === '1.0') return malformed('Transfer-Encoding in an HTTP/1.0 message (RFC 9112, section 6.1)');
    const given = coding.toLowerCase().split(',').map((element) => element.trim()).filter((element) => element !== '');
    if (given.join() !== 'chunked') return malformed('a Transfer-Encoding other than chunked');
  }
  const isAsterisk = request.path === '*' && request.query === '' && request.method === 'OPTIONS';
  if (!request.path.startsWith('/') && !isAsterisk) {
    return malformed('a request target that is neither a path nor a URL (RFC 9112, section 3.2)');
  }
  return null;
}

/** The 400 for a broken message; `what` completes "The message has …". */
export function malformed(what: string): ApiError {
  return new ApiError('malformed_request', `The message has ${what}.`);
}

/**
 * The error for what Node reports by `clientError`, or null where nobody is left to answer.
 * Codes: llhttp's `HPE_*` and Node's `ERR_HTTP_REQUEST_TIMEOUT`.
 */
export function wireError(error: Error & { code?: string; reason?: string }): ApiError | null {
  const code = error.code ?? '';
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('request_timeout', 'The request did not arrive in time.');
    case 'HPE_HEADER_OVERFLOW':
      return headTooLarge();
    case 'HPE_INVALID_VERSION':
    case 'HPE_PAUSED_H2_UPGRADE':
      return new ApiError('http_version_not_supported', 'This server speaks HTTP/1.1 and HTTP/1.0.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError('payload_too_large', 'The chunk extensions of the body are too large.');
    default:
      return code.startsWith('HPE_') ? malformed(`a fault: ${error.reason ?? 'it cannot be parsed'}`) : null;
  }
}

function headTooLarge(): ApiError {
  return new ApiError('headers_too_large', `The request line and the headers are larger than ${maxHeadBytes} bytes.`);
}

/** The most bytes a request line and its headers may have together. */
export const maxHeadBytes = 16 * 1024;
