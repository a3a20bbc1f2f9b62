import type { Call } from '../call.js';
/** The HTTP status of each error code. */
export declare const ERROR_STATUS: {
  readonly BAD_REQUEST: 400;
  readonly UNAUTHORIZED: 401;
  readonly INSUFFICIENT_PERMISSIONS: 403;
  readonly NOT_FOUND: 404;
  readonly METHOD_NOT_ALLOWED: 405;
  readonly CONFLICT: 409;
  readonly PRECONDITION_FAILED: 412;
  readonly DELETE_PROTECTED: 412;
  readonly PAYLOAD_TOO_LARGE: 413;
  readonly UNSUPPORTED_MEDIA_TYPE: 415;
  readonly RATE_LIMITED: 429;
  readonly HEADERS_TOO_LARGE: 431;
  readonly INTERNAL_SERVER_ERROR: 500;
  readonly NOT_IMPLEMENTED: 501;
  readonly UNAVAILABLE: 503;
  readonly OUTCOME_UNKNOWN: 503;
  readonly HTTP_VERSION_NOT_SUPPORTED: 505;
};
/** The HTTP status that the caller of a protected route gets. UNAVAILABLE: there is no verdict. */
export declare const VERDICT_STATUS: {
  readonly VALID: 200;
  readonly NOT_FOUND: 401;
  readonly FORBIDDEN: 403;
  readonly DISABLED: 401;
  readonly EXPIRED: 401;
  readonly INSUFFICIENT_PERMISSIONS: 403;
  readonly RATE_LIMITED: 429;
  readonly USAGE_EXCEEDED: 429;
  readonly UNAVAILABLE: 503;
};
/** What the caller of a protected route is told. */
export declare const VERDICT_TOLD: {
  readonly NOT_FOUND: 'The API key is missing or unknown.';
  readonly FORBIDDEN: 'The API key may not be used here.';
  readonly DISABLED: 'The API key is disabled.';
  readonly EXPIRED: 'The API key has expired.';
  readonly INSUFFICIENT_PERMISSIONS: 'The API key lacks a permission that this request needs.';
  readonly RATE_LIMITED: 'The API key has reached its rate limit.';
  readonly USAGE_EXCEEDED: 'The API key has no credits left for this request.';
};
/** Limits that RateLimit-Policy names. */
export declare const MAX_SHOWN_POLICIES = 8;
export declare const VERDICT_CODES: readonly [
  'VALID',
  'NOT_FOUND',
  'FORBIDDEN',
  'DISABLED',
  'EXPIRED',
  'INSUFFICIENT_PERMISSIONS',
  'RATE_LIMITED',
  'USAGE_EXCEEDED',
];
export declare const CALLS: readonly Call[];
