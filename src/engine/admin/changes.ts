import { AppError } from '../../core/errors.ts';
import type { Change, ChangeOutcome, Ledger } from '../../storage/port.ts';

/** How often a change is made anew from what another one left. */
const MAX_TRIES = 5;

type Done = ChangeOutcome & { status: 'done' };

/**
 * Reads, makes a change and applies it, again from the reading when something came in between: the fields that this
 * change names win, and what the other one wrote beside them stays.
 */
export async function applyChange<T>(
  ledger: Ledger,
  make: () => Promise<{ change: Change; answer: (done: Done) => T }>,
): Promise<T> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { change, answer } = await make();
    const outcome = await ledger.apply(change);
    if (outcome.status === 'done') return answer(outcome);
  }
  throw new AppError('UNAVAILABLE', 'This is being changed by others at the same time; nothing was done.');
}

/** A change that depends on nothing that was read. */
export async function applyOnce(ledger: Ledger, change: Change): Promise<void> {
  await applyChange(ledger, async () => ({ change, answer: () => undefined }));
}
