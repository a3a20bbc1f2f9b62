import type { Deferred } from '../../port/deferred.ts';
import type { Work, WorkOutcome } from './batch.ts';

/** After these the next batch may be done. */
export const NOT_DONE = {
  full: 'The disk is full; nothing was spent or changed.',
  busy: 'Another program has locked the database; nothing was spent or changed.',
  unopened: 'A file of the database cannot be opened now (too many are open); nothing was spent or changed.',
} as const;

/** What waits in the queue of the ledger. */
export interface Item {
  readonly work: Work;
  readonly answer: Deferred<WorkOutcome>;
}

/** The outcome of a spend or reservation that the database does not take; null for other work. */
export function failedAlone(work: Work, reason: string): WorkOutcome {
  if ('spend' in work) return { status: 'failed', reason };
  return 'reserve' in work ? { spend: { status: 'failed', reason }, reservation: null } : null;
}

export function failAll(items: readonly Item[], error: Error): void {
  for (const item of items) item.answer.fail(error);
}

export function answerAll(items: readonly Item[], outcomes: readonly (WorkOutcome | Error)[]): void {
  for (let i = 0; i < items.length; i++) {
    const outcome = outcomes[i] ?? null;
    if (outcome instanceof Error) items[i]?.answer.fail(outcome);
    else items[i]?.answer.know(outcome);
  }
}
