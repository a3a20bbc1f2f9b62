import { expected } from '../../engine/engine.ts';
import type { Config } from '../../config/variables.ts';
import { isLoopback } from '../../core/address.ts';
import { AppError, type ErrorCode, ERRORS } from '../../core/errors.ts';
import { nameIn } from '../request/body.ts';
import type { Service } from '../service.ts';
import type { AnswerHeaders } from '../shapes/schema/answerHeaders.ts';

const JSON_TYPE = 'application/json';

export interface AnswerContext {
  readonly requestId: string;
  readonly isPretty: boolean;
  /** Prefix of links: the public URL, or nothing. Never built from the Host header. */
  readonly linkBase: string;
}

export function jsonAnswer(body: object, context: AnswerContext, status = 200, more: AnswerHeaders = {}): Response {
  return answer(JSON.stringify(body, null, context.isPretty ? 2 : 0), status, context, more);
}

/** An answer from a text that exists already, indented or not. */
export function preparedJson(text: Uint8Array<ArrayBuffer>, context: AnswerContext): Response {
  return answer(text, 200, context, {});
}

/** An answer that was put together as text. */
export function jsonText(text: string, context: AnswerContext): Response {
  return answer(context.isPretty ? JSON.stringify(JSON.parse(text), null, 2) : text, 200, context, {});
}

function answer(
  text: string | Uint8Array<ArrayBuffer>,
  status: number,
  context: AnswerContext,
  more: AnswerHeaders,
): Response {
  const own: AnswerHeaders = { 'keystile-request-id': context.requestId };
  return new Response(text, { status, headers: { 'content-type': JSON_TYPE, ...own, ...more } });
}

/** No cache between the browser and the service may keep an answer that depends on a cookie. */
export function notStored(response: Response): Response {
  response.headers.set('cache-control', 'no-store');
  return response;
}

/** Sets a cookie. What does is not stored by a cache. */
export function withCookie(response: Response, cookie: string): Response {
  response.headers.append('set-cookie', cookie);
  return notStored(response);
}

/** WWW-Authenticate of every 401 (RFC 6750, 3). */
export const CHALLENGE = 'Bearer realm="keystile"';
/** Retry-After, in seconds. */
const RETRY_AFTER_SECONDS = '1';

/** Any failure as an answer. */
function errorAnswer(failure: unknown, context: AnswerContext, more: AnswerHeaders = {}): Response {
  const body = errorBody(failure, context);
  const { status } = ERRORS[body.error.code];
  const headers = { ...more, ...headersOfStatus(status) };
  const response = answer(JSON.stringify(body, null, context.isPretty ? 2 : 0), status, context, headers);
  // The rest of the body is not read, so the connection cannot serve another request.
  if (status === 413) response.headers.set('connection', 'close');
  return response;
}

/** The headers that every error of this status has. */
export function headersOfStatus(status: number): AnswerHeaders {
  if (status === 401) return { 'www-authenticate': CHALLENGE };
  return status === 503 || status === 429 ? { 'retry-after': RETRY_AFTER_SECONDS } : {};
}

/** Every failure in the one error shape. An unexpected failure shows no details, only where to find them. */
export function errorBody(failure: unknown, context: AnswerContext): { readonly error: { readonly code: ErrorCode } } {
  const error =
    expected(failure) ??
    new AppError(
      'INTERNAL_SERVER_ERROR',
      'The request failed because of an internal error. The log has the details under this requestId. Of many such failures in one second, it has only the last.',
    );
  return {
    error: {
      code: error.code,
      message: error.message,
      docs: `${context.linkBase}/docs/errors#${error.code}`,
      requestId: context.requestId,
      ...(error.issues === undefined ? {} : { issues: error.issues }),
    } as { readonly code: ErrorCode },
  };
}

/** The route does not accept this method. The answer lists the methods that it accepts. */
export class MethodNotAllowed extends AppError {
  readonly allow: string;

  constructor(path: string, method: string, allow: string) {
    super('METHOD_NOT_ALLOWED', `${path} takes ${allow}, not ${method}.`);
    this.allow = allow;
  }
}

/** Counts and logs the failure of a request, and answers it. Without a context the answer has a new request id. */
export function answerFailure(
  service: Service,
  failure: unknown,
  request: FailedRequest,
  context: AnswerContext = newContext(service),
): Response {
  reportFailure(service, failure, request, context.requestId);
  return errorAnswer(failure, context, failure instanceof MethodNotAllowed ? { allow: failure.allow } : {});
}

function newContext({ requestIds, config }: Service): AnswerContext {
  return { requestId: requestIds.next(), isPretty: false, linkBase: config.publicUrl ?? '' };
}

/** Facts about a failed request. */
export interface FailedRequest {
  /** Null: the request was not read far enough to know it. */
  readonly path: string | null;
  /** Whether the client has closed the connection. */
  isGone(): boolean;
}

export function failedRequest(request: Request): FailedRequest {
  return { path: new URL(request.url).pathname, isGone: () => request.signal.aborted };
}

/** Counts a failed request, and logs those that an operator should know about. */
export function reportFailure(service: Service, failure: unknown, request: FailedRequest, requestId: string): void {
  const error = expected(failure);
  const { path } = request;
  service.metrics.failed(error?.code ?? 'INTERNAL_SERVER_ERROR');
  // A client that hangs up in the middle of a body is not a bug, and must not fill the log.
  if ((error === null || error.code === 'INTERNAL_SERVER_ERROR') && !request.isGone()) {
    const reason = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
    // A request for a damaged record fails again and again. Another failure is another kind of line.
    const kind = failure instanceof Error ? `${path} ${failure.message}` : `${path}`;
    service.log.limited('error', 'request failed', { requestId, path, reason }, kind);
  }
  // Only the API logs refusals: its callers have a root key, or stand behind a gateway that should have one. Anybody can be refused by
  // /dashboard and /portal.
  if (error?.code === 'INSUFFICIENT_PERMISSIONS' && path?.startsWith('/v1/') === true) {
    service.log.limited('warn', 'refused', { requestId, path, reason: error.message }, `${path} ${error.message}`);
  }
}

/** For a year. A plain verification, which no browser sends, is answered elsewhere and without it. */
export const HTTPS_ONLY = 'max-age=31536000';

/**
 * Whether browsers are to use HTTPS only for the name by which a request has called the service. Not for a name of this machine: a browser
 * would do so for every other service of a developer, too.
 */
export function httpsOnlyCheck({ hsts, host, tlsCert, publicUrl }: Config): (request: Request) => boolean {
  const name = publicUrl === null ? host : new URL(publicUrl).hostname;
  if (!hsts || isLoopback(name) || (tlsCert === null && publicUrl?.startsWith('https://') !== true)) return () => false;
  return (request) => !isLoopback(nameIn(request.headers.get('host') ?? ''));
}
