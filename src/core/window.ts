/**
 * Fixed windows aligned to the epoch. A counter is stored with the instant at which it ends, not with a window number:
 * after a change of duration a number would lie, and a clock that jumps back must not open a window again.
 */
export function windowEnd(nowMs: number, durationMs: number): number {
  return (Math.floor(nowMs / durationMs) + 1) * durationMs;
}

/** How far the clock of another node may be ahead: nodes follow the clock of one database, within a round trip to it. */
export const AHEAD_MS = 1_000;

/** `cost` more fit under the limit; a cost of 0 asks whether the limit is kept now. */
export function fits(count: number, cost: number, limit: number): boolean {
  return count + cost <= limit;
}
