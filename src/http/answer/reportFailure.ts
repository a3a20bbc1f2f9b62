import { expected } from './answer.ts';
import type { Service } from '../service.ts';

/** What is told of a request that failed. */
export interface FailedRequest {
  /** Null: it was not read so far. */
  readonly path: string | null;
  /** Whether who asked has hung up. */
  isGone(): boolean;
}

export function failedRequest(request: Request): FailedRequest {
  return { path: new URL(request.url).pathname, isGone: () => request.signal.aborted };
}

/** Counts a failed request, and tells the log of those that an operator should know of. */
export function reportFailure(service: Service, failure: unknown, request: FailedRequest, requestId: string): void {
  const error = expected(failure);
  const { path } = request;
  service.metrics.failed(error?.code ?? 'INTERNAL_SERVER_ERROR');
  // Who hangs up in the middle of a body is no bug of ours, and shall not fill the log.
  if ((error === null || error.code === 'INTERNAL_SERVER_ERROR') && !request.isGone()) {
    const reason = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
    service.log.error('request failed', { requestId, path, reason });
  }
  if (error?.code === 'INSUFFICIENT_PERMISSIONS') {
    service.log.warn('refused', { requestId, path, reason: error.message });
  }
}
