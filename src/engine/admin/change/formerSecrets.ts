import { MAX_LIVE_SECRETS } from '../../../core/bounds.ts';
import { AppError } from '../../../core/errors.ts';
import type { FormerSecret } from '../../../storage/port/records.ts';

/** Refuses one more former secret of a key or root key that has as many valid ones as allowed. */
export function refuseTooManySecrets(former: readonly FormerSecret[], owner: string, nowMs: number): void {
  if (former.filter(({ untilMs }) => untilMs > nowMs).length < MAX_LIVE_SECRETS) return;
  throw new AppError(
    'PRECONDITION_FAILED',
    `The ${owner} has ${MAX_LIVE_SECRETS} former secrets that are still valid; wait until one expires, or use overlapMs 0.`,
  );
}
