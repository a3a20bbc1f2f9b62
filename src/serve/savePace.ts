/** A save that took t is followed by the next one after this many t at the earliest. */
const REST = 20;

/** Local counts that were saved. */
interface Save {
  readonly tookMs: number;
  /** In a database that other nodes may share: they are told at every turn. */
  readonly isShared: boolean;
}

/** How long after the beginning of a save the next one may begin; 0 = at the next turn. */
export function saveRestMs({ tookMs, isShared }: Save): number {
  return isShared ? 0 : tookMs * REST;
}
