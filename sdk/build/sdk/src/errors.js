import { ERROR_STATUS } from './generated/api.js';
/** What went wrong, with a sentence that says what to do. It contains no key, root key or request body. */
export class KeystileError extends Error {
  name = 'KeystileError';
  code;
  /** The HTTP status, when there was an answer. */
  status;
  /** Finds the call in the log of the service. */
  requestId;
  /** Where the service explains this code. */
  docs;
  issues;
  /** How long the service asks to wait. */
  retryAfterMs;
  /** True: the call had no effect, and to repeat it is safe. False: it may have had one. */
  isCertainlyNotDone;
  constructor(code, message, details) {
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
export function errorOfBody(body, answered, retryAfterMs) {
  const error = isRecord(body) ? body['error'] : undefined;
  if (!isRecord(error) || typeof error['code'] !== 'string' || typeof error['message'] !== 'string') return null;
  const { code, message, requestId, docs, issues } = error;
  const known = Object.hasOwn(ERROR_STATUS, code) ? code : 'UNKNOWN';
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
export function isRecord(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
function textOf(value) {
  return typeof value === 'string' ? value : undefined;
}
function isIssue(value) {
  return isRecord(value) && typeof value['path'] === 'string' && typeof value['message'] === 'string';
}
