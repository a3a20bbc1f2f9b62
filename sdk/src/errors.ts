import { ERROR_STATUS } from './generated/values.ts';

/** Why a call gave no answer. The codes of the service stand beside those of the way to it. */
export type ErrorCode = ServiceErrorCode | TransportErrorCode;

/** The codes that the service answers. A code newer than this version is `UNKNOWN`. */
export type ServiceErrorCode = keyof typeof ERROR_STATUS | 'UNKNOWN';

export type TransportErrorCode =
  /** The client was set up wrong: no URL, or one that is no http address. */
  | 'CONFIGURATION'
  /** Nothing listens at the URL, or its name is unknown. The request did not arrive. */
  | 'UNREACHABLE'
  /** The TLS connection was refused by this side, for example because of a certificate. The request was not sent. */
  | 'TLS'
  /** No answer in time. The request may have been carried out. */
  | 'TIMEOUT'
  /** The connection ended before the answer. The request may have been carried out. */
  | 'CONNECTION_LOST'
  /** The answer is not one of Keystile: not JSON, cut off, or a redirect. Another program may listen at the URL. */
  | 'BAD_RESPONSE'
  /** The caller's AbortSignal ended the call. */
  | 'ABORTED';

export interface ErrorDetails {
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly docs?: string | undefined;
  readonly issues?: readonly Issue[] | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly isCertainlyNotDone: boolean;
  readonly cause?: unknown;
}

/** One problem of a request body: where it is, and what is wrong. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** What went wrong, with a sentence that says what to do. It contains no key, root key or request body. */
export class KeystileError extends Error {
  override readonly name = 'KeystileError';
  readonly code: ErrorCode;
  /** The HTTP status, when there was an answer. */
  readonly status: number | undefined;
  /** Finds the call in the log of the service. */
  readonly requestId: string | undefined;
  /** Where the service explains this code. */
  readonly docs: string | undefined;
  readonly issues: readonly Issue[];
  /** How long the service asks to wait. */
  readonly retryAfterMs: number | undefined;
  /** True: the call had no effect, and to repeat it is safe. False: it may have had one. */
  readonly isCertainlyNotDone: boolean;

  constructor(code: ErrorCode, message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.status = details.status;
    this.requestId = details.requestId;
    this.docs = details.docs;
    this.issues = details.issues ?? [];
    this.retryAfterMs = details.retryAfterMs;
    this.isCertainlyNotDone = details.isCertainlyNotDone;
  }
}

/**
 * The error that a body of the service describes; null when it describes none. The error of one verification in a shared call has no
 * status of its own: it has that of its code. An unknown code then counts as a refusal.
 */
export function errorOfBody(body: unknown, answered: number | null, retryAfterMs?: number): KeystileError | null {
  const error = isRecord(body) ? body['error'] : undefined;
  if (!isRecord(error) || typeof error['code'] !== 'string' || typeof error['message'] !== 'string') return null;
  const { code, message, requestId, docs, issues } = error;
  const known = Object.hasOwn(ERROR_STATUS, code) ? (code as ServiceErrorCode) : 'UNKNOWN';
  const status = answered ?? (known === 'UNKNOWN' ? 400 : ERROR_STATUS[known]);
  return new KeystileError(known, known === 'UNKNOWN' ? `${code}: ${message}` : message, {
    status,
    requestId: textOf(requestId),
    docs: textOf(docs),
    issues: Array.isArray(issues) ? issues.filter(isIssue) : [],
    retryAfterMs,
    // The service answers a status below 500 before it does anything.
    isCertainlyNotDone: known === 'UNAVAILABLE' || (status >= 400 && status < 500),
  });
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function isIssue(value: unknown): value is Issue {
  return isRecord(value) && typeof value['path'] === 'string' && typeof value['message'] === 'string';
}
