/** The one table of application errors: code, HTTP status, and the sentence that the documentation shows. */
export declare const ERRORS: {
  readonly BAD_REQUEST: {
    readonly status: 400;
    readonly when: 'The request is not valid: malformed JSON, a wrong type or number, an unknown field or limit name, or a permission query that names no permission. The message says what to correct.';
  };
  readonly UNAUTHORIZED: {
    readonly status: 401;
    readonly when: 'The root key is missing, unknown, revoked or expired, or the session of the dashboard has ended; the message says which. An API key sent as a root key is unknown. For keys.forwardAuth: the client sent no key, or more than one.';
  };
  readonly INSUFFICIENT_PERMISSIONS: {
    readonly status: 403;
    readonly when: 'The root key lacks a right that the call needs, the call would give a root key a longer life than the calling one has, or a session of the dashboard is used by another page. The message says which.';
  };
  readonly NOT_FOUND: {
    readonly status: 404;
    readonly when: 'The record does not exist, or this root key may not see it; or the route does not exist.';
  };
  readonly METHOD_NOT_ALLOWED: {
    readonly status: 405;
    readonly when: 'The route does not accept this HTTP method. The Allow header lists the methods that it accepts.';
  };
  readonly CONFLICT: {
    readonly status: 409;
    readonly when: 'The record exists already, the secret belongs to another key, the idempotency key was used with a different request, or the reservation has ended in another way.';
  };
  readonly PRECONDITION_FAILED: {
    readonly status: 412;
    readonly when: 'The service cannot do this now: secrets are not stored, so a key cannot be recovered or decrypted; a role or permission named in an import does not exist; a reservation holds less than it is to be settled with; or a maximum or quota is reached. The message says which.';
  };
  readonly DELETE_PROTECTED: {
    readonly status: 412;
    readonly when: 'The api is protected from deletion. Set deleteProtection to false with apis.updateApi first.';
  };
  readonly PAYLOAD_TOO_LARGE: {
    readonly status: 413;
    readonly when: 'The body is larger than this route accepts.';
  };
  readonly UNSUPPORTED_MEDIA_TYPE: {
    readonly status: 415;
    readonly when: 'The body is not declared as JSON; the message says which header to add.';
  };
  readonly RATE_LIMITED: {
    readonly status: 429;
    readonly when: 'The key has too many live idempotency keys or reservations, or the root key or address has reached its quota of verifications. Wait, then try again.';
  };
  readonly HEADERS_TOO_LARGE: {
    readonly status: 431;
    readonly when: 'The request line and the headers are too large.';
  };
  readonly INTERNAL_SERVER_ERROR: {
    readonly status: 500;
    readonly when: 'The service has a bug, or a stored record cannot be read; the message names the record. The log has the details.';
  };
  readonly NOT_IMPLEMENTED: {
    readonly status: 501;
    readonly when: 'This node does not support the HTTP method.';
  };
  readonly UNAVAILABLE: {
    readonly status: 503;
    readonly when: 'Nothing was done: the database cannot be reached, or the node has too much to do. It is safe to try again.';
  };
  readonly OUTCOME_UNKNOWN: {
    readonly status: 503;
    readonly when: 'The database did not confirm whether the request was carried out. Try again with the same idempotency key.';
  };
  readonly HTTP_VERSION_NOT_SUPPORTED: {
    readonly status: 505;
    readonly when: 'The request is neither HTTP/1.0 nor HTTP/1.1.';
  };
};
export type ErrorCode = keyof typeof ERRORS;
/** One problem of a request body: where it is, and what is wrong. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}
/** An expected failure with a code of the table above. A verdict is never one of these. */
export declare class AppError extends Error {
  readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly issues: readonly Issue[] | undefined;
  constructor(code: ErrorCode, message: string, issues?: readonly Issue[]);
}
/**
 * The message repeats the id only when it looks like an id of this service: any other text may be a secret. With `id` null, the
 * record was named by something else, which `what` tells.
 */
export declare function notFound(what: string, id: string | null): AppError;
/** Text of a caller as a message may show it: quoted, short, and not at all when a word of it has the checksum of a secret. */
export declare function repeatable(text: string): string;
