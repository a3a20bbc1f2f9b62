import { MAX_SECRET_LENGTH } from './bounds.ts';
import { looksLikeId } from './ids.ts';
import { hasChecksum } from './secret.ts';

/** The one table of application errors: code, HTTP status, and the sentence that the documentation shows. */
export const ERRORS = {
  BAD_REQUEST: {
    status: 400,
    when: 'The request is not valid: malformed JSON, a wrong type or number, an unknown field or limit name, or a permission query that names no permission. The message says what to correct.',
  },
  UNAUTHORIZED: {
    status: 401,
    when: 'The root key is missing, unknown, revoked or expired, or the session of the dashboard has ended; the message says which. An API key sent as a root key is unknown. For keys.forwardAuth: the client sent no key, or more than one.',
  },
  INSUFFICIENT_PERMISSIONS: {
    status: 403,
    when: 'The root key lacks a right that the call needs, the call would create a root key that is valid for longer than the calling one, or a session of the dashboard is used by another page. The message says which.',
  },
  NOT_FOUND: {
    status: 404,
    when: 'The record does not exist, or this root key may not see it; or the route does not exist.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    when: 'The route does not accept this HTTP method. The Allow header lists the methods that it accepts.',
  },
  CONFLICT: {
    status: 409,
    when: 'The record exists already, the secret belongs to another key, the idempotency key was used with a different request, or the reservation has already ended in another way.',
  },
  PRECONDITION_FAILED: {
    status: 412,
    when: 'The service cannot do this now: secrets are not stored, so a key cannot be recovered or decrypted; a role or permission named in an import does not exist; a reservation is to be settled with more than it holds; or a maximum or quota is reached. The message says which.',
  },
  DELETE_PROTECTED: {
    status: 412,
    when: 'The api is protected from deletion. Set deleteProtection to false with apis.updateApi first.',
  },
  PAYLOAD_TOO_LARGE: { status: 413, when: 'The body is larger than this route accepts.' },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    when: 'The body is not declared as JSON; the message says which header to add.',
  },
  RATE_LIMITED: {
    status: 429,
    when: 'The key has too many live idempotency keys or reservations, or the root key or address has reached its quota of verifications or of management calls. Wait, then try again.',
  },
  HEADERS_TOO_LARGE: { status: 431, when: 'The request line and the headers are too large.' },
  INTERNAL_SERVER_ERROR: {
    status: 500,
    when: 'The service has a bug, or a stored record cannot be read; the message names the record. The log has the details.',
  },
  NOT_IMPLEMENTED: { status: 501, when: 'This node does not support the HTTP method.' },
  UNAVAILABLE: {
    status: 503,
    when: 'Nothing was done: the database cannot be reached, or the node has too much to do. It is safe to try again.',
  },
  OUTCOME_UNKNOWN: {
    status: 503,
    when: 'The database did not confirm whether the request was carried out. Try again with the same idempotency key.',
  },
  HTTP_VERSION_NOT_SUPPORTED: { status: 505, when: 'The request is neither HTTP/1.0 nor HTTP/1.1.' },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** One problem of a request body: where it is, and what is wrong. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** An expected failure with a code of the table above. A verdict is never one of these. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly issues: readonly Issue[] | undefined;

  constructor(code: ErrorCode, message: string, issues?: readonly Issue[]) {
    super(message);
    this.code = code;
    this.issues = issues;
  }
}

/**
 * The message repeats the id only when it looks like an id of this service: any other text may be a secret. With `id` null, the
 * record was named by something else, which `what` tells.
 */
export function notFound(what: string, id: string | null): AppError {
  const isShown = id !== null && looksLikeId(id) && !hasChecksum(id);
  const named = id === null ? what : isShown ? `${what} ${JSON.stringify(id)}` : `${what} with this id`;
  return new AppError('NOT_FOUND', `There is no ${named}, or this root key may not see it.`);
}

const MAX_REPEATED = 64;
/** A secret may begin in the shown part and end behind it. */
const MAX_SEARCHED = MAX_REPEATED + MAX_SECRET_LENGTH;

/** Text of a caller as a message may show it: quoted, short, and not at all when a word of it has the checksum of a secret. */
export function repeatable(text: string): string {
  const words = text.slice(0, MAX_SEARCHED).split(/[\s"'`,;:=]+/);
  return words.some(hasChecksum) ? '(a secret)' : JSON.stringify(text.slice(0, MAX_REPEATED));
}
