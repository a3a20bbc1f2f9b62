import { AppError, type ErrorCode, ERRORS } from '../../core/errors.ts';
import { toAppError } from '../../engine/engine.ts';
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

/** WWW-Authenticate of every 401 (RFC 6750, 3). */
/** Sets a cookie. What does is not stored by a cache. */
export function withCookie(response: Response, cookie: string): Response {
  response.headers.append('set-cookie', cookie);
  return notStored(response);
}

export const CHALLENGE = 'Bearer realm="keystile"';
/** Retry-After, in seconds. */
const RETRY_AFTER_SECONDS = '1';

/** Any failure as an answer. */
export function errorAnswer(failure: unknown, context: AnswerContext, more: AnswerHeaders = {}): Response {
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

export function expected(failure: unknown): AppError | null {
  const error = toAppError(failure);
  return error instanceof AppError ? error : null;
}

/** Every failure in the one error shape. An unexpected failure shows no details, only where to find them. */
export function errorBody(failure: unknown, context: AnswerContext): { readonly error: { readonly code: ErrorCode } } {
  const error =
    expected(failure) ??
    new AppError(
      'INTERNAL_SERVER_ERROR',
      'The request failed because of an internal error. The log has the details under this requestId; of many alike in a second, under the last one.',
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
