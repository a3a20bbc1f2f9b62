import { StorageUnavailable } from '../../port/storage.ts';
import { MOVED_NOTE } from '../../sql/move/importedNote.ts';

/**
 * A moved database takes no spend and no change from any node, not even from one that was paused during the move:
 *
 *   spends    each needs the row of its committer. The move removes all rows, and no new one is made while the note exists. The lock of
 *             the table makes the two wait for each other.
 *   changes   each shares MOVE_LOCK with the others and looks for the note. So does other work that must not be done twice, such as
 *             claiming deliveries of webhooks (changeGroups.ts). The move takes the lock exclusively.
 */

/** Key of the advisory lock: any number, the same for all nodes. */
const MOVE_LOCK = 7_218_530_414;

export const IS_MOVED = `EXISTS (SELECT 1 FROM installation WHERE name = '${MOVED_NOTE}')`;

/** A separate statement, so that the next one sees everything that was committed before the lock became free. */
export const SHARE_MOVE_LOCK = `SELECT pg_advisory_xact_lock_shared(${MOVE_LOCK})`;

/** Waits for changes and spends that have begun. After that, none begins until the transaction ends. */
export const TAKE_MOVE_LOCKS = `SELECT pg_advisory_xact_lock(${MOVE_LOCK}); LOCK TABLE committers IN SHARE ROW EXCLUSIVE MODE`;

export const MOVED =
  'The database was exported with --move: nothing is spent or changed in it. Try again: the new service will answer. To use this database again, run keystile data release.';

export function refuseMoved(isMoved: boolean | undefined): void {
  if (isMoved === true) throw new StorageUnavailable(MOVED);
}
