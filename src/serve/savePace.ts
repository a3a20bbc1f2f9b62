/** A save that took t is followed by another after this many t at the earliest. */
const REST = 20;
/** Where the database has work for others, too, it shall have less of this; but the rest does not grow for ever. */
const SHARED_REST = 50;
const MAX_SHARED_REST_MS = 20_000;
/** So few take long only where the database is far, and not because it has much to do. */
const FEW = 100;

/** Local counts that were saved. */
interface Save {
  readonly counts: number;
  readonly tookMs: number;
  /** In a database that other nodes may share. */
  readonly isShared: boolean;
  /** There is no other node to be told. */
  readonly isAlone: boolean;
}

/** How long after the beginning of a save the next one may begin; 0 = at the next turn. */
export function saveRestMs({ counts, tookMs, isShared, isAlone }: Save): number {
  if (!isAlone) return 0;
  if (!isShared) return tookMs * REST;
  return counts <= FEW ? 0 : Math.min(tookMs * SHARED_REST, MAX_SHARED_REST_MS);
}
