import { looksLikeId } from './ids.ts';
import { hasChecksum } from './secret.ts';

/** The one table of application errors: code, HTTP status, and the sentence that the documentation shows. */
export const ERRORS = {
  BAD_REQUEST: {
    status: 400,
    when: 'The request could not be understood: malformed JSON, a wrong type or number, an unknown field or limit name, a permission query that asks for nothing.',
  },
  UNAUTHORIZED: {
    status: 401,
    when: 'The root key is missing, unknown, revoked or expired; the message tells which. An API key in its place is an unknown root key.',
  },
  INSUFFICIENT_PERMISSIONS: {
    status: 403,
    when: 'The root key may not do this; the message names the right that it lacks, or the time until which it is valid and which what it makes would outlive.',
  },
  NOT_FOUND: { status: 404, when: 'No such thing, or not visible to this root key; or no such route.' },
  METHOD_NOT_ALLOWED: {
    status: 405,
    when: 'The route exists, but not for this HTTP method; the Allow header names those it has.',
  },
  CONFLICT: {
    status: 409,
    when: 'It exists already, or its secret belongs to something else; or an idempotency key was used again with another request.',
  },
  PRECONDITION_FAILED: {
    status: 412,
    when: 'It cannot be done here: secrets are not kept, so a key cannot be recovered or decrypted; a role or permission named in an import does not exist; or a quota of this installation is reached.',
  },
  DELETE_PROTECTED: { status: 412, when: 'The api is protected from deletion; take the protection off first.' },
  PAYLOAD_TOO_LARGE: { status: 413, when: 'The body is larger than this route takes.' },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    when: 'The body is not declared as JSON; the message says which header to add.',
  },
  RATE_LIMITED: {
    status: 429,
    when: 'Too much at once: too many live idempotency keys of one key, or the root key is limited. Wait and try again.',
  },
  HEADERS_TOO_LARGE: { status: 431, when: 'The request line and the headers are more than this node reads.' },
  INTERNAL_SERVER_ERROR: {
    status: 500,
    when: 'A bug, or a stored record that cannot be read; the message names it. The log has more.',
  },
  NOT_IMPLEMENTED: { status: 501, when: 'This node does not know the HTTP method.' },
  UNAVAILABLE: {
    status: 503,
    when: 'Not done: the ledger cannot be asked, or there is too much to do. Trying again is safe.',
  },
  OUTCOME_UNKNOWN: { status: 503, when: 'It may have been done. Try again with the same idempotency key.' },
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

/** A caller's text as a message may show it: quoted, shortened, and left out when it has the checksum of a secret. */
export function repeatable(text: string): string {
  return hasChecksum(text) ? '(a secret)' : JSON.stringify(text.slice(0, MAX_REPEATED));
}
