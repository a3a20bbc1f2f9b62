import { expected } from './answer.ts';
import type { Service } from '../service.ts';

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
