/** A step that took t is followed by a rest of so many t. */
const STEP_REST = 1;
/** Spends wait for a shared database: were it half of the time, they would be half as fast for ten seconds of each minute. */
const SHARED_STEP_REST = 9;
/** A step that took long was one large statement: few of them follow. */
const MAX_STEP_REST_MS = 2_000;
/** A round that is not through by then has much to do, and goes on without the longer rests. */
const HURRIES_AFTER_MS = 40_000;

/** A round that took t rests for this many t, but not for long: what has come meanwhile makes the next one longer. */
const ROUND_REST = 30;
const MAX_REST_MS = 100_000;
/** What a shared database has not folded yet is taken apart by whoever asks about all keys: the longer a round took, the shorter its rest. */
const SHARED_PERIOD_MS = 80_000;
const MAX_SHARED_REST_MS = 60_000;
const MIN_SHARED_REST_MS = 20_000;

/** A step of a round of folding, or of removing what is old. */
interface Step {
  readonly tookMs: number;
  /** Since the round began. */
  readonly sinceMs: number;
  /** In a database that other nodes may share. */
  readonly isShared: boolean;
}

export function stepRestMs({ tookMs, sinceMs, isShared }: Step): number {
  if (!isShared || sinceMs >= HURRIES_AFTER_MS) return tookMs * STEP_REST;
  return Math.min(tookMs * SHARED_STEP_REST, Math.max(tookMs * STEP_REST, MAX_STEP_REST_MS));
}

export function foldRestMs({ tookMs, isShared }: Pick<Step, 'tookMs' | 'isShared'>): number {
  const left = Math.max(MIN_SHARED_REST_MS, Math.min(MAX_SHARED_REST_MS, SHARED_PERIOD_MS - tookMs));
  return Math.min(tookMs * ROUND_REST, isShared ? left : MAX_REST_MS);
}
