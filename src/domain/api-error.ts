/**
 * Every error code the service answers with, and its HTTP status
 * (the table "Error codes" of decisions.md; specification.md section 7).
 */
const STATUS_OF = {
  malformed_request: 400,
  malformed_json: 400,
  invalid_body: 400,
  invalid_parameter: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  not_found: 404,
  pet_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  operation_removed: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  rate_limited: 429,
  key_banned: 429,
  headers_too_large: 431,
  internal_error: 500,
  storage_unavailable: 503,
  shutting_down: 503,
  not_ready: 503,
  too_many_connections: 503,
  http_version_not_supported: 505,
} as const;

export type ErrorCode = keyof typeof STATUS_OF;

/** What a client is told of an error. */
export interface ErrorAnswer {
  readonly code: ErrorCode;
  readonly status: number;
  /** The header lines that belong to this error, each with its CRLF. */
  readonly headers: string;
  /** The Error body (specification.md section 2). */
  readonly body: string;
}

/** A refusal that is no exception but the rule: it has no stack trace, and its body is at hand each time it is given. */
export function refusal(code: ErrorCode, message: string, headers: string): ErrorAnswer {
  return { code, status: STATUS_OF[code], headers, body: errorBody(code, message) };
}

/** An error that is an answer. */
export class ApiError extends Error implements ErrorAnswer {
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: string;

  constructor(code: ErrorCode, message: string, headers = '') {
    super(message);
    this.code = code;
    this.status = STATUS_OF[code];
    this.headers = headers;
  }

  get body(): string {
    return errorBody(this.code, this.message);
  }
}

function errorBody(code: ErrorCode, message: string): string {
  return `{"code":"${code}","message":${JSON.stringify(message)},"status":${STATUS_OF[code]}}`;
}
