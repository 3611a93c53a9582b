import { UntracedError } from '../domain/untraced-error.ts';

/** The error codes of responses, with their HTTP statuses (decisions.md, "Error codes"; specification.md section 7). */
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

/** What some errors state besides their code. */
export interface ErrorDetails {
  /** The client may try again after this many seconds. */
  readonly retryAfterSeconds?: number;
  /** The methods that the path has, separated by commas: the value of `Allow`. */
  readonly allow?: string;
  /** How much of the animals has been read, in percent. */
  readonly percent?: number | undefined;
}

/** The reason why a request is refused. */
export interface Refusal extends ErrorDetails {
  readonly code: ErrorCode;
  readonly status: number;
  readonly message: string;
}

/** Returns a refusal. Cheaper than throwing an ApiError, so it suits frequent refusals. */
export function refusal(code: ErrorCode, message: string, details?: ErrorDetails): Refusal {
  return { code, status: STATUS_OF[code], message, ...details };
}

/** A refusal that is thrown. */
export class ApiError extends UntracedError implements Refusal {
  readonly code: ErrorCode;
  readonly status: number;
  readonly retryAfterSeconds?: number;
  readonly allow?: string;
  readonly percent?: number | undefined;

  constructor(code: ErrorCode, message: string, details?: ErrorDetails) {
    super(message);
    this.code = code;
    this.status = STATUS_OF[code];
    Object.assign(this, details);
  }
}

/** Returns the Error body (specification.md section 2) as JSON. */
export function errorBody({ code, message, status, percent }: Refusal): string {
  const more = percent === undefined ? '' : `,"percent":${percent}`;
  return `{"code":"${code}","message":${JSON.stringify(message)},"status":${status}${more}}`;
}
